# SPDX-License-Identifier: Apache-2.0
"""Stage d: a training step beside PyTorch's in bfloat16, taking turns."""
import json
import os
import statistics
import sys

from . import machine, steps

WAYS = {"gpu": ("eager", "graph", "compiled"), "cpu": ("eager",)}


def our_seconds(part, args):
    return [steps.train_step(args, part.log_of("Lockstep"), part.left(), steps.large_step(args), True)["seconds"]]


def torch_seconds(part, args, way):
    text = steps.output_or_raise(
        [sys.executable, os.path.join(machine.BENCH, "peers.py"), args.model, str(args.batch),
         "--steps", str(args.steps), "--way", way, "--device", args.device, "--channels-last",
         "--bfloat16", "--tf32", "--compile-mode", args.compile_mode],
        part.log_of(f"PyTorch {way}"), part.left())
    return json.loads(steps.last_json_line(text))["seconds"]


def stage_d(part, args):
    part.start_over()
    ways = {"Lockstep": lambda: our_seconds(part, args)}
    for way in WAYS[args.device]:
        ways[f"PyTorch {way}"] = lambda way=way: torch_seconds(part, args, way)
    seconds, left_out, late = {}, {}, False
    for _ in range(args.rounds):
        for name, run in ways.items():
            if late or name in left_out:
                continue
            try:
                seconds.setdefault(name, []).append(statistics.median(run()))
            except TimeoutError:
                late = True
            except steps.StepFailed as error:  # one that cannot run here is named, and the others go on
                left_out[name] = str(error)
    report(part, args, {name: times for name, times in seconds.items() if times}, left_out, late)


def report(part, args, seconds, left_out, late):
    medians = {name: statistics.median(times) for name, times in seconds.items()}
    lines = [f"{args.model}, batch {args.batch}, bfloat16"
             + (", stopped: the stage's time is over" if late else "")]
    lines += [f"  {name:24} {value * 1e3:10.2f} ms {args.batch / value:10.1f} images/s, "
              f"median of {len(seconds[name])} rounds" for name, value in medians.items()]
    lines += [f"  {name:24} left out: {why}" for name, why in left_out.items()]
    peers = {name: value for name, value in medians.items() if name != "Lockstep"}
    ratio = None
    if peers and "Lockstep" in medians:
        best = min(peers, key=peers.get)
        ratio = peers[best] / medians["Lockstep"]
        lines.append(f"  Lockstep against the best of PyTorch ({best}): {ratio:.2f}x")
    # Fewer rounds are a result, too; one without both sides is none.
    part.add("beside PyTorch", lines, failed="Lockstep" in left_out, late=late and ratio is None,
             seconds=seconds, left_out=left_out, ratio=ratio)
