#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The cost of --trace: steps of one session with and without a trace, in turns.

    benchmarks/trace_cost.py [--lockstep FILE] [--rounds 5] [--most 2] [--json FILE]

Each row is the median over the rounds. Ends with code 1 if a trace costs more than --most per cent
of a step.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Model, batch, devices, processes, steps. Small steps show the cost of each operator's two looks at
# the clock; messages between processes have their own times.
CASES = [("mlp", 256, "cpu", 1, 401), ("mlp", 256, "cpu*2", 1, 401), ("lenet", 64, "cpu", 1, 201),
         ("lenet", 64, "cpu*2", 1, 201), ("lenet", 64, "cpu", 2, 201), ("resnet18", 4, "cpu*2", 1, 21)]


def measured(lockstep, case):
    model, batch, devices, processes, steps = case
    command = [lockstep, "bench", "trace-cost", "--model", model, "--batch", str(batch), "--devices",
               devices, "--threads", "1", "--steps", str(steps), "--json"]
    if processes > 1:
        command = [lockstep, "launch", "-n", str(processes), "--", *command]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return json.loads(out[out.index("{"):])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--lockstep", default=f"{ROOT}/build/release/lockstep")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--most", type=float, default=2, help="per cent of a step")
    parser.add_argument("--json", help="file for the rows")
    args = parser.parse_args()
    rounds = [[measured(args.lockstep, case) for case in CASES] for _ in range(args.rounds)]
    rows, worst = [], 0
    print("  ms a step    traced    cost %  model, batch, devices")
    for number, (model, batch, devices, processes, _) in enumerate(CASES):
        of_case = [of_round[number] for of_round in rounds]
        plain, traced, cost = (statistics.median(line[what] for line in of_case)
                               for what in ("seconds", "traced_seconds", "cost"))
        where = f"{processes} x {devices}" if processes > 1 else devices
        print(f"{1e3 * plain:11.3f}{1e3 * traced:10.3f}{100 * cost:10.2f}  {model}, {batch}, {where}")
        rows.append({"model": model, "batch": batch, "devices": where, "seconds": plain,
                     "traced_seconds": traced, "cost": cost})
        worst = max(worst, cost)
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)
    return 1 if 100 * worst > args.most else 0


if __name__ == "__main__":
    sys.exit(main())
