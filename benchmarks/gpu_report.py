#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests and measures Lockstep on this machine's GPU, in stages that fit a rented half hour.

    python3 benchmarks/gpu_report.py --out report [--stages ab]      from a build or a bundle (make bundle)

  a  4 min  doctor, tests of CUDA's libraries and of training, operators in bfloat16
  b  5 min  ResNet-50 at batch 256 in bfloat16: without and with timed engines, fed and resident,
            the host's share, time to the first step, profile; LeNet and the MLP
  c  3 min  the five slowest kernels under ncu, with the clocks as they are
  d  5 min  the same step beside PyTorch's: eager, as a CUDA graph, compiled
  e  6 min  operators in float32, TF32 and float16; some under compute-sanitizer
  f  2 min  a detector
  g  3 min  two processes on the one GPU, which NCCL sees as two hosts: bits, and a lost process
  h  4 min  an LSTM, a vision transformer from ONNX, and steps in TF32, each beside PyTorch's

Each stage writes its part (a.json, logs) into the folder as it goes, so a machine that is taken away
leaves all results until then; report.txt has all parts. A later call with the same folder runs
missing and failed stages; --stages repeats the stages that it names. Later stages use the engines
that stage b timed (engines.txt). Exit code 1: a test or a step failed; 2: no GPU. --device cpu
rehearses all stages.
"""
import argparse
import datetime
import os
import sys

from gpu import beside_pytorch, kernels, machine, part, processes, steps, tests

STAGES = {"a": (4, tests.stage_a), "b": (5, steps.stage_b), "c": (3, kernels.stage_c), "d": (5, beside_pytorch.stage_d),
          "e": (6, tests.stage_e), "f": (2, steps.stage_f),
          "g": (3, processes.stage_g), "h": (4, beside_pytorch.stage_h)}


def parse():
    lockstep, folder_of_tests, configs = machine.find_programs()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", default="gpu_report", help="folder to write to, and to continue from")
    parser.add_argument("--stages", "--stage", help="such as ab; by default all that are not complete")
    parser.add_argument("--device", choices=["gpu", "cpu"], default="gpu")
    parser.add_argument("--model", default="resnet50")
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--steps", type=int, default=20, help="timed steps of a run")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of stages d and h")
    parser.add_argument("--detector-iterations", type=int, default=100)
    parser.add_argument("--process-iterations", type=int, default=60, help="iterations of a run of stage g")
    parser.add_argument("--seconds-of-a-pair", type=float, default=40, help="time limit of a run of stage g")
    parser.add_argument("--further", nargs="*", metavar="MODEL", help="models of stage h",
                        default=["lstm", "vit_b16", "resnet50", "vgg16", "lenet", "mlp"])
    parser.add_argument("--imported", default="vit_b16", help="the network that stage h trains from an ONNX file")
    parser.add_argument("--imported-batch", type=int, default=64)
    parser.add_argument("--compile-mode", default="reduce-overhead", help="mode of torch.compile")
    parser.add_argument("--minutes", type=float, help="time limit of each stage, instead of the limits above")
    parser.add_argument("--lockstep", default=lockstep)
    parser.add_argument("--tests", default=folder_of_tests, help="folder of the test programs")
    parser.add_argument("--configs", default=configs)
    args = parser.parse_args()
    unknown = set(args.stages or "") - set(STAGES)
    if unknown:
        parser.error(f"--stages: there is no stage {' '.join(sorted(unknown))}; stages are {''.join(STAGES)}")
    return args


def check_machine(args):
    doctor = machine.output_of(args.lockstep, "doctor")
    if not doctor:
        sys.exit(f"gpu_report: {args.lockstep} does not run; make bundle or make build first")
    if args.device == "gpu" and "GPUs       0" in doctor:
        print("gpu_report: this machine has no GPU that Lockstep can use; --device cpu rehearses", file=sys.stderr)
        sys.exit(2)


def write_report(args):
    gpu = machine.output_of("nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader")
    lines = [f"{datetime.date.today().isoformat()}  {gpu or 'no GPU'}"]
    failed = []
    for stage in STAGES:
        found = part.read(args.out, stage)
        if not found:
            continue
        lines += ["", f"-- {stage}: {found['seconds']:.0f} s" + ("" if found["complete"] else ", not complete")]
        for item in found["items"]:
            lines += item["lines"]
            failed += [item["name"]] * item["failed"]
    with open(os.path.join(args.out, "report.txt"), "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    return failed


def wanted(args):
    if args.stages:
        return [stage for stage in STAGES if stage in args.stages]
    return [stage for stage in STAGES if not is_done(part.read(args.out, stage))]


def is_done(found):
    return bool(found) and found["complete"] and not any(item["failed"] for item in found["items"])


def main():
    args = parse()
    os.makedirs(args.out, exist_ok=True)
    check_machine(args)
    for stage in wanted(args):
        minutes, run = STAGES[stage]
        print(f"\n-- {stage}", flush=True)
        kept = [] if args.stages else part.settled(part.read(args.out, stage))
        found = part.Part(args.out, stage, minutes if args.minutes is None else args.minutes, kept)
        try:
            run(found, args)
            found.finish()
        except Exception as error:  # later stages continue
            found.add("stage", f"stopped: {type(error).__name__}: {error}", failed=True)
        write_report(args)
    failed = write_report(args)
    print(f"\n{os.path.join(args.out, 'report.txt')}" + (f"; FAILED: {', '.join(failed)}" if failed else ""))
    sys.exit(1 if failed else 0)


main()
