# SPDX-License-Identifier: Apache-2.0
"""Trains small networks of different kinds on arrays, and compares the held-out loss with PyTorch's.

    check.py LOCKSTEP WORK [NETWORK...]      Exit code 77: no PyTorch.

Each network is exported, trained by `lockstep train` and by PyTorch on the same minibatches, and tested
by both. Then the same run on two replicas, in two processes, resumed and in bfloat16: the first three
must have the loss of one replica, and the resumed run the bits of the run without a break. Of a network
that draws random numbers the means over five seeds are compared, within 5 %.
"""
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


def forward(task, batch):
    taken = [batch[name][0] if task.whole else batch[name] for name in task.inputs]
    out = task.net(*taken)
    out = out if isinstance(out, tuple) else (out,)
    rest = {name: values[0] if task.whole else values for name, values in batch.items()}
    return task.loss(out, rest)


def length_of(task, split, numbers):
    if not task.lengths:
        return None
    longest = max(task.lengths[split][i] for i in numbers)
    return 6 if longest <= 6 else 12


def mean_by_pytorch(task):
    """The mean over the task's seeds, which all begin with the same weights."""
    first = {name: value.clone() for name, value in task.net.state_dict().items()}
    losses = []
    for seed in range(task.seeds):
        torch.manual_seed(100 + seed)
        task.net.load_state_dict(first)
        losses.append(trained_by_pytorch(task))
    return float(np.mean(losses))


def trained_by_pytorch(task):
    """The held-out loss: the mean over the elements that count, in one batch or one by one."""
    optimizer = torch.optim.SGD(task.net.parameters(), task.rate, MOMENTUM)
    count = len(next(iter(task.train.values()))) if not task.lengths else len(task.lengths["train"])
    for step in range(task.steps):
        numbers = [(step * task.batch + i) % count for i in range(task.batch)]
        optimizer.zero_grad()
        forward(task, examples(task, "train", numbers, length_of(task, "train", numbers))).backward()
        optimizer.step()
    count = len(next(iter(task.test.values()))) if not task.lengths else len(task.lengths["test"])
    with torch.no_grad():
        if task.whole:
            return float(np.mean([forward(task, examples(task, "test", [i])) for i in range(count)]))
        return float(forward(task, examples(task, "test", range(count),
                                            length_of(task, "test", range(count)))))


def export(task, path):
    batch = examples(task, "train", [0] if task.whole else range(2), 12)
    taken = tuple(batch[name][0] if task.whole else batch[name] for name in task.inputs)
    axes = {} if task.whole else {
        name: {0: "N", 1: "L"} if task.lengths else {0: "N"} for name in task.inputs}
    torch.onnx.export(task.net, taken, path, input_names=task.inputs, output_names=task.outputs,
                      dynamic_axes=axes, opset_version=16, do_constant_folding=False,
                      training=torch.onnx.TrainingMode.PRESERVE)


class Runs:
    def __init__(self, lockstep, task, folder):
        self.lockstep, self.task, self.folder = lockstep, task, folder
        ending = ".csv" if task.csv else ""
        base = (f"MODEL: {{ONNX: {folder}/net.onnx}}\n"
                f"DATA: {{NAME: arrays, TRAIN: {folder}/train{ending}, TEST: {folder}/test{ending}, "
                "SHUFFLE: false}\n"
                f"TRAIN: {{BATCH_SIZE: {task.batch}, SNAPSHOT_ITERS: 1000}}\n"
                f"TEST: {{ITERS: 1000}}\nTHREADS: 1\n"
                f"SOLVER: {{BASE_LR: {task.rate}, MOMENTUM: {MOMENTUM}, WEIGHT_DECAY: 0, BIAS_LR_FACTOR: 1,"
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

    def loss(self, run):
        said = self.lockstep_run(["test", self.folder / "config.yaml", "--weights",
                                  run / "checkpoint.safetensors"])
        return float(said.split("held-out loss ")[1].split(",")[0])


def states(run):
    """The bytes of all states, without the metadata."""
    data = (run / "checkpoint.safetensors").read_bytes()
    return data[8 + int.from_bytes(data[:8], "little"):]


def check(lockstep, make, work):
    torch.manual_seed(7)
    task = make()
    folder = work / make.__name__
    folder.mkdir(parents=True)
    write_arrays(task, folder)
    export(task, folder / "net.onnx")
    wanted = mean_by_pytorch(task)
    runs = Runs(lockstep, task, folder)
    one = runs.train("one")
    found = {"one replica": np.mean([runs.loss(one)] + [
        runs.loss(runs.train(f"seed_{seed}", "RNG_SEED", str(50 + seed)))
        for seed in range(1, task.seeds)])}
    if 2 in task.replicas and task.seeds == 1:  # replicas draw other numbers
        found["two replicas"] = runs.loss(runs.train("two", "DEVICES", "cpu*2"))
        found["micro-batches"] = runs.loss(runs.train("parts", "TRAIN.MICRO_BATCHES", "2"))
        found["two processes"] = runs.loss(runs.train(
            "processes", before=[lockstep, "launch", "-n", "2", "--"]))
    if task.seeds == 1:
        found["bfloat16"] = runs.loss(runs.train("half", "PRECISION", "bfloat16"))
    half = str(task.steps // 2)
    runs.train("resumed", "SOLVER.MAX_ITER", half)
    runs.lockstep_run(["train", folder / "config.yaml", "OUTPUT_DIR", folder / "resumed", "--resume"])
    errors = []
    for name, loss in found.items():
        off = abs(loss - wanted) / abs(wanted)
        if not off <= (0.1 if name == "bfloat16" else 0.05 if task.seeds > 1 else 0.02):
            errors.append(f"{name}: loss {loss}, PyTorch's is {wanted}")
    if states(folder / "resumed") != states(one):
        errors.append("the resumed run has other bits")
    print(f"{make.__name__}: PyTorch {wanted:.5g}, " +
          ", ".join(f"{name} {loss:.5g}" for name, loss in found.items()))
    return errors


def main():
    lockstep, work, only = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3:]
    shutil.rmtree(work, ignore_errors=True)
    failed = 0
    for make in TASKS:
        if only and make.__name__ not in only:
            continue
        try:
            errors = check(lockstep, make, work)
        except RuntimeError as error:
            errors = [str(error)]
        for error in errors:
            print(f"  {make.__name__}: {error}")
        failed += bool(errors)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
