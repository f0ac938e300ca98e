#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times one way to take a training step in PyTorch with bfloat16; gpu_report.py starts it.

    torch_gpu_step.py MODEL BATCH STEPS WAY [--device cpu] [--compile-mode MODE]

WAY: eager, graph (a CUDA graph) or compiled; channels last, with autocast. Prints a line of JSON. A
process for each: it can be stopped when its time is over, and leaves no memory behind.
"""
import argparse
import json
import sys
import time

try:
    import torch
except ImportError:
    sys.exit("torch_gpu_step: this Python has no torch")

import torch_networks as networks


class TorchStep:
    def __init__(self, args):
        self.device = "cuda" if args.device == "gpu" else "cpu"
        for units in (torch.backends.cudnn, torch.backends.cuda.matmul):
            units.allow_tf32 = True
        torch.backends.cudnn.benchmark = True
        self.net = networks.MODELS[args.model]().to(self.device, memory_format=torch.channels_last).train()
        shape, classes = networks.images_of(args.model)
        self.images = torch.rand(args.batch, *shape, device=self.device)
        self.images = self.images.to(memory_format=torch.channels_last)
        self.labels = torch.randint(0, classes, (args.batch,), device=self.device)
        fused = {"fused": True} if self.device == "cuda" else {}
        self.optimizer = torch.optim.SGD(self.net.parameters(), 0.01, 0.9, weight_decay=1e-4, **fused)
        compiled = args.way == "compiled"
        self.forward = torch.compile(self.net, mode=args.compile_mode) if compiled else self.net
        self.run = self.captured() if args.way == "graph" else self.step

    def step(self):
        self.optimizer.zero_grad(set_to_none=True)
        with torch.autocast(self.device, dtype=torch.bfloat16):
            loss = torch.nn.functional.cross_entropy(self.forward(self.images), self.labels)
        loss.backward()
        self.optimizer.step()

    def captured(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.step()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.step()
        return self.graph.replay

    def wait(self):
        if self.device == "cuda":
            torch.cuda.synchronize()

    def seconds(self, count):
        for _ in range(3):
            self.run()
        self.wait()
        seconds = []
        for _ in range(count):
            start = time.perf_counter()
            self.run()
            self.wait()
            seconds.append(time.perf_counter() - start)
        return seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("batch", type=int)
    parser.add_argument("steps", type=int)
    parser.add_argument("way", choices=["eager", "graph", "compiled"])
    parser.add_argument("--device", choices=["gpu", "cpu"], default="gpu")
    parser.add_argument("--compile-mode", default="default")
    args = parser.parse_args()
    print(json.dumps({"seconds": TorchStep(args).seconds(args.steps), "torch": torch.__version__}))


main()
