# SPDX-License-Identifier: Apache-2.0
"""Compares five steps of `lockstep step` with PyTorch's optimisers on the same minibatches.

    check_step_run.py LOCKSTEP FOLDER [CASE...]      Exit code 77: PyTorch is not installed.

A network that PyTorch exports is trained on batches of 8 of 20 rows, in the order of the rows: losses and new
parameters on one and on two replicas. In bfloat16 the losses are close. Two steps and three more have the bits of
five. The network that is written has the loss of PyTorch's trained network.
"""
import copy
import math
import pathlib
import shutil
import subprocess
import sys
import warnings

try:
    import numpy as np
    import torch
    from torch import nn
    from torch.nn import functional as F
except ImportError as missing:
    print(f"skipped: {missing} (Debian: python3-torch)")
    sys.exit(77)

warnings.filterwarnings("ignore")
ROWS, BATCH, STEPS, RATE = 20, 8, 5, 0.01
LIMIT = 2e-5  # Adam divides gradients by their size, so small ones carry their rounding errors into parameters


class WithLoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 6, 3, padding=1), nn.GroupNorm(2, 6)
        self.wide, self.out = nn.Linear(6 * 16, 12), nn.Linear(12, 5)

    def forward(self, data, target):
        x = F.avg_pool2d(torch.tanh(self.norm(self.conv(data))), 2).flatten(1)
        return F.cross_entropy(self.out(torch.tanh(self.wide(x))), target)


def cosine(optimizer):
    return torch.optim.lr_scheduler.LambdaLR(optimizer, lambda k: 0.5 * (1 + math.cos(math.pi * k / STEPS)))


class Case:
    """Words of the command line, and the same optimiser, schedule and limit of the norm in PyTorch."""

    def __init__(self, words, make, schedule=None, most_norm=0):
        self.words, self.make, self.schedule, self.most_norm = words, make, schedule, most_norm


CASES = {
    "adam": Case(["SOLVER.TYPE", "Adam"], lambda p: torch.optim.Adam(p, RATE)),
    "adam_with_decay": Case(["SOLVER.TYPE", "Adam", "SOLVER.BETA1", "0.8", "--weight-decay", "0.1"],
                            lambda p: torch.optim.Adam(p, RATE, (0.8, 0.999), weight_decay=0.1)),
    "adam_clipped": Case(["SOLVER.TYPE", "Adam", "SOLVER.CLIP_NORM", "0.2"], lambda p: torch.optim.Adam(p, RATE),
                         most_norm=0.2),
    "adam_by_cosine": Case(
        ["SOLVER.TYPE", "Adam", "SOLVER.LR_POLICY", "cosine_decay", "SOLVER.MAX_ITER", str(STEPS)],
        lambda p: torch.optim.Adam(p, RATE), cosine),
    "adamw": Case(["SOLVER.TYPE", "AdamW", "SOLVER.WEIGHT_DECAY", "0.1"],
                  lambda p: torch.optim.AdamW(p, RATE, weight_decay=0.1)),
    "rmsprop": Case(["SOLVER.TYPE", "RMSProp", "SOLVER.RMSPROP_MOMENTUM", "0.5", "SOLVER.ALPHA", "0.9"],
                    lambda p: torch.optim.RMSprop(p, RATE, 0.9, momentum=0.5)),
    "sgd": Case(["--momentum", "0.9", "--weight-decay", "0.01"],
                lambda p: torch.optim.SGD(p, RATE, 0.9, weight_decay=0.01)),
}


def rows_of_step(step):
    return [(step * BATCH + i) % ROWS for i in range(BATCH)]


def by_torch(model, case, data, target):
    """The losses of the steps and the trained network, in float64."""
    net, losses = copy.deepcopy(model).double(), []
    optimizer = case.make(net.parameters())
    schedule = case.schedule(optimizer) if case.schedule else None
    for step in range(STEPS):
        rows = rows_of_step(step)
        optimizer.zero_grad()
        loss = net(data[rows].double(), target[rows])
        loss.backward()
        if case.most_norm:
            nn.utils.clip_grad_norm_(net.parameters(), case.most_norm)
        optimizer.step()
        if schedule:
            schedule.step()
        losses.append(loss.item())
    return losses, net


class Runs:
    def __init__(self, program, folder, model, data, target):
        self.program, self.folder = program, folder
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "in").mkdir(parents=True)
        np.save(folder / "in/data.npy", data.numpy())
        np.save(folder / "in/target.npy", target.numpy())
        torch.onnx.export(
            model, (data, target), str(folder / "net.onnx"), opset_version=14, input_names=["data", "target"],
            output_names=["loss"], dynamic_axes={"data": {0: "N"}, "target": {0: "N"}},
            training=torch.onnx.TrainingMode.PRESERVE, do_constant_folding=False)

    def run(self, name, words, steps=STEPS, network="net.onnx", rate=RATE):
        """Writes into the folder `name`; returns the losses."""
        run = subprocess.run(
            [self.program, "step", self.folder / network, "--inputs", self.folder / "in", "--loss", "loss",
             "--batch", str(BATCH), "--steps", str(steps), "--outputs", self.folder / name, "--lr", str(rate), *words],
            capture_output=True, text=True)
        if run.returncode != 0:
            sys.exit(f"{name}: exit code {run.returncode}: {run.stderr.strip()}")
        return np.load(self.folder / name / "loss.npy").reshape(-1)

    def values(self, name):
        return {path.stem: np.load(path) for path in (self.folder / name).glob("*.npy") if path.stem != "loss"}


def apart(ours, theirs):
    return float(np.abs(np.asarray(ours) - np.asarray(theirs)).max())


def expect(text, difference, limit):
    print(f"  {text}: {difference:.1e} apart")
    if not difference <= limit:
        sys.exit(f"{text} differ from PyTorch's by {difference:.2e}, more than {limit}")


def check_steps(runs, name, case, model, data, target):
    losses, net = by_torch(model, case, data, target)
    for replicas in (1, 2):
        ours = runs.run(f"{name}{replicas}", [*case.words, "--devices", f"cpu*{replicas}"])
        assert ours.shape == (STEPS,), ours.shape
        expect(f"losses on {replicas} replicas", apart(ours, losses), LIMIT)
        values = runs.values(f"{name}{replicas}")
        expect(f"parameters on {replicas} replicas",
               max(apart(values[n], p.detach().numpy()) for n, p in net.named_parameters()), LIMIT)
    short = runs.run(f"{name}_short", [*case.words, "--devices", "cpu*2", "--precision", "bfloat16"])
    expect("losses in bfloat16", apart(short, losses), 0.1)
    return net


def check_continued(runs, name, case):
    words = [*case.words, "--devices", "cpu*2", "-o", runs.folder / f"{name}.onnx"]
    whole = runs.run(f"{name}_whole", [*words, "--state", runs.folder / f"{name}_whole.safetensors"])
    parts = []
    for steps in (2, 3):
        parts.extend(runs.run(f"{name}_parts", [*words, "--state", runs.folder / f"{name}_parts.safetensors"], steps))
    assert np.array_equal(whole, np.array(parts, np.float32)), (whole, parts)
    there = runs.values(f"{name}_whole")
    for tensor, value in runs.values(f"{name}_parts").items():
        assert value.tobytes() == there[tensor].tobytes(), f"{name}: {tensor} differs after a break"
    states = [(runs.folder / f"{name}_{kind}.safetensors").read_bytes() for kind in ("whole", "parts")]
    assert states[0] == states[1], f"{name}: the states differ after a break"


def check_network(runs, name, net, data, target):
    rows = rows_of_step(0)
    theirs = net(data[rows].double(), target[rows]).item()
    ours = runs.run(f"{name}_written", [], steps=1, network=f"{name}.onnx", rate=0)
    expect("loss of the written network", apart(ours, [theirs]), LIMIT)


def main():
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    torch.manual_seed(3)
    model = WithLoss().train()
    data, target = torch.randn(ROWS, 3, 8, 8), torch.randint(0, 5, (ROWS,))
    runs = Runs(program, folder, model, data, target)
    for name in sys.argv[3:] or CASES:
        print(name)
        net = check_steps(runs, name, CASES[name], model, data, target)
        check_continued(runs, name, CASES[name])
        check_network(runs, name, net, data, target)
    print(f"PyTorch {torch.__version__}: all steps agree")


main()
