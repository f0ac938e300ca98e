#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A training step in PyTorch, for the benchmarks that run it beside Lockstep; one process for each way.

    peers.py MODEL BATCH [--device gpu] [--threads N] [--ranks N] [--way eager|graph|compiled]
             [--channels-last] [--bfloat16] [--tf32] [--compile-mode MODE] [--steps N]

Prints a line of JSON when the first step is done, then takes N steps and prints a line with their
seconds. Without --steps it reads numbers of steps from its input, and answers each with a line.
`graph` is a CUDA graph. With several ranks the batch is split over that number of processes, and
DistributedDataParallel sums their gradients over Gloo.
"""
import argparse
import contextlib
import json
import os
import resource
import sys
import time

BEGAN = time.perf_counter()

try:
    import torch
    from torch import nn
except ImportError:
    sys.exit("peers: this Python has no torch (Debian: apt-get install python3-torch, then "
             "/usr/bin/python3; or pip install torch)")

from networks import MODELS, images_of


class TorchStep:
    """The network, its batch of random images, momentum SGD with weight decay."""

    def __init__(self, args):
        self.device = "cuda" if args.device == "gpu" else "cpu"
        shape, classes = images_of(args.model)
        are_pictures = len(shape) == 3
        layout = torch.channels_last if args.channels_last and are_pictures else torch.contiguous_format
        batch = args.batch // args.ranks
        self.net = MODELS[args.model]().train().to(self.device, memory_format=layout)
        self.images = torch.rand(batch, *shape, device=self.device).to(memory_format=layout)
        self.labels = torch.randint(0, classes, (batch,), device=self.device)
        fused = {"fused": True} if self.device == "cuda" else {}
        self.optimizer = torch.optim.SGD(self.net.parameters(), 0.01, 0.9, weight_decay=1e-4, **fused)
        self.forward = nn.parallel.DistributedDataParallel(self.net) if args.ranks > 1 else self.net
        if args.way == "compiled":
            self.forward = torch.compile(self.forward, mode=args.compile_mode)
        self.precision = (lambda: torch.autocast(self.device, torch.bfloat16)) if args.bfloat16 \
            else contextlib.nullcontext
        self.run = self.captured() if args.way == "graph" else self.step

    def step(self):
        self.optimizer.zero_grad(set_to_none=True)
        with self.precision():
            loss = nn.functional.cross_entropy(self.forward(self.images), self.labels)
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

    def seconds(self, steps):
        seconds = []
        for _ in range(steps):
            start = time.perf_counter()
            self.run()
            if self.device == "cuda":
                torch.cuda.synchronize()
            seconds.append(time.perf_counter() - start)
        return seconds


def most_bytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def serve(step, rank, requests):
    """`requests` yields numbers of steps, equal on all ranks."""
    def say(**what):
        if rank == 0:
            print(json.dumps(what), flush=True)

    step.seconds(1)
    say(first_step_seconds=time.perf_counter() - BEGAN, torch=torch.__version__)
    step.seconds(2)
    for count in requests:
        say(seconds=step.seconds(count), most_bytes=most_bytes())


def run_rank(rank, args, requests):
    if args.threads:
        torch.set_num_threads(args.threads)
    for units in (torch.backends.cudnn, torch.backends.cuda.matmul):
        units.allow_tf32 = args.tf32
    torch.backends.cudnn.benchmark = True
    if args.ranks > 1:
        torch.distributed.init_process_group("gloo", init_method=f"file://{args.meet}", rank=rank,
                                             world_size=args.ranks)
    serve(TorchStep(args), rank, requests)


def other_rank(rank, args, queue):
    run_rank(rank, args, iter(queue.get, None))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", choices=MODELS)
    parser.add_argument("batch", type=int)
    parser.add_argument("--device", choices=["cpu", "gpu"], default="cpu")
    parser.add_argument("--threads", type=int, help="threads of each rank")
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--way", choices=["eager", "graph", "compiled"], default="eager")
    parser.add_argument("--compile-mode", default="default")
    parser.add_argument("--steps", type=int)
    parser.add_argument("--channels-last", action="store_true")
    parser.add_argument("--bfloat16", action="store_true")
    parser.add_argument("--tf32", action="store_true")
    args = parser.parse_args()
    args.meet = f"/tmp/lockstep_peers_{os.getpid()}"
    counts = iter([args.steps]) if args.steps else (int(line) for line in sys.stdin)
    if args.ranks == 1:
        return run_rank(0, args, counts)
    spawned = torch.multiprocessing.get_context("spawn")
    queues = [spawned.Queue() for _ in range(args.ranks - 1)]
    others = [spawned.Process(target=other_rank, args=(n + 1, args, queue))
              for n, queue in enumerate(queues)]
    for other in others:
        other.start()

    def told_to_all():
        for count in counts:
            for queue in queues:
                queue.put(count)
            yield count
        for queue in queues:
            queue.put(None)

    try:
        run_rank(0, args, told_to_all())
        for other in others:
            other.join()
    finally:
        for other in others:
            other.kill()
        with contextlib.suppress(FileNotFoundError):
            os.remove(args.meet)


if __name__ == "__main__":
    main()
