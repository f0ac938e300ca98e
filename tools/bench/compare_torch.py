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

    from torch_networks import MODELS
except ImportError:
    sys.exit("compare_torch: this Python has no torch (Debian: apt-get install python3-torch, "
             "then /usr/bin/python3; or pip install torch)")


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
