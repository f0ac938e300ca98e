# SPDX-License-Identifier: Apache-2.0
"""Stages a and e: tests that only a GPU can show, in the order that finds most first."""
import os
import time

from . import machine
from .machine import LATE

# Kernels with shared memory, atomics, sums over blocks or packs; all operators would take too long.
SANITIZED = ":".join(f"Table/{table}.*" for table in (
    "BatchNorms", "Pool", "Losses", "Reduce", "Optimizer", "ManyUpdates", "Gathers"))
# Tests that call kernels of the CPU directly: no device changes them (tests/CMakeLists.txt has the same list).
ON_THE_CPU = "*/Collective.*:*/BatchNormVectors.*:TiledCopies.*:TopK.*:TurnedCopies.*:Im2col.*:Pointwise.*"
SANITIZERS = ("memcheck", "racecheck", "initcheck")


def operators_in(args, precision):
    variables = {"LOCKSTEP_CASE_DEVICE": args.device}
    left_out = ON_THE_CPU
    if precision != "float32":
        variables["LOCKSTEP_CASE_PRECISION"] = precision
        left_out += ":*Errors.*"  # cases without another precision are left to float32
    return (f"operators in {precision}", [os.path.join(args.tests, "operators_test"), f"--gtest_filter=-{left_out}"],
            variables)


def first_tests(args):
    cuda = os.path.join(args.tests, "cuda_test")
    if os.path.exists(cuda):
        yield "CUDA's libraries", [cuda], {}
    yield "training on the GPU", [os.path.join(args.tests, "runtime_test"), "--gtest_filter=Gpu.*"], {}
    yield operators_in(args, "bfloat16")


def further_tests(args):
    for precision in ("float32", "tf32", "float16"):
        yield operators_in(args, precision)
    sanitizer = machine.tool("compute-sanitizer")
    for name in SANITIZERS if sanitizer else ():
        yield (f"operators under {name}",
               [sanitizer, "--tool", name, "--error-exitcode", "9",
                os.path.join(args.tests, "operators_test"), f"--gtest_filter={SANITIZED}"],
               {"LOCKSTEP_CASE_DEVICE": args.device})


def run(part, args, tests):
    for name, command, variables in tests:
        if part.has(name) or part.late(name):
            continue
        start = time.monotonic()
        code, text = machine.run_logged([*command, "--gtest_brief=1"], part.log_of(name), part.left(),
                                        **variables)
        found = counts_of(text)
        part.add(name, line_of(name, time.monotonic() - start, code, found),
                 failed=code not in (0, LATE) or bool(found["failed_tests"]) or shows_nothing(args, code, found),
                 late=code == LATE,
                 exit_code=code, **found)


def shows_nothing(args, code, found):
    """True if a program skips all its tests on a GPU, which is an error."""
    return args.device == "gpu" and code == 0 and found["passed"] == 0


def counts_of(text):
    lines = text.splitlines()
    passed = [line.split()[3] for line in lines if line.startswith("[  PASSED  ]")]
    return {"passed": int(passed[-1]) if passed else 0,
            "skipped": max((int(line.split()[3]) for line in lines
                            if line.startswith("[  SKIPPED ]") and line.split()[3].isdigit()), default=0),
            "failed_tests": sorted({line.split("]")[1].split("(")[0].strip().rstrip(",")
                                    for line in lines if line.startswith("[  FAILED  ]")})}


def line_of(name, seconds, code, found):
    ending = f"{found['passed']} passed"
    if found["skipped"]:
        ending += f", {found['skipped']} skipped"
    if code == LATE:
        ending += ", stopped: the stage's time is over"
    elif code or found["failed_tests"]:
        names = " ".join(found["failed_tests"][:6]) or "see its log"
        ending += f", exit code {code}, failed: {names}"
    return f"{name:42} {seconds:7.1f} s  {ending}"


def stage_a(part, args):
    doctor = machine.output_of(args.lockstep, "doctor")
    if not part.has("doctor"):
        part.add("doctor", doctor.splitlines())
    run(part, args, first_tests(args))


def stage_e(part, args):
    if not machine.tool("compute-sanitizer") and not part.has("compute-sanitizer"):
        part.add("compute-sanitizer", "compute-sanitizer is not here: left out")
    run(part, args, further_tests(args))
