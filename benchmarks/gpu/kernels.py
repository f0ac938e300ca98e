# SPDX-License-Identifier: Apache-2.0
"""Stage c: the kernels that take most of a step, under the profiler of CUDA's toolkit."""
import csv
import os

from . import machine, steps

SLOWEST = 5
TIME = "gpu__time_duration.sum"
# The limits of a slow kernel: memory, arithmetic, or warps.
METRICS = {"dram__throughput.avg.pct_of_peak_sustained_elapsed": "% of memory",
           "sm__throughput.avg.pct_of_peak_sustained_elapsed": "% of arithmetic",
           "sm__warps_active.avg.pct_of_peak_sustained_active": "% of warps",
           "launch__registers_per_thread": "registers"}


def profiled(args, log, seconds):
    """Rows of kernels in the order of their launches. The clocks stay as they are."""
    table = log + ".csv"
    step = [args.lockstep, "bench", "train-step", "--devices", args.device,
            *steps.large_step(args, count=1)]
    code, text = machine.run_logged(
        [machine.tool("ncu"), "--clock-control", "none", "--metrics", ",".join([TIME, *METRICS]), "--csv", "--page",
         "raw", "--print-units", "base", "--force-overwrite", "--log-file", table, *step],
        log, seconds, LOCKSTEP_ENGINES=steps.engines_of(args))
    if code == machine.LATE:
        raise TimeoutError
    rows = rows_of(table)
    if code or not rows:
        raise steps.StepFailed(why(table, text) or f"exit code {code}")
    return rows


def rows_of(table):
    rows = list(csv.DictReader(line for line in lines_of(table) if line.startswith('"')))
    return rows[1:]  # the first row has the units


def lines_of(table):
    if not os.path.exists(table):
        return []
    with open(table, encoding="utf-8", errors="replace", newline="") as file:
        return file.read().splitlines()


def why(table, text):
    """The profiler's first error; some machines forbid its counters."""
    errors = [line for line in lines_of(table) + text.splitlines() if "==ERROR==" in line]
    return (errors + text.strip().splitlines()[-1:] + [""])[0]


def number(text):
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return 0.0  # not counted


def time_of(row):
    return number(row[TIME]) * 1e-9


def slowest_of(rows):
    """Rows of each kernel, for the kernels that take most time in all their launches."""
    kinds = {}
    for row in rows:
        kinds.setdefault(row["Kernel Name"], []).append(row)
    return sorted(kinds.values(), key=lambda launches: -sum(map(time_of, launches)))[:SLOWEST]


def stage_c(part, args):
    part.start_over()
    if not machine.tool("ncu"):
        part.add("profiler", "ncu is not here: left out")
        return
    name = "times of all kernels"
    try:
        # Times the engines first: timing would launch kernels, too.
        steps.train_step(args, part.log_of("engines"), part.left(), steps.large_step(args), True)
        ranked = slowest_of(profiled(args, part.log_of(name), part.left()))
        part.add(name, f"{name:42} the {len(ranked)} slowest of one run, warm-up included",
                 kernels=[launches[0]["Kernel Name"] for launches in ranked])
        for place, launches in enumerate(ranked, 1):
            longest = max(launches, key=time_of)
            kernel, seconds = longest["Kernel Name"], sum(map(time_of, launches))
            values = {metric: number(longest[metric]) for metric in METRICS}
            shown = ", ".join(f"{values[metric]:.0f} {unit}" for metric, unit in METRICS.items())
            part.add(f"slowest kernel {place}",
                     [f"{seconds * 1e3:9.3f} ms in {len(launches):4} launches: {kernel[:150]}",
                      f"            the longest: {time_of(longest) * 1e6:.1f} us, {shown}"],
                     kernel=kernel, seconds=seconds, launches=len(launches), values=values)
    except TimeoutError:
        part.add("profiler", f"{'profiler':42} stopped: the stage's time is over", late=True)
    except steps.StepFailed as error:
        forbidden = "ERR_NVGPUCTRPERM" in str(error)
        part.add("profiler", f"{'profiler':42} {'left out' if forbidden else 'failed'}: {error}",
                 failed=not forbidden)
