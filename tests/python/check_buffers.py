# SPDX-License-Identifier: Apache-2.0
"""Exports modules with buffers by PyTorch's TorchScript exporter, which does not say which initializers are
buffers, and compares Lockstep's decision about each with the module's named_parameters() and
named_buffers(). Then compares the gradients of a step that freezes the undecided buffers with PyTorch's.

    check_buffers.py LOCKSTEP FOLDER      Exit code 77: PyTorch is not installed.
"""
import math
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

warnings.filterwarnings("ignore")
BATCH, LENGTH, WIDTH, LIMIT = 8, 12, 16, 1e-4


class Pictures(nn.Module):
    """Normalises pictures of 0 to 255 by buffers, as detectors do."""

    def __init__(self):
        super().__init__()
        self.register_buffer("px_mean", torch.tensor([0.485, 0.456, 0.406]))
        self.register_buffer("px_std", torch.tensor([0.229, 0.224, 0.225]).view(1, 3, 1, 1))
        self.conv, self.fc = nn.Conv2d(3, 8, 3), nn.Linear(8, 5)

    def forward(self, x):
        x = (x / 255 - self.px_mean.view(1, -1, 1, 1)) / self.px_std
        return self.fc(F.relu(self.conv(x)).mean((2, 3)))


class FrozenNorm(nn.Module):
    """A batch norm of buffers, as torchvision's detectors have: its scale and bias look learnt."""

    def __init__(self):
        super().__init__()
        self.conv, self.fc = nn.Conv2d(3, 8, 3), nn.Linear(8, 5)
        self.register_buffer("running_mean", 0.1 * torch.randn(8))
        self.register_buffer("running_var", 1 + 0.1 * torch.rand(8))

    def forward(self, x):
        x = self.conv(x / 255)
        x = (x - self.running_mean.view(1, -1, 1, 1)) * self.running_var.view(1, -1, 1, 1).rsqrt()
        return self.fc(F.relu(x).mean((2, 3)))


class Attention(nn.Module):
    """Sine positions, a causal mask, rotary frequencies, and keys without a bias."""

    def __init__(self):
        super().__init__()
        place = torch.arange(LENGTH).unsqueeze(1)
        rate = torch.exp(torch.arange(0, WIDTH, 2) * (-math.log(10000.0) / WIDTH))
        table = torch.zeros(1, LENGTH, WIDTH)
        table[0, :, 0::2], table[0, :, 1::2] = torch.sin(place * rate), torch.cos(place * rate)
        self.register_buffer("pe", table)
        self.register_buffer("inv_freq", 10000.0 ** (-torch.arange(0, WIDTH, 2) / WIDTH))
        self.register_buffer("mask", torch.full((LENGTH, LENGTH), float("-inf")).triu(1))
        self.register_buffer("k_bias", torch.zeros(WIDTH))
        self.q_bias, self.v_bias = nn.Parameter(torch.randn(WIDTH)), nn.Parameter(torch.randn(WIDTH))
        self.learnt = nn.Parameter(0.02 * torch.randn(1, LENGTH, WIDTH))
        self.qkv, self.fc = nn.Linear(WIDTH, 3 * WIDTH, bias=False), nn.Linear(WIDTH, 5)

    def turn(self, x):
        angles = torch.arange(x.shape[1], dtype=torch.float32).unsqueeze(1) * self.inv_freq
        angles = torch.cat((angles, angles), -1)
        a, b = x.chunk(2, -1)
        return x * angles.cos() + torch.cat((-b, a), -1) * angles.sin()

    def forward(self, x):
        x = x + self.pe + self.learnt
        bias = torch.cat((self.q_bias, self.k_bias, self.v_bias))
        q, k, v = F.linear(x, self.qkv.weight, bias).chunk(3, -1)
        scores = self.turn(q) @ self.turn(k).transpose(1, 2) / math.sqrt(WIDTH) + self.mask
        return self.fc((scores.softmax(-1) @ v).mean(1))


class Weighted(nn.Module):
    """A cross-entropy with class weights."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(WIDTH, 5)
        self.register_buffer("class_weights", torch.tensor([1.0, 2.0, 0.5, 1.5, 3.0]))

    def forward(self, x):
        return self.fc(x)


class WithLoss(nn.Module):
    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, data, target):
        return F.cross_entropy(self.net(data), target, weight=getattr(self.net, "class_weights", None))


PICTURE, TOKENS, ROWS = (3, 8, 8), (LENGTH, WIDTH), (WIDTH,)
# The network, the shape of an example, and the buffers that no rule can tell from parameters.
NETWORKS = {
    "Pictures": (Pictures, PICTURE, set()),
    "FrozenNorm": (FrozenNorm, PICTURE, set()),
    "Attention": (Attention, TOKENS, {"net.pe", "net.inv_freq", "net.k_bias"}),
    "Weighted": (Weighted, ROWS, set()),
}


def run(lockstep, *words):
    done = subprocess.run([lockstep, *words], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(words)}: {done.stderr.strip()}")
    return done.stdout


def roles(lockstep, path):
    rows = [line.split(maxsplit=3) for line in
            run(lockstep, "inspect", path, "--parameters", "--loss", "loss").splitlines()]
    return {row[0]: (row[2], row[3]) for row in rows if len(row) == 4 and row[1].startswith("float32[")}


def errors_of(lockstep, folder, name):
    make, shape, undecided = NETWORKS[name]
    torch.manual_seed(5)
    model = WithLoss(make())
    data, target = torch.rand(BATCH, *shape), torch.randint(0, 5, (BATCH,))
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(f"{folder}/in")
    path = f"{folder}/model.onnx"
    torch.onnx.export(model, (data, target), path, opset_version=14, input_names=["data", "target"],
                      output_names=["loss"], dynamic_axes={"data": {0: "N"}, "target": {0: "N"}},
                      training=torch.onnx.TrainingMode.PRESERVE, do_constant_folding=False)
    np.save(f"{folder}/in/data.npy", data.numpy())
    np.save(f"{folder}/in/target.npy", target.numpy())
    found = roles(lockstep, path)
    parameters = {n for n, _ in model.named_parameters()} & set(found)
    buffers = {n for n, _ in model.named_buffers()} & set(found)
    if missed := {n for n, _ in model.named_buffers()} - buffers:
        yield f"the file has no {missed}"
    for n in sorted(parameters):
        if found[n][0] != "trained" or found[n][1].startswith("cannot"):
            yield f"parameter {n} is {found[n]}"
    for n in sorted(buffers):
        role = "trained" if n in undecided else "constant"
        if found[n][0] != role or found[n][1].startswith("cannot") != (n in undecided):
            yield f"buffer {n} is {found[n]}"

    model(data, target).backward()
    freeze = [word for n in sorted(undecided) for word in ("--freeze", n)]
    for devices in ("cpu", "cpu*2") if name != "Weighted" else ("cpu",):
        shutil.rmtree(f"{folder}/out", ignore_errors=True)
        run(lockstep, "step", path, "--inputs", f"{folder}/in", "--outputs", f"{folder}/out", "--loss",
            "loss", "--devices", devices, *freeze)
        for n in buffers:
            if os.path.exists(f"{folder}/out/{n}.npy"):
                yield f"{n} was written"
        for n, p in model.named_parameters():
            ours, exact = np.load(f"{folder}/out/{n}_grad.npy"), p.grad.numpy()
            off = np.abs(ours - exact).max() / max(np.abs(exact).max(), 1e-6)
            if not off <= LIMIT:
                yield f"{devices}: the gradient of {n} is off by {off:.1e}"


def main():
    lockstep, work = sys.argv[1], sys.argv[2]
    failed = 0
    for name in NETWORKS:
        errors = list(errors_of(lockstep, f"{work}/{name}", name))
        failed += bool(errors)
        print(f"{name}: {'; '.join(errors) or 'as PyTorch'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
