# SPDX-License-Identifier: Apache-2.0
"""Trains small networks of different kinds on arrays, and compares the held-out loss with PyTorch's.

    check.py LOCKSTEP WORK [NETWORK...]      Exit code 77: no PyTorch.

Each network is exported, trained by `lockstep train` and by PyTorch on the same minibatches, and tested
by both. Compared are the mean training loss of the last steps and the held-out loss, within 2 %: on one
replica, on two, in two processes, in micro-batches and in bfloat16. Two runs are also interrupted and
resumed: in float32 on one replica, and in bfloat16 on two. They must have the bits of the run without a
break. Of a network that draws random numbers, the means over five seeds are compared, within 5 %.
"""
import json
import pathlib
import shutil
import subprocess
import sys

try:
    import numpy as np
    import torch
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

from networks import TASKS

MOMENTUM = 0.9
WINDOW = 20  # steps between two lines of metrics.jsonl, each with the mean of its losses


def write_csv(path, arrays):
    with open(path, "w", encoding="utf8") as file:
        file.write("a,b,c,d,e,price\n")
        for x, y in zip(arrays["x"], arrays["price"]):
            file.write(",".join(repr(float(v)) for v in [*x, *y]) + "\n")


def write_arrays(task, folder):
    for split in ("train", "test"):
        arrays = getattr(task, split)
        if task.csv:
            write_csv(folder / f"{split}.csv", arrays)
            continue
        (folder / split).mkdir()
        for name, values in arrays.items():
            np.save(folder / split / f"{name}.npy", values)
            if task.lengths:
                np.save(folder / split / f"{name}.lengths.npy", task.lengths[split].astype(np.int64))


def examples(task, split, numbers, length=None):
    """The minibatch of these examples; uneven ones are padded to `length`."""
    arrays, batch = getattr(task, split), {}
    for name, values in arrays.items():
        if not task.lengths:
            batch[name] = torch.from_numpy(np.ascontiguousarray(values[numbers]))
            continue
        lengths = task.lengths[split]
        ends = np.cumsum(lengths)
        rows = np.full((len(numbers), length), task.padding.get(name, 0), values.dtype)
        for row, i in zip(rows, numbers):
            row[:lengths[i]] = values[ends[i] - lengths[i]:ends[i]]
        batch[name] = torch.from_numpy(rows)
    return batch


def inputs_of(task, batch):
    arrays = [batch[task.sources.get(name, name)] for name in task.inputs]
    return tuple(array[0] if task.whole else array for array in arrays)


def forward(task, batch):
    out = task.net(*inputs_of(task, batch))
    out = out if isinstance(out, tuple) else (out,)
    rest = {name: values[0] if task.whole else values for name, values in batch.items()}
    return task.loss(out, rest)


def length_of(task, split, numbers):
    if not task.lengths:
        return None
    longest = max(task.lengths[split][i] for i in numbers)
    return 6 if longest <= 6 else 12


def mean_by_pytorch(task):
    """The means over the task's seeds, which all begin with the same weights."""
    first = {name: value.clone() for name, value in task.net.state_dict().items()}
    losses = []
    for seed in range(task.seeds):
        torch.manual_seed(100 + seed)
        task.net.load_state_dict(first)
        losses.append(trained_by_pytorch(task))
    return np.mean(losses, 0)


def count_of(task, split):
    return len(task.lengths[split] if task.lengths else next(iter(getattr(task, split).values())))


def trained_by_pytorch(task):
    """The mean training loss of the last steps, and the held-out loss: the mean over the elements that
    count, in one batch or one by one."""
    weights = task.net.parameters()
    optimizer = (torch.optim.Adam(weights, task.rate) if task.adam else
                 torch.optim.SGD(weights, task.rate, MOMENTUM))
    count, losses = count_of(task, "train"), []
    for step in range(task.steps):
        numbers = [(step * task.batch + i) % count for i in range(task.batch)]
        optimizer.zero_grad()
        loss = forward(task, examples(task, "train", numbers, length_of(task, "train", numbers)))
        loss.backward()
        optimizer.step()
        losses.append(float(loss))
    trained, every = np.mean(losses[-WINDOW:]), range(count_of(task, "test"))
    with torch.no_grad():
        if task.whole:
            return trained, np.mean([float(forward(task, examples(task, "test", [i]))) for i in every])
        return trained, float(forward(task, examples(task, "test", every, length_of(task, "test", every))))


def export(task, path):
    if task.stored:
        shutil.copy(task.stored, path)
        flat = [value.detach().numpy().ravel() for value in task.net.parameters()]
        np.concatenate(flat).astype("<f4").tofile(path.with_suffix(".weights"))
        return
    batch = examples(task, "train", [0] if task.whole else range(2), 12)
    axes = {} if task.whole else {
        name: {0: "N", 1: "L"} if task.lengths else {0: "N"} for name in task.inputs}
    torch.onnx.export(task.net, inputs_of(task, batch), path, input_names=task.inputs,
                      output_names=task.outputs, dynamic_axes=axes, opset_version=16,
                      do_constant_folding=False, training=torch.onnx.TrainingMode.PRESERVE)


class Runs:
    def __init__(self, lockstep, task, folder):
        self.lockstep, self.task, self.folder = lockstep, task, folder
        ending = ".csv" if task.csv else ""
        base = (f"MODEL: {{ONNX: {folder}/net.onnx}}\n"
                f"DATA: {{NAME: arrays, TRAIN: {folder}/train{ending}, TEST: {folder}/test{ending}, "
                "SHUFFLE: false}\n"
                f"TRAIN: {{BATCH_SIZE: {task.batch}, SNAPSHOT_ITERS: 1000, LOG_ITERS: {WINDOW}}}\n"
                f"TEST: {{ITERS: 1000}}\nTHREADS: 1\n"
                f"SOLVER: {{TYPE: {'Adam' if task.adam else 'SGD'}, BASE_LR: {task.rate}, MOMENTUM: {MOMENTUM},"
                " WEIGHT_DECAY: 0,"
                f" LR_POLICY: steps_with_decay, STEPS: [0], WARM_UP_ITERS: 0, MAX_ITER: {task.steps}}}\n")
        (folder / "base.yaml").write_text(base)
        (folder / "config.yaml").write_text("_BASE_: base.yaml\n" + task.config)

    def lockstep_run(self, words, before=()):
        run = subprocess.run([*before, self.lockstep, *words], capture_output=True, text=True)
        if run.returncode != 0:
            raise RuntimeError(f"{' '.join(map(str, words))}: {run.stdout}{run.stderr}")
        return run.stdout + run.stderr

    def train(self, name, *more, before=()):
        self.lockstep_run(["train", self.folder / "config.yaml", "OUTPUT_DIR", self.folder / name, *more],
                          before)
        return self.folder / name

    def losses(self, run):
        """The mean training loss of the last window, and the held-out loss."""
        rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
        said = self.lockstep_run(["test", self.folder / "config.yaml", "--weights",
                                  run / "checkpoint.safetensors"])
        held_out = float(said.split("held-out loss ")[1].split(",")[0])
        return [row["loss"] for row in rows if "loss" in row][-1], held_out

    def mean(self, name, *more, before=()):
        """The mean losses over the task's seeds."""
        return np.mean([self.losses(self.train(f"{name}{seed or ''}", "RNG_SEED", str(50 + seed), *more,
                                               before=before)) for seed in range(self.task.seeds)], 0)

    def resumed(self, name, *more):
        """Whether the run in the folder `name` has the bits of the same run with a break."""
        again = self.train(f"{name}_resumed", "RNG_SEED", "50", "SOLVER.MAX_ITER", str(self.task.steps // 2),
                           *more)
        self.lockstep_run(["train", self.folder / "config.yaml", "OUTPUT_DIR", again, "RNG_SEED", "50", *more,
                           "--resume"])
        return states(again) == states(self.folder / name)


def states(run):
    """The bytes of all states, without the metadata."""
    data = (run / "checkpoint.safetensors").read_bytes()
    return data[8 + int.from_bytes(data[:8], "little"):]


def check(lockstep, make, folder, write=export):
    torch.manual_seed(7)
    task = make()
    folder.mkdir(parents=True)
    write_arrays(task, folder)
    write(task, folder / "net.onnx")
    with torch.no_grad():
        every = range(1 if task.whole else count_of(task, "test"))
        untrained = float(forward(task, examples(task, "test", every, length_of(task, "test", every))))
    wanted = mean_by_pytorch(task)
    runs = Runs(lockstep, task, folder)
    half = ["PRECISION", "bfloat16", *(["DEVICES", "cpu*2"] if 2 in task.replicas else [])]
    found = {"one replica": runs.mean("one"), "bfloat16": runs.mean("bfloat16", *half[:2])}
    if 2 in task.replicas:
        found |= {"two replicas": runs.mean("two", "DEVICES", "cpu*2"),
                  "two in bfloat16": runs.mean("half", *half),
                  "micro-batches": runs.mean("parts", "TRAIN.MICRO_BATCHES", "2"),
                  "two processes": runs.mean("processes", before=[lockstep, "launch", "-n", "2", "--"])}
    errors = []
    if not wanted[1] < 0.8 * untrained:
        errors.append(f"has learnt too little to compare: {untrained} was {wanted[1]} in the end")
    for name, losses in found.items():
        if not max(np.abs(losses - wanted) / np.abs(wanted)) <= (0.05 if task.seeds > 1 else 0.02):
            errors.append(f"{name}: training and held-out loss {losses}, PyTorch's are {wanted}")
    for name, more in {"one": [], "half" if 2 in task.replicas else "bfloat16": half}.items():
        if not runs.resumed(name, *more):
            errors.append(f"{name}: the resumed run has other bits")
    print(f"{make.__name__}: PyTorch {wanted[0]:.5g} {wanted[1]:.5g}, " +
          ", ".join(f"{name} {losses[0]:.5g} {losses[1]:.5g}" for name, losses in found.items()))
    return errors


def main():
    lockstep, work, only = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3:]
    shutil.rmtree(work, ignore_errors=True)
    failed = 0
    for make in TASKS:
        if only and make.__name__ not in only:
            continue
        try:
            errors = check(lockstep, make, work / make.__name__)
        except RuntimeError as error:
            errors = [str(error)]
        for error in errors:
            print(f"  {make.__name__}: {error}")
        failed += bool(errors)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
