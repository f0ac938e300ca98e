# SPDX-License-Identifier: Apache-2.0
"""Stages d and h: training steps of Lockstep and of PyTorch, which take turns."""
import dataclasses
import json
import os
import statistics
import sys

from . import imported, machine, steps


@dataclasses.dataclass
class Case:
    model: str
    batch: int
    precision: str  # of `bench train-step`; tf32: float32 with products that may be rounded to TF32
    ways: tuple  # PyTorch's
    imported: bool = False  # Lockstep trains a file that PyTorch exports

    def name(self):
        return f"{self.model}, batch {self.batch}, {self.precision}"


def first_case(args):
    return Case(args.model, args.batch, "bfloat16", ("eager", "graph", "compiled"))


def further_cases(args):
    smaller = max(1, args.batch // 4)
    cases = [Case("lstm", 32, "float32", ("graph",)), Case("lstm", 32, "tf32", ("graph",)),
             Case(args.imported, args.imported_batch, "bfloat16", ("graph", "compiled"), imported=True),
             Case("resnet50", smaller, "tf32", ("graph",)), Case("vgg16", smaller, "tf32", ("graph",)),
             Case("lenet", 64, "tf32", ("graph",)), Case("mlp", 64, "tf32", ("graph",))]
    return [case for case in cases if case.model in args.further]


def our_seconds(part, args, case):
    if case.imported:
        return [imported.seconds_of_a_step(part, args, case)]
    precision = ["--tf32"] if case.precision == "tf32" else ["--precision", case.precision]
    options = ["--model", case.model, "--batch", str(case.batch), "--steps", str(args.steps), *precision]
    log = part.log_of(f"{case.name()} Lockstep")
    return [steps.train_step(args, log, part.left(), options, engines=True)["seconds"]]


def torch_seconds(part, args, case, way):
    precision = {"bfloat16": ["--bfloat16", "--tf32"], "tf32": ["--tf32"], "float32": []}[case.precision]
    text = steps.output_or_raise(
        [sys.executable, os.path.join(machine.BENCH, "peers.py"), case.model, str(case.batch),
         "--steps", str(args.steps), "--way", way, "--device", args.device, "--channels-last",
         *precision, "--compile-mode", args.compile_mode],
        part.log_of(f"{case.name()} PyTorch {way}"), part.left())
    return json.loads(steps.last_json_line(text))["seconds"]


def compare(part, args, case):
    ways = {"Lockstep": lambda: our_seconds(part, args, case)}
    for way in case.ways if args.device == "gpu" else ("eager",):
        ways[f"PyTorch {way}"] = lambda way=way: torch_seconds(part, args, case, way)
    seconds, left_out, late = {}, {}, False
    for _ in range(args.rounds):
        for name, run in ways.items():
            if late or name in left_out:
                continue
            try:
                seconds.setdefault(name, []).append(statistics.median(run()))
            except TimeoutError:
                late = True
            except steps.StepFailed as error:  # a failed program is named, and the others continue
                left_out[name] = str(error)
    report(part, case, {name: times for name, times in seconds.items() if times}, left_out, late)


def report(part, case, seconds, left_out, late):
    medians = {name: statistics.median(times) for name, times in seconds.items()}
    lines = [case.name() + (", stopped: the stage's time is over" if late else "")]
    lines += [f"  {name:24} {value * 1e3:10.2f} ms {case.batch / value:10.1f} examples/s, "
              f"median of {len(seconds[name])} rounds" for name, value in medians.items()]
    lines += [f"  {name:24} left out: {why}" for name, why in left_out.items()]
    peers = {name: value for name, value in medians.items() if name != "Lockstep"}
    ratio = None
    if peers and "Lockstep" in medians:
        best = min(peers, key=peers.get)
        ratio = peers[best] / medians["Lockstep"]
        lines.append(f"  Lockstep against the best of PyTorch ({best}): {ratio:.2f}x")
    # Fewer rounds are a result, too; without both sides there is no result.
    part.add(case.name(), lines, failed="Lockstep" in left_out, late=late and ratio is None,
             seconds=seconds, left_out=left_out, ratio=ratio)


def stage_d(part, args):
    part.start_over()
    compare(part, args, first_case(args))


def stage_h(part, args):
    for case in further_cases(args):
        if not part.has(case.name()) and not part.late(case.name()):
            compare(part, args, case)
