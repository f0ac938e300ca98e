#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gdb with tools/gdb/lockstep.py prints each value as the program does: check_printers.py PROGRAM PRINTERS
Exit code 77: no gdb, or gdb may not trace programs on this machine."""
import re
import shutil
import subprocess
import sys

program, printers = sys.argv[1:]
if not shutil.which("gdb"):
    print("skipped: gdb is not installed")
    sys.exit(77)

lines = subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines()
expected = dict(line.rsplit(" = ", 1) for line in lines)
if len(expected) < 20 or len(expected) != len(lines):
    sys.exit(f"{program} printed {len(lines)} values, {len(expected)} of them different")

# gdb's shell and its fixed address space add nothing here, and some containers forbid the latter.
commands = ["set startup-with-shell off", "set disable-randomization off", "set width 0", "break look_here", "run",
            "up-silently"]
for expression in expected:
    if expression == "seventh":  # the first variable of main's frame, after the arguments of pass
        commands.append("up-silently")
    commands += [f"echo @{expression} =\\040", f"output {expression}", "echo \\n"]
arguments = [part for command in commands for part in ("-ex", command)]
seen = subprocess.run(["gdb", "-nx", "-batch", "-x", printers, *arguments, program], stdin=subprocess.DEVNULL,
                      capture_output=True, text=True, timeout=120)
everything = seen.stdout + seen.stderr
if re.search(r"ptrace: Operation not permitted|Could not trace the inferior process", everything):
    print("skipped: gdb may not trace a program here (ptrace: Operation not permitted)")
    sys.exit(77)

printed = dict(line[1:].split(" = ", 1) for line in seen.stdout.splitlines() if line.startswith("@") and " = " in line)
wrong = 0
for expression, text in expected.items():
    value = re.sub(r"^\(const lockstep::\w+ &\) @0x[0-9a-f]+: ", "", printed.get(expression, "nothing"))
    if value != text:
        print(f"{expression}: gdb prints {value}, the program {text}")
        wrong += 1
if wrong:
    print(everything)
    sys.exit(f"{wrong} of {len(expected)} values are printed otherwise")
print(f"gdb prints {len(expected)} values as the program does")
