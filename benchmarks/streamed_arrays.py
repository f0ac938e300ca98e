#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Training on arrays that stay in their files, compared with arrays in memory, in one run.

    benchmarks/streamed_arrays.py [--lockstep build/release/lockstep] [--gib 1.5] [--rounds 5]
                                  [--only rows|quick|narrow|pictures] [--folder /var/tmp]

Writes sets of arrays and trains a small network on each by `lockstep train`, in turns with and without
LOCKSTEP_MEMORY=512M, in the default random order:

  rows      a table of 256 float32, a perceptron with two hidden layers of 1024
  quick     the same table, a perceptron with two hidden layers of 256
  narrow    a table of 16 float32, a perceptron with two hidden layers of 64, batches of 1024
  pictures  3 x 32 x 32 bytes, a convolutional network

Prints the medians over the rounds of the examples per second, without the first window of steps, and of
the processor time for a thousand examples, without the start (the difference of a long and a short run);
and the largest resident memory of the process, which does not count the system's cache of file pages. The
files were just written, so they are in this cache if the machine has room for them. They are deleted at
the end.
"""
import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import torch
    from torch import nn
except ImportError as error:
    sys.exit(f"streamed_arrays: {error} (Debian: apt-get install python3-torch, then /usr/bin/python3)")

CLASSES, WINDOW = 10, 50


class Pictures(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(),
            nn.MaxPool2d(2), nn.Flatten(), nn.Linear(64 * 64, CLASSES))

    def forward(self, x):
        return self.net(x.float() / 255)


def perceptron(width, hidden):
    return nn.Sequential(nn.Linear(width, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(),
                         nn.Linear(hidden, CLASSES))


# The network, the shape and type of an example, the batch and the number of steps.
KINDS = {"rows": (lambda: perceptron(256, 1024), (256,), np.float32, 256, 250),
         "quick": (lambda: perceptron(256, 256), (256,), np.float32, 256, 450),
         "narrow": (lambda: perceptron(16, 64), (16,), np.float32, 1024, 450),
         "pictures": (Pictures, (3, 32, 32), np.uint8, 64, 150)}


def write_set(folder, shape, dtype, count):
    """Writes x.npy and y.npy; a pool of random numbers is enough, since nothing depends on the values."""
    draws = np.random.default_rng(1)
    pool = (draws.integers(0, 256, (4096, *shape)).astype(dtype) if dtype == np.uint8 else
            draws.normal(size=(4096, *shape)).astype(dtype))
    folder.mkdir()
    x = np.lib.format.open_memmap(folder / "x.npy", "w+", dtype, (count, *shape))
    for at in range(0, count, len(pool)):
        x[at:at + len(pool)] = pool[:count - at]
    x.flush()
    np.save(folder / "y.npy", draws.integers(0, CLASSES, count))


def prepare(folder, kind, size):
    make, shape, dtype, batch, steps = KINDS[kind]
    torch.manual_seed(1)
    example = torch.zeros(2, *shape, dtype=torch.uint8 if dtype == np.uint8 else torch.float32)
    torch.onnx.export(make(), example, folder / f"{kind}.onnx", input_names=["x"], output_names=["scores"],
                      opset_version=16, dynamic_axes={"x": {0: "N"}},
                      training=torch.onnx.TrainingMode.PRESERVE, do_constant_folding=False)
    data, test = folder / kind, folder / f"{kind}_test"
    count = int(size // (np.dtype(dtype).itemsize * np.prod(shape)))
    write_set(data, shape, dtype, count)
    write_set(test, shape, dtype, batch)
    (folder / f"{kind}.yaml").write_text(
        f"MODEL: {{ONNX: {folder}/{kind}.onnx, LOSS: {{cross_entropy: [scores, y]}}}}\n"
        f"DATA: {{NAME: arrays, TRAIN: {data}, TEST: {test}}}\n"
        f"TRAIN: {{BATCH_SIZE: {batch}, LOG_ITERS: {WINDOW}, SNAPSHOT_ITERS: 1000000}}\n"
        f"TEST: {{ITERS: 1000000}}\nSOLVER: {{BASE_LR: 0.01, MAX_ITER: {steps}}}\n")
    return count


def train(lockstep, folder, kind, limit, steps):
    """Seconds of a step, seconds of processor time, and MiB."""
    run = folder / "run"
    shutil.rmtree(run, ignore_errors=True)
    environment = os.environ | ({"LOCKSTEP_MEMORY": limit} if limit else {})
    with open(folder / "log", "w", encoding="utf8") as log:
        # Linux counts the memory of the program that starts another one; a shell has little.
        process = subprocess.Popen(["sh", "-c", '"$@"; exit $?', "sh", lockstep, "train", folder / f"{kind}.yaml",
                                    "OUTPUT_DIR", run, "SOLVER.MAX_ITER", str(steps)], env=environment,
                                   stdout=log, stderr=log)
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit((folder / "log").read_text())
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    windows = [row["time"] for row in rows if "time" in row]
    return (statistics.median(windows[1:] or windows), usage.ru_utime + usage.ru_stime,
            max(row["memory_mib"] for row in rows if "time" in row))


def measure(lockstep, folder, kind, limit):
    """Examples per second, seconds of processor time for a thousand examples, and MiB."""
    batch, steps = KINDS[kind][3:]
    step, long, memory = train(lockstep, folder, kind, limit, steps)
    _, short, _ = train(lockstep, folder, kind, limit, WINDOW)
    return batch / step, (long - short) / (batch * (steps - WINDOW)) * 1000, memory


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lockstep", default=root / "build/release/lockstep")
    parser.add_argument("--gib", type=float, default=1.5)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--limit", default="512M")
    parser.add_argument("--only", choices=KINDS)
    parser.add_argument("--folder", default="/var/tmp")
    args = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(dir=args.folder))
    try:
        for kind in [args.only] if args.only else KINDS:
            count = prepare(folder, kind, args.gib * 2**30)
            results = {"": [], args.limit: []}
            for _ in range(args.rounds):
                for limit, found in results.items():
                    found.append(measure(args.lockstep, folder, kind, limit))
            shutil.rmtree(folder / kind)
            print(f"{kind}: {count} examples, {args.gib} GiB")
            for limit, found in results.items():
                speed, processor = (statistics.median(column) for column in list(zip(*found))[:2])
                print(f"  {'from files' if limit else 'in memory':10}  {speed:9.0f} examples/s  "
                      f"{1e3 * processor:7.1f} ms of processor time per 1000  "
                      f"{max(row[2] for row in found):6.0f} MiB resident at most")
            ratio = [streamed[0] / held[0] for held, streamed in zip(*results.values())]
            print(f"  speed from files / in memory: {statistics.median(ratio):.3f} "
                  f"({min(ratio):.3f} to {max(ratio):.3f})", flush=True)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
