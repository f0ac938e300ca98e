# SPDX-License-Identifier: Apache-2.0
"""Trains torchvision's detector on the pictures of Lockstep's steps, for compare_detector.py."""
import statistics
import sys
import time

import torch

from detector_peer.torchvision_network import detector, parameter_groups, read_weights

LAYOUTS = {"contiguous": torch.contiguous_format, "channels_last": torch.channels_last}


def optimizer(net, solver):
    groups = parameter_groups(net, solver)
    if solver["TYPE"] == "SGD":
        return torch.optim.SGD(groups, lr=0, momentum=solver["MOMENTUM"])
    if solver["TYPE"] == "Adam":
        return torch.optim.Adam(groups, lr=0, betas=(solver["BETA1"], solver["BETA2"]),
                                eps=float(solver["EPSILON"]))  # a text for PyYAML: 1e-08
    sys.exit(f"compare_detector: SOLVER.TYPE {solver['TYPE']} is not written for PyTorch")


class Torch:
    """torchvision's detector with Lockstep's weights."""

    def __init__(self, config, weights, layout="contiguous", **more):
        self.net = detector(config, **more)
        self.net.load_state_dict(read_weights(weights))
        self.net.backbone.layout = LAYOUTS[layout]
        self.net.to(memory_format=LAYOUTS[layout])
        self.optimizer = optimizer(self.net, config["SOLVER"])

    def step(self, images, targets, rate):
        for group in self.optimizer.param_groups:
            group["lr"] = rate * group["factor"]
        self.optimizer.zero_grad(set_to_none=True)
        loss = sum(self.net(images, targets).values())
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def train(self, steps, rates):
        """Returns the seconds of each step."""
        seconds = []
        self.net.train()
        for rate, (images, targets) in zip(rates, steps):
            start = time.perf_counter()
            loss = self.step(images, targets, rate)
            seconds.append(time.perf_counter() - start)
            if not abs(loss) < float("inf"):
                sys.exit(f"compare_detector: torchvision's loss is {loss} in step {len(seconds)}")
        return seconds

    @torch.no_grad()
    def find(self, pictures):
        """Returns the boxes, and the masks or points."""
        self.net.eval()
        boxes, shapes = [], []
        for n in range(len(pictures.ids)):
            found = pictures.results(n, self.net([pictures.image(n)])[0])
            boxes += found[0]
            shapes += found[1]
        return boxes, shapes


def faster_layout(config, weights, steps):
    """Times a few steps of each layout, in turns."""
    seconds = {layout: [] for layout in LAYOUTS}
    peers = {layout: Torch(config, weights, layout) for layout in LAYOUTS}
    for _ in range(3):
        some = [next(steps), next(steps)]
        for layout, peer in peers.items():
            seconds[layout] += peer.train(some, [0, 0])
    return min(LAYOUTS, key=lambda layout: statistics.median(seconds[layout]))
