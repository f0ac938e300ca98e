#!/usr/bin/env python3
"""A training step of Lockstep and of PyTorch on this machine, in one run.

    tools/bench/compare_torch.py --model resnet50 --batch 16 [--threads 2] [--rounds 3]

The same network, batch, precision (fp32), momentum SGD with weight decay; random images. The two
take turns, so that a busy machine is busy for both; the median of all steps counts, and PyTorch's
best variant: contiguous or channels_last, eager and, where this PyTorch has it, torch.compile.
The last line ends in the ratio: 1.23x means that Lockstep is 1.23 times as fast.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time

try:
    import torch
    from torch import nn
except ImportError:
    sys.exit("compare_torch: this Python has no torch (Debian: apt-get install python3-torch, "
             "then /usr/bin/python3; or pip install torch)")


class Block(nn.Module):
    """A residual block; `inner` channels between two 1x1 convolutions, or two 3x3 ones."""

    def __init__(self, channels, width, stride, bottleneck, groups, group_width):
        super().__init__()
        out = 4 * width if bottleneck else width
        inner = width * group_width // 64 * groups if bottleneck else width
        conv = lambda i, o, k, s=1, g=1: nn.Conv2d(i, o, k, s, k // 2, groups=g, bias=False)
        if bottleneck:
            layers = [conv(channels, inner, 1), nn.BatchNorm2d(inner), nn.ReLU(inplace=True),
                      conv(inner, inner, 3, stride, groups), nn.BatchNorm2d(inner),
                      nn.ReLU(inplace=True), conv(inner, out, 1), nn.BatchNorm2d(out)]
        else:
            layers = [conv(channels, inner, 3, stride), nn.BatchNorm2d(inner),
                      nn.ReLU(inplace=True), conv(inner, out, 3), nn.BatchNorm2d(out)]
        self.path = nn.Sequential(*layers)
        self.skip = None
        if stride != 1 or channels != out:
            self.skip = nn.Sequential(conv(channels, out, 1, stride), nn.BatchNorm2d(out))
        self.relu = nn.ReLU(inplace=True)
        self.out = out

    def forward(self, x):
        y = self.path(x)
        y += x if self.skip is None else self.skip(x)
        return self.relu(y)


class ResNet(nn.Module):
    def __init__(self, blocks, bottleneck, groups=1, group_width=64):
        super().__init__()
        layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True),
                  nn.MaxPool2d(3, 2, 1)]
        channels, width = 64, 64
        for stage, count in enumerate(blocks):
            for i in range(count):
                layers.append(Block(channels, width, 2 if stage and not i else 1, bottleneck,
                                    groups, group_width))
                channels = layers[-1].out
            width *= 2
        self.features, self.fc = nn.Sequential(*layers), nn.Linear(channels, 1000)

    def forward(self, x):
        return self.fc(self.features(x).mean((2, 3)))


def vgg16():
    layers, channels = [], 3
    for width in (64, 64, 0, 128, 128, 0, 256, 256, 256, 0, 512, 512, 512, 0, 512, 512, 512, 0):
        if width:
            layers += [nn.Conv2d(channels, width, 3, padding=1), nn.ReLU(inplace=True)]
            channels = width
        else:
            layers.append(nn.MaxPool2d(2))
    for i, o in ((25088, 4096), (4096, 4096)):
        layers += [nn.Flatten(), nn.Linear(i, o), nn.ReLU(inplace=True), nn.Dropout()]
    return nn.Sequential(*layers, nn.Linear(4096, 1000))


MODELS = {
    "resnet18": lambda: ResNet((2, 2, 2, 2), False),
    "resnet34": lambda: ResNet((3, 4, 6, 3), False),
    "resnet50": lambda: ResNet((3, 4, 6, 3), True),
    "resnet101": lambda: ResNet((3, 4, 23, 3), True),
    "resnet152": lambda: ResNet((3, 8, 36, 3), True),
    "resnext50_32x4d": lambda: ResNet((3, 4, 6, 3), True, 32, 4),
    "vgg16": vgg16,
}


class TorchStep:
    """One way to take a step in PyTorch."""

    def __init__(self, model, batch, channels_last, compiled):
        layout = torch.channels_last if channels_last else torch.contiguous_format
        self.net = MODELS[model]().train().to(memory_format=layout)
        self.images = torch.rand(batch, 3, 224, 224).to(memory_format=layout)
        self.labels = torch.randint(0, 1000, (batch,))
        self.optimizer = torch.optim.SGD(self.net.parameters(), 0.01, 0.9, weight_decay=1e-4)
        self.forward = torch.compile(self.net) if compiled else self.net

    def __call__(self):
        self.optimizer.zero_grad(set_to_none=True)
        nn.functional.cross_entropy(self.forward(self.images), self.labels).backward()
        self.optimizer.step()

    def times(self, steps):
        self()
        seconds = []
        for _ in range(steps):
            start = time.perf_counter()
            self()
            seconds.append(time.perf_counter() - start)
        return seconds


def ours(args):
    out = subprocess.run(
        [args.lockstep, "bench", "train-step", "--model", args.model, "--batch", str(args.batch),
         "--threads", str(args.threads), "--steps", str(args.steps), "--json"],
        check=True, capture_output=True, text=True).stdout
    return json.loads(out)["seconds"]


def main():
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=MODELS, default="resnet50")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--steps", type=int, default=3, help="timed steps a round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--lockstep", default=f"{root}/build/release/lockstep")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)

    variants = {"eager": (False, False), "eager, channels_last": (True, False)}
    if hasattr(torch, "compile"):
        variants |= {"compiled": (False, True), "compiled, channels_last": (True, True)}
    seconds = {name: [] for name in ["Lockstep", *variants]}
    for _ in range(args.rounds):
        seconds["Lockstep"].append(ours(args))
        for name, variant in list(variants.items()):
            try:
                step = TorchStep(args.model, args.batch, *variant)
                seconds[name] += step.times(args.steps)
                del step
            except Exception as error:  # torch.compile needs a compiler and more
                print(f"{name}: left out, {str(error).splitlines()[0]}")
                del variants[name], seconds[name]

    median = {name: statistics.median(times) for name, times in seconds.items()}
    best = min(variants, key=median.get)
    print(f"{args.model}, batch {args.batch}, fp32, {args.threads} threads, "
          f"PyTorch {torch.__version__}, median of {args.rounds} x {args.steps} steps")
    print(f"{'':34}  s/step  images/s")
    for name, value in median.items():
        label = name if name == "Lockstep" else f"PyTorch {name}"
        print(f"{label:34}{value:8.3f}{args.batch / value:10.1f}")
    print(f"Lockstep against PyTorch's best ({best}): {median[best] / median['Lockstep']:.2f}x")


main()
