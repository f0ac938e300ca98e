#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One way to take a training step in PyTorch; tools/bench/suite.py starts one process for each.

    torch_step.py MODEL BATCH THREADS [--compiled] [--channels-last] [--bfloat16] [--ranks N]

Prints a line of JSON when the first step is done, then reads numbers: for each it takes so many steps
and prints a line with their seconds. With several ranks the batch is shared out over as many
processes, whose gradients DistributedDataParallel sums over Gloo.
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
    sys.exit("torch_step: this Python has no torch (Debian: apt-get install python3-torch, then "
             "/usr/bin/python3; or pip install torch)")

from torch_networks import MODELS, images_of


class TorchStep:
    """The network, its batch of random images, momentum SGD with weight decay."""

    def __init__(self, model, batch, channels_last=False, compiled=False, bfloat16=False, ranks=1):
        layout = torch.channels_last if channels_last else torch.contiguous_format
        shape, classes = images_of(model)
        self.net = MODELS[model]().train().to(memory_format=layout)
        self.images = torch.rand(batch, *shape).to(memory_format=layout)
        self.labels = torch.randint(0, classes, (batch,))
        self.optimizer = torch.optim.SGD(self.net.parameters(), 0.01, 0.9, weight_decay=1e-4)
        self.forward = nn.parallel.DistributedDataParallel(self.net) if ranks > 1 else self.net
        if compiled:
            self.forward = torch.compile(self.forward)
        self.precision = (lambda: torch.autocast("cpu", torch.bfloat16)) if bfloat16 \
            else contextlib.nullcontext

    def __call__(self):
        self.optimizer.zero_grad(set_to_none=True)
        with self.precision():
            loss = nn.functional.cross_entropy(self.forward(self.images), self.labels)
        loss.backward()
        self.optimizer.step()

    def seconds(self, steps):
        seconds = []
        for _ in range(steps):
            start = time.perf_counter()
            self()
            seconds.append(time.perf_counter() - start)
        return seconds


def most_bytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def serve(step, rank, requests):
    """`requests` yields numbers of steps, the same on all ranks."""
    def say(**what):
        if rank == 0:
            print(json.dumps(what), flush=True)

    step()
    say(first_step_seconds=time.perf_counter() - BEGAN, torch=torch.__version__)
    step()
    for count in requests:
        say(seconds=step.seconds(count), most_bytes=most_bytes())


def run_rank(rank, args, requests):
    torch.set_num_threads(args.threads)
    if args.ranks > 1:
        torch.distributed.init_process_group("gloo", init_method=f"file://{args.meet}", rank=rank,
                                             world_size=args.ranks)
    serve(TorchStep(args.model, args.batch // args.ranks, args.channels_last, args.compiled,
                    args.bfloat16, args.ranks), rank, requests)


def other_rank(rank, args, queue):
    run_rank(rank, args, iter(queue.get, None))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", choices=MODELS)
    parser.add_argument("batch", type=int)
    parser.add_argument("threads", type=int, help="of each rank")
    parser.add_argument("--compiled", action="store_true")
    parser.add_argument("--channels-last", action="store_true")
    parser.add_argument("--bfloat16", action="store_true")
    parser.add_argument("--ranks", type=int, default=1)
    args = parser.parse_args()
    args.meet = f"/tmp/torch_step_{os.getpid()}"
    counts = (int(line) for line in sys.stdin)
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
