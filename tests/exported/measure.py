# SPDX-License-Identifier: Apache-2.0
"""Compares one step of Lockstep with PyTorch's for sixteen networks, both exporters of the newest PyTorch,
a symbolic batch, and 1 and 2 replicas. Prints the two tables of docs/bring_your_own.md.

    measure.py LOCKSTEP FOLDER small|full [NETWORK...]

Default export: the exporter's defaults, PyTorch in eval mode, and the parameters that keep their name
and value in the file. Training export: as docs/bring_your_own.md prints it, PyTorch in training mode,
all parameters. A difference is the largest error of a gradient relative to PyTorch in float64, divided
by the gradient's largest element (or by a hundredth of the largest of all gradients: a gradient that
almost cancels is only as exact as its terms). The table also has the difference of PyTorch's float32.
If Lockstep's is larger, it has the change of the exact gradient when parameters and pixels move by a
millionth: in a deep network, some values are so near the corner of a ReLU that float32, in any order of
sums, may put them on the other side.
"""
import copy
import os
import pathlib
import shutil
import subprocess
import sys
import warnings

import numpy as np
import onnx
import torch

from networks import NETWORKS, WithLoss, perturbed

warnings.filterwarnings("ignore")
RATE, BATCH = 0.1, {"small": 8, "full": 2}
LOSS_LIMIT, LIMIT = 1e-5, 1e-4
NUDGE, NEIGHBOURS = 1e-6, 8


def export(model, data, path, exporter, training):
    names = {"input_names": ["data", "target"], "output_names": ["loss"]}
    if exporter == "dynamo":
        open_batch = {0: torch.export.Dim.DYNAMIC}
        torch.onnx.export(model, data, path, **names, verbose=False, optimize=not training,
                          dynamic_shapes={"data": open_batch, "target": open_batch})
        return
    kept = {"training": torch.onnx.TrainingMode.PRESERVE, "do_constant_folding": False}
    torch.onnx.export(model, data, path, **names, dynamo=False, opset_version=20,
                      dynamic_axes={"data": {0: "N"}, "target": {0: "N"}}, **(kept if training else {}))


def gradients(model, data, target, shards, kind):
    """The loss and gradients; each shard has its own batch norm."""
    net = copy.deepcopy(model).to(kind)
    total = 0.0
    for x, y in zip(data.chunk(shards), target.chunk(shards)):
        loss = net(x.to(kind) if x.is_floating_point() else x, y) / shards
        loss.backward()
        total += loss.item()
    return total, {name: p.grad.double().numpy() for name, p in net.named_parameters()}


class Reference:
    """PyTorch's step, computed on first use and cached for both exporters."""

    def __init__(self, model, data, target):
        self.model, self.data, self.target = model, data, target
        self.known = {}

    def of(self, shards):
        if shards not in self.known:
            loss, exact = gradients(self.model, self.data, self.target, shards, torch.float64)
            _, single = gradients(self.model, self.data, self.target, shards, torch.float32)
            self.known[shards] = loss, exact, single
        return self.known[shards]

    def moved(self, shards):
        """The exact gradients at neighbouring parameters and pixels."""
        if ("moved", shards) not in self.known:
            self.known["moved", shards] = [self.neighbour(shards) for _ in range(NEIGHBOURS)]
        return self.known["moved", shards]

    def neighbour(self, shards):
        def nudged(x):
            return x.double() * (1 + NUDGE * torch.randn(x.shape, dtype=torch.float64))

        net = copy.deepcopy(self.model).double()
        with torch.no_grad():
            for mine, p in zip(net.parameters(), self.model.parameters()):
                mine.copy_(nudged(p))
        data = nudged(self.data) if self.data.is_floating_point() else self.data
        return gradients(net, data, self.target, shards, torch.float64)[1]


def difference(ours, theirs, largest):
    return float(np.abs(ours - theirs).max() / max(np.abs(theirs).max(), largest / 100))


def kept_parameters(model, path):
    """The names of the parameters that the file has unchanged."""
    file = onnx.load(path)
    held = {t.name: t for t in file.graph.initializer}
    return {name for name, p in model.named_parameters()
            if name in held and np.array_equal(onnx.numpy_helper.to_array(
                held[name], str(pathlib.Path(path).parent)), p.detach().numpy())}


def step(lockstep, folder, replicas, training):
    out = f"{folder}/out"
    shutil.rmtree(out, ignore_errors=True)
    run = subprocess.run(
        [lockstep, "step", f"{folder}/net.onnx", "--inputs", f"{folder}/in", "--outputs", out, "--loss",
         "loss", "--lr", str(RATE), "--devices", f"cpu*{replicas}",
         *(["--train-batch-norm"] if training else [])], capture_output=True, text=True)
    if run.returncode != 0:
        return None, run.stderr.strip().splitlines()[0][:160]
    return out, ""


def judge(lockstep, folder, reference, exporter, training):
    """One cell for each number of replicas, and True if all are within the limits."""
    os.makedirs(f"{folder}/in", exist_ok=True)
    model, data, target = reference.model, reference.data, reference.target
    try:
        export(copy.deepcopy(model), (data, target), f"{folder}/net.onnx", exporter, training)
    except Exception as error:  # exporters throw any exception
        return [f"the exporter fails: {str(error).splitlines()[0][:120]}"] * 2, False
    np.save(f"{folder}/in/data.npy", data.numpy())
    np.save(f"{folder}/in/target.npy", target.numpy())
    wanted = {n for n, _ in model.named_parameters()} if training else kept_parameters(
        model, f"{folder}/net.onnx")
    cells, holds = [], True
    for replicas in (1, 2):
        out, error = step(lockstep, folder, replicas, training)
        if out is None:
            cells.append(error)
            holds = False
            continue
        shards = replicas if training else 1
        loss, exact, single = reference.of(shards)
        missing = [n for n in wanted if not os.path.exists(f"{out}/{n}_grad.npy")]
        if missing:
            cells.append(f"no gradient of {missing[0]} and {len(missing) - 1} more")
            holds = False
            continue
        of_loss = abs(float(np.load(f"{out}/loss.npy")) - loss) / abs(loss)
        largest = max(np.abs(g).max() for g in exact.values())
        off = {n: (difference(np.load(f"{out}/{n}_grad.npy"), exact[n], largest),
                   difference(single[n], exact[n], largest)) for n in wanted}
        ours, theirs = (max(pair[i] for pair in off.values()) if off else 0.0 for i in (0, 1))
        cell = f"{of_loss:.0e}, {ours:.0e} ({theirs:.0e}"
        doubtful = [n for n in wanted if off[n][0] > max(LIMIT, 2 * off[n][1])]
        if doubtful:
            moved = {n: max(difference(g[n], exact[n], largest)
                            for g in reference.moved(shards)) for n in doubtful}
            cell += f"; moves by {max(moved.values()):.0e}"
        good = of_loss <= LOSS_LIMIT and all(off[n][0] <= 2 * moved[n] for n in doubtful)
        holds = holds and good
        cells.append(f"{cell}) of {len(wanted)}" + ("" if good else " !"))
    return cells, holds


def main():
    lockstep, folder, size = sys.argv[1:4]
    names = sys.argv[4:] or list(NETWORKS)
    failed = 0
    for training in (False, True):
        print(f"\n{'Training' if training else 'Default'} export\n")
        print("| network | dynamo, 1 replica | dynamo, 2 | TorchScript, 1 replica | TorchScript, 2 |")
        print("|---|---|---|---|---|")
        for name in names:
            make, draw = NETWORKS[name][size]
            torch.manual_seed(5)
            model = perturbed(WithLoss(make()))
            data, target = draw(BATCH[size])
            reference = Reference(model.train(training), data, target)
            row = []
            for exporter in ("dynamo", "script"):
                work = f"{folder}/{name}.{exporter}"
                shutil.rmtree(work, ignore_errors=True)
                cells, holds = judge(lockstep, work, reference, exporter, training)
                shutil.rmtree(work, ignore_errors=True)
                failed += not holds
                row += cells
            print(f"| {name} | " + " | ".join(row) + " |", flush=True)
    print(f"\nPyTorch {torch.__version__}: {failed} of {4 * len(names)} differ")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
