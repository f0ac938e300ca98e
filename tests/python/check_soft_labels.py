# SPDX-License-Identifier: Apache-2.0
"""Compares `lockstep train` with TRAIN.LABEL_SMOOTHING and TRAIN.MIXUP, on two replicas, with PyTorch's
CrossEntropyLoss(label_smoothing=) and SGD from the same weights.

    check_soft_labels.py LOCKSTEP FOLDER

Each step's batch is the whole data set, so the order of pictures does not matter. Exit code 77: PyTorch is not
installed.
"""
import json
import os
import shutil
import subprocess
import sys

try:
    import numpy as np
    import torch
    from torch import nn
    from torch.nn import functional as F
except ImportError as missing:
    print(f"skipped: {missing} (Debian: python3-torch)")
    sys.exit(77)

RATE, LIMIT = 0.005, 1e-5
CONFIG = """DEVICES: cpu*2
THREADS: 1
MODEL: {{TYPE: mlp, HIDDEN: [12]}}
DATA: {{NAME: mnist, ROOT: {root}}}
TRAIN: {{BATCH_SIZE: {batch}, LOG_ITERS: 1}}
SOLVER: {{BASE_LR: {rate}, MOMENTUM: 0, WEIGHT_DECAY: 0, BIAS_LR_FACTOR: 1, MAX_ITER: {steps}}}
"""


def write_pictures(root, count):
    """A data set in MNIST's files; the held-out set is the same."""
    os.makedirs(root)
    random = np.random.default_rng(count)
    pixels = random.integers(0, 256, (count, 28, 28), dtype=np.uint8)
    labels = random.integers(0, 10, count, dtype=np.uint8)
    for part in ("train", "t10k"):
        with open(f"{root}/{part}-images-idx3-ubyte", "wb") as file:
            file.write(bytes([0, 0, 8, 3]) + np.array(pixels.shape, ">i4").tobytes() + pixels.tobytes())
        with open(f"{root}/{part}-labels-idx1-ubyte", "wb") as file:
            file.write(bytes([0, 0, 8, 1]) + np.array([count], ">i4").tobytes() + labels.tobytes())
    images = (pixels.reshape(count, -1).astype(np.float32) / 255 - 0.1307) / 0.3081
    return torch.from_numpy(images.astype(np.float32)), torch.from_numpy(labels.astype(np.int64))


def weights_of(run):
    with open(f"{run}/checkpoint.safetensors", "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        data = file.read()
    return {name: torch.from_numpy(np.frombuffer(data[slice(*header[name]["data_offsets"])], np.float32)
                                   .reshape(header[name]["shape"]).copy())
            for name in ("fc1_w", "fc1_b", "pred_w", "pred_b")}


class Runs:
    def __init__(self, program, folder, count):
        self.program, self.folder, self.count = program, f"{folder}/{count}", count
        self.images, self.labels = write_pictures(self.folder + "/data", count)

    def train(self, name, steps, rate, *keys):
        config = f"{self.folder}/{name}.yaml"
        with open(config, "w") as file:
            file.write(CONFIG.format(root=self.folder + "/data", batch=self.count, rate=rate, steps=steps))
        run = f"{self.folder}/{name}"
        subprocess.run([self.program, "train", config, "--quiet", "OUTPUT_DIR", run, *keys], check=True)
        with open(run + "/metrics.jsonl") as file:
            rows = [json.loads(line) for line in file]
        return weights_of(run), [row["loss"] for row in rows if "loss" in row]


def scores(weights, images):
    return F.linear(F.relu(F.linear(images, weights["fc1_w"], weights["fc1_b"])), weights["pred_w"],
                    weights["pred_b"])


def by_torch(first, steps, loss_of):
    weights = {name: nn.Parameter(value.clone()) for name, value in first.items()}
    optimizer, losses = torch.optim.SGD(weights.values(), RATE), []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = loss_of(weights)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return weights, losses


def far(ours, theirs):
    return max((ours[name] - theirs[name].detach()).abs().max().item() for name in ours)


def check(name, ours, theirs):
    apart = max(far(ours[0], theirs[0]), *(abs(a - b) for a, b in zip(ours[1], theirs[1])))
    print(f"{name}: {apart:.1e} apart")
    if not apart <= LIMIT or len(ours[1]) != len(theirs[1]):
        sys.exit(f"{name} differs from PyTorch")


def smoothing(program, folder):
    runs = Runs(program, folder, 24)
    first, _ = runs.train("first", 1, 0)
    for share in (0.1, 0.4):
        loss = nn.CrossEntropyLoss(label_smoothing=share)
        theirs = by_torch(first, 5, lambda weights: loss(scores(weights, runs.images), runs.labels))
        check(f"label smoothing {share}",
              runs.train(f"smooth_{share}", 5, RATE, "TRAIN.LABEL_SMOOTHING", str(share)), theirs)


def mixed(program, folder):
    """Two pictures are mixed with each other, whatever their order. The share follows from the first loss."""
    runs = Runs(program, folder, 2)
    first, _ = runs.train("first", 1, 0)
    for smooth in (0, 0.2):
        def loss_of(share, weights):
            images = share * runs.images + (1 - share) * runs.images.flip(0)
            target = F.one_hot(runs.labels, 10).float()
            return F.cross_entropy(scores(weights, images), share * target + (1 - share) * target.flip(0),
                                   label_smoothing=smooth)
        ours = runs.train(f"mixed_{smooth}", 1, RATE, "TRAIN.MIXUP", "1", "TRAIN.LABEL_SMOOTHING", str(smooth))
        shares = np.linspace(0, 0.5, 20001)
        losses = [abs(loss_of(share, first).item() - ours[1][0]) for share in shares]
        share = float(shares[int(np.argmin(losses))])
        print(f"share {share:.4f}")
        theirs = by_torch(first, 1, lambda weights: loss_of(share, weights))
        apart = far(ours[0], theirs[0])
        print(f"mixed pictures, smoothing {smooth}: {apart:.1e} apart")
        if not apart <= 1e-4 or min(losses) > 1e-4:
            sys.exit("mixed pictures differ from PyTorch")


def main():
    program, folder = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    shutil.rmtree(folder, ignore_errors=True)
    smoothing(program, folder)
    mixed(program, folder)


main()
