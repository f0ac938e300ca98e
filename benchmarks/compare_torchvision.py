#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""RoI pooling from a feature pyramid by Lockstep and by torchvision on this machine, in one run.

    benchmarks/compare_torchvision.py [--rounds 3] [--lockstep build/release/lockstep]

1,024 RoIs x 256 channels x 7 x 7, two samples a bin and side, levels of strides 4 to 32 of an input
of 800 x 1344; one thread. RoIs and levels are equal to those in `lockstep bench detection-operators`.
torchvision runs one roi_align a level; joining the results is not counted. The two take turns, so
that a busy machine slows both equally. A ratio of 2.00x means that Lockstep is twice as fast.
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
    from torchvision.ops import roi_align
except ImportError:
    sys.exit("compare_torchvision: this Python has no torchvision (Debian: apt-get install "
             "python3-torchvision, then /usr/bin/python3)")

HEIGHT, WIDTH, ROIS, CHANNELS = 800, 1344, 1024, 256


def boxes():
    """The boxes of spread_boxes() of tools/bench/detection_operators.cc."""
    i = torch.arange(1, ROIS + 1, dtype=torch.float64)
    spread = [torch.frac(i / 1.1673039782614187 ** axis) for axis in range(1, 5)]
    side, aspect = 16 * 2 ** (5 * spread[0]), 2 ** (spread[1] - 0.5)
    x, y = WIDTH * spread[2], HEIGHT * spread[3]
    ends = [x - side * aspect / 2, y - side / aspect / 2, x + side * aspect / 2, y + side / aspect / 2]
    return torch.stack([end.clamp(0, (WIDTH, HEIGHT)[n % 2]) for n, end in enumerate(ends)], 1)


class Pyramid:
    def __init__(self):
        rois = boxes()
        area = (rois[:, 2] - rois[:, 0]) * (rois[:, 3] - rois[:, 1])
        level = torch.floor(4 + torch.log2(area.sqrt() / 224 + 1e-6)).clamp(2, 5) - 2
        rois = torch.cat([torch.zeros(ROIS, 1), rois.float()], 1)
        self.rois = [rois[level == n] for n in range(4)]
        self.maps = [torch.rand(1, CHANNELS, HEIGHT // s, WIDTH // s, requires_grad=True)
                     for s in (4, 8, 16, 32)]

    def times(self):
        """Returns the seconds of the forward and of the backward pass."""
        start = time.perf_counter()
        y = [roi_align(x, rois, 7, 0.25 / 2 ** n, 2)
             for n, (x, rois) in enumerate(zip(self.maps, self.rois))]
        forward = time.perf_counter() - start
        dy = [torch.rand_like(each) for each in y]
        start = time.perf_counter()
        torch.autograd.grad(y, self.maps, dy)
        return forward, time.perf_counter() - start


def ours(lockstep):
    out = subprocess.run([lockstep, "bench", "detection-operators", "--json"], check=True,
                         capture_output=True, text=True).stdout
    rows = json.loads(out)
    at = next(n for n, row in enumerate(rows) if row["name"].startswith("MultilevelRoiAlign"))
    return rows[at]["milliseconds"] / 1e3, rows[at + 1]["milliseconds"] / 1e3


def main():
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--lockstep", default=f"{root}/build/release/lockstep")
    args = parser.parse_args()
    torch.set_num_threads(1)
    pyramid = Pyramid()
    pyramid.times()
    mine, theirs = [], []
    for _ in range(args.rounds):
        mine.append(ours(args.lockstep))
        theirs += [pyramid.times() for _ in range(3)]
    print("               Lockstep  torchvision")
    for n, name in enumerate(("forward", "backward")):
        a, b = (statistics.median(each[n] for each in times) for times in (mine, theirs))
        print(f"{name:<12} {1e3 * a:8.1f} ms  {1e3 * b:8.1f} ms   {b / a:.2f}x")


main()
