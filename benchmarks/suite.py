#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Training steps of Lockstep and of PyTorch on this machine, in one run and as one table.

    benchmarks/suite.py --python PYTHON_WITH_TORCH [--models resnet50:16,mlp:16] [--rounds 5]
                         [--bfloat16] [--exact] [--ranks 2]
                         [--json FILE] [--record FILE] [--picture FILE.svg]

The same network, batch, momentum SGD with weight decay; random images. Lockstep and all variants of
PyTorch (eager and compiled, both layouts) take turns, round after round, so that a busy machine
slows all equally; a variant's process waits until the last round. Medians count, against
PyTorch's fastest variant: a ratio of 1.23 means that Lockstep is 1.23 times as fast. Memory is the
peak of a process; the first step is timed from the start of its process. With --ranks N,
Lockstep has N replicas of one thread, PyTorch N processes with DistributedDataParallel. --exact is
for Lockstep: it computes convolutions directly, never by Winograd's method.
--record writes a file for `lockstep bench train-step --against FILE`. A run that is stopped (Ctrl-C,
SIGTERM) keeps the models and rounds that are complete, and ends with code 130.
"""
import argparse
import itertools
import json
import os
import signal
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
MODELS = "mlp:16,lenet:16,lenet:64,resnet18:16,resnet50:16,mobilenet_v2:16,vgg16:4,lstm:32"


class Peer:
    """A process of peers.py, which has done its first step."""

    def __init__(self, args, model, batch, options):
        self.process = subprocess.Popen(
            [args.python, f"{HERE}/peers.py", model, str(batch), "--threads", str(threads_of(args)),
             "--ranks", str(args.ranks), *options],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        first = self.answer()
        self.seconds, self.first, self.torch = [], first["first_step_seconds"], first["torch"]
        self.most_bytes = 0

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"peers.py ended with code {self.process.wait()}")
        return json.loads(line)

    def take(self, steps):
        self.process.stdin.write(f"{steps}\n")
        self.process.stdin.flush()
        answer = self.answer()
        self.seconds += answer["seconds"]
        self.most_bytes = answer["most_bytes"]

    def end(self):
        self.process.stdin.close()
        self.process.wait()


class Ours:
    """Runs of `lockstep bench train-step`."""

    def __init__(self, args, model, batch, precision):
        self.command = [args.lockstep, "bench", "train-step", "--json", "--model", model, "--batch",
                        str(batch), "--threads", str(threads_of(args)), "--precision", precision,
                        "--devices", f"cpu*{args.ranks}", *["--exact"] * args.exact]
        self.lines = []

    def take(self, steps):
        out = subprocess.run([*self.command, "--steps", str(steps)], check=True,
                             capture_output=True, text=True).stdout
        self.lines.append(json.loads(out))

    def median(self, what):
        return statistics.median(line[what] for line in self.lines)


def threads_of(args):
    return max(1, args.threads // args.ranks)


def steps_of(seconds):
    """The number of steps of a round: many if they are short."""
    return max(3, min(200, int(1 / seconds)))


def variants(bfloat16):
    for compiled, layout in itertools.product((False, True), repeat=2):
        name = ("compiled" if compiled else "eager") + (", channels_last" if layout else "")
        yield name, (["--way", "compiled"] * compiled + ["--channels-last"] * layout
                     + ["--bfloat16"] * bfloat16)


def start_peers(args, model, batch):
    peers = {}
    for name, options in variants(args.bfloat16):
        if model in ("mlp", "lstm") and "--channels-last" in options:
            continue  # these models have no image layout
        try:
            peers[name] = Peer(args, model, batch, options)
        except (RuntimeError, json.JSONDecodeError) as error:  # a compiler may be missing, or more
            print(f"{model}: PyTorch {name}: left out: {error}", file=sys.stderr)
    if not peers:
        sys.exit(f"suite: no variant of PyTorch can take a step of {model}")
    return peers


def compare(args, model, batch):
    precision = "bfloat16" if args.bfloat16 else "float32"
    ours, peers = Ours(args, model, batch, precision), start_peers(args, model, batch)
    rounds = 0
    try:
        while rounds < args.rounds:
            ours.take(steps_of(ours.median("seconds") if rounds else 0.5))
            for peer in peers.values():
                peer.take(steps_of(statistics.median(peer.seconds) if rounds else 0.5))
            rounds += 1
            print(f"{model} {batch}: round {rounds} of {args.rounds}", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        if not rounds:
            raise
    for peer in peers.values():
        peer.end()
    medians = {name: statistics.median(peer.seconds) for name, peer in peers.items()}
    best = min(medians, key=medians.get)
    return {"model": model, "batch": batch, "precision": precision, "ranks": args.ranks,
            "threads": threads_of(args), "torch": peers[best].torch,
            "seconds": ours.median("seconds"), "torch_seconds": medians, "torch_best": best,
            "exact": args.exact, "rounds": rounds, "ratio": medians[best] / ours.median("seconds"),
            "most_bytes": max(line["most_bytes"] for line in ours.lines),
            "torch_most_bytes": peers[best].most_bytes,
            "first_step_seconds": ours.median("first_step_seconds"),
            "torch_first_step_seconds": peers[best].first,
            "load": os.getloadavg()[0], "recorded": ours.lines[-1] | {
                "seconds": ours.median("seconds")}}


HEADER = ("| model, batch | Lockstep ms | PyTorch ms | fastest variant | ratio | MiB | PyTorch's MiB "
          "| first step s | PyTorch's |\n|---|---|---|---|---|---|---|---|---|")


def row_of(r):
    mib = 1 << 20
    return (f"| {r['model']} {r['batch']} | {1e3 * r['seconds']:.2f} "
            f"| {1e3 * r['torch_seconds'][r['torch_best']]:.2f} | {r['torch_best']} "
            f"| **{r['ratio']:.2f}** | {r['most_bytes'] // mib} | {r['torch_most_bytes'] // mib} "
            f"| {r['first_step_seconds']:.1f} | {r['torch_first_step_seconds']:.1f} |")


def picture_of(results):
    """Bars of the ratios, and a line at ratio 1."""
    unit, left, height = 160, 150, 26
    width = left + int(unit * max(2.0, *(r["ratio"] for r in results))) + 60
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" '
             f'height="{height * len(results) + 40}" font-family="sans-serif" font-size="13">'
             '<rect width="100%" height="100%" fill="white"/>']
    for n, r in enumerate(results):
        y, color = 10 + height * n, "#2a7f62" if r["ratio"] >= 1 else "#b5523b"
        parts.append(f'<text x="{left - 8}" y="{y + 15}" text-anchor="end">{r["model"]}, '
                     f'{r["batch"]}</text><rect x="{left}" y="{y}" height="{height - 6}" '
                     f'width="{unit * r["ratio"]:.0f}" fill="{color}"/>'
                     f'<text x="{left + unit * r["ratio"] + 6:.0f}" y="{y + 15}">'
                     f'{r["ratio"]:.2f}</text>')
    bottom = 10 + height * len(results)
    parts.append(f'<line x1="{left + unit}" x2="{left + unit}" y1="4" y2="{bottom}" stroke="#333" '
                 f'stroke-dasharray="4 3"/><text x="{left + unit}" y="{bottom + 18}" '
                 f'text-anchor="middle">as fast as PyTorch\'s fastest variant</text></svg>')
    return "\n".join(parts) + "\n"


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as lines:
        names = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else "unknown processor"


def write_files(args, results):
    for path, text in ((args.json, json.dumps(results, indent=1) + "\n"),
                       (args.record, "".join(json.dumps(r["recorded"]) + "\n" for r in results)),
                       (args.picture, picture_of(results))):
        if path:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default=sys.executable, help="a Python that has torch")
    parser.add_argument("--models", default=MODELS, help="NAME:BATCH,..")
    parser.add_argument("--bfloat16", action="store_true")
    parser.add_argument("--exact", action="store_true", help="Lockstep without Winograd's method")
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--lockstep", default=f"{ROOT}/build/release/lockstep")
    parser.add_argument("--json", help="write all figures")
    parser.add_argument("--record", help="write Lockstep's, for `lockstep bench train-step --against`")
    parser.add_argument("--picture", help="write an SVG")
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    results, models = [], args.models.split(",")
    print(f"{processor()}, {args.threads} threads, {'bfloat16' if args.bfloat16 else 'fp32'}"
          f"{' computed directly' if args.exact else ''}, "
          f"{args.ranks} replicas or ranks, medians of {args.rounds} rounds\n{HEADER}", flush=True)
    try:
        for name in models:
            model, batch = name.split(":")
            results.append(compare(args, model, int(batch)))
            print(row_of(results[-1]), flush=True)
            write_files(args, results)
            if results[-1]["rounds"] < args.rounds:
                break
    except KeyboardInterrupt:
        pass
    rounds = sum(r["rounds"] for r in results)
    if rounds < args.rounds * len(models):
        print(f"suite: stopped after {rounds} of {args.rounds * len(models)} rounds", file=sys.stderr)
        sys.exit(130)


main()
