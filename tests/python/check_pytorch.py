# SPDX-License-Identifier: Apache-2.0
"""Exports networks from PyTorch to ONNX and compares one `lockstep step` on 1 and on 2 replicas with
PyTorch's loss, gradients and SGD update, to 1e-4 relative.

    check_pytorch.py LOCKSTEP FOLDER [NETWORK...]

Two replicas get half the batch each. With batch normalisation the halves matter, so PyTorch runs them
separately and averages. Exit code 77: PyTorch is not installed.
"""
import copy
import os
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

from step_networks import NETWORKS, as_circular

warnings.filterwarnings("ignore")
RATE, MOMENTUM, DECAY, LIMIT = 0.1, 0.9, 0.01, 1e-4


class WithLoss(nn.Module):
    """A network and its loss in one graph, so that the file has both."""

    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, data, target):
        out = self.net(data)
        if target.dtype == torch.int64:
            return F.cross_entropy(out, target)
        return (out - target).pow(2).mean()


def as_onnx_has_it(statistics, start, counts):
    """PyTorch's running variance uses the sample variance of each batch, ONNX's the population variance."""
    mended = {}
    for name, value in statistics.items():
        layer, _, kind = name.rpartition(".")
        if kind == "running_var" and layer in counts:
            n = counts[layer]
            of_batch = (value - 0.9 * start[name]) / 0.1
            value = 0.9 * start[name] + 0.1 * of_batch * (n - 1) / n
        if kind in ("running_var", "running_mean") and layer in counts:
            mended[name] = value
    return mended


def pytorch_step(model, data, target, shards):
    """Loss, gradients, new parameters and the running statistics of the first shard."""
    net, losses, counts = copy.deepcopy(model), [], {}
    for name, layer in net.named_modules():
        if isinstance(layer, (nn.BatchNorm1d, nn.BatchNorm2d)) and layer.training:
            layer.register_forward_hook(
                lambda m, x, y, name=name: counts.update({name: x[0].numel() / m.num_features}))
    statistics = None
    start = {name: value.clone() for name, value in net.named_buffers()}
    optimizer = torch.optim.SGD(net.parameters(), RATE, MOMENTUM, weight_decay=DECAY)
    optimizer.zero_grad()
    for x, y in zip(data.chunk(shards), target.chunk(shards)):
        for name, value in net.named_buffers():
            value.copy_(start[name])
        loss = net(x, y) / shards
        loss.backward()
        losses.append(loss.item())
        if statistics is None:
            statistics = {k: v.clone() for k, v in net.named_buffers()}
    gradients = {name: p.grad.clone() for name, p in net.named_parameters()}
    optimizer.step()
    return (sum(losses), gradients, dict(net.named_parameters()),
            as_onnx_has_it(statistics, start, counts))


def relative(ours, theirs):
    theirs = theirs.detach().numpy()
    if ours.shape != theirs.shape:
        return float("inf")
    return float(np.abs(ours - theirs).max() / max(np.abs(theirs).max(), 1e-3))


def can_be_judged(model, data, target):
    """True if PyTorch's gradients are stable when the parameters move by a few roundings.

    A ReLU with an input near zero switches with the order of a sum, which is not an error.
    """
    exact = copy.deepcopy(model).double()
    as_exact = lambda t: t.double() if t.is_floating_point() else t
    def gradients(net, shards):
        return pytorch_step(net, as_exact(data), as_exact(target), shards)[1]
    for shards in (1, 2):
        there = gradients(exact, shards)
        for _ in range(4):
            near = copy.deepcopy(exact)
            with torch.no_grad():
                for p in near.parameters():
                    p.mul_(1 + 3e-6 * torch.randn_like(p))
            for name, g in gradients(near, shards).items():
                if relative(g.numpy(), there[name]) > 20 * LIMIT:
                    return False
    return True


def draw(name):
    """Returns the first of a few seeds for which can_be_judged() is true."""
    make, batch, _ = NETWORKS[name]
    start = sum(map(ord, name))
    for seed in range(start, start + 20):
        torch.manual_seed(seed)
        model = WithLoss(make())
        model.train()
        data, target = batch()
        if can_be_judged(model, data, target):
            return model, data, target
    raise RuntimeError(f"{name}: every seed from {start} has an input at a kink")


def check(lockstep, folder, name):
    opset = NETWORKS[name][2]
    model, data, target = draw(name)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(f"{folder}/in")
    # Tracing updates running statistics, and the file contains the updated statistics.
    torch.onnx.export(
        model, (data, target), f"{folder}/model.onnx", opset_version=opset,
        input_names=["data", "target"], output_names=["loss"],
        dynamic_axes={"data": {0: "N"}, "target": {0: "N"}},
        training=torch.onnx.TrainingMode.PRESERVE, do_constant_folding=False)
    if name == "wrapped":
        as_circular(f"{folder}/model.onnx")
    np.save(f"{folder}/in/data.npy", data.numpy())
    np.save(f"{folder}/in/target.npy", target.numpy())
    worst = 0.0
    built = subprocess.run([lockstep, "build", f"{folder}/model.onnx", "--loss", "loss", "--devices", "cpu*2",
                            "-o", f"{folder}/step.onnx"], capture_output=True, text=True)
    if built.returncode != 0:
        return f"with an open batch: {built.stderr.strip()}"
    for replicas in (1, 2):
        out = f"{folder}/out{replicas}"
        run = subprocess.run(
            [lockstep, "step", f"{folder}/model.onnx", "--inputs", f"{folder}/in", "--outputs", out,
             "--loss", "loss", "--lr", str(RATE), "--momentum", str(MOMENTUM), "--weight-decay",
             str(DECAY), "--devices", f"cpu*{replicas}"], capture_output=True, text=True)
        if run.returncode != 0:
            return f"exit code {run.returncode}: {run.stderr.strip()}"
        loss, gradients, params, statistics = pytorch_step(model, data, target, replicas)
        pairs = [("loss", torch.tensor(loss))]
        pairs += [(f"{n}_grad", g) for n, g in gradients.items()]
        pairs += list(params.items())
        pairs += list(statistics.items())
        for tensor, theirs in pairs:
            path = f"{out}/{tensor}.npy"
            if not os.path.exists(path):
                return f"{replicas} replicas: no {tensor} was written"
            error = relative(np.load(path), theirs)
            worst = max(worst, error)
            if not error <= LIMIT:
                return f"{replicas} replicas: {tensor} is off by {error:.2e}"
    return worst


def main():
    lockstep, folder = sys.argv[1:3]
    failed = 0
    for name in sys.argv[3:] or NETWORKS:
        result = check(lockstep, f"{folder}/{name}", name)
        if isinstance(result, str):
            failed += 1
            print(f"fail {name} {result}")
        else:
            print(f"pass {name} worst relative difference {result:.1e}")
    print(f"PyTorch {torch.__version__}: {failed} of {len(sys.argv[3:] or NETWORKS)} networks differ")
    return 1 if failed else 0


sys.exit(main())
