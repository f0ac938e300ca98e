#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the compiled code of the kernels that take most of a step's time:

    check_gpu_code.py FOLDER_OF_CUDA OBJECT...

They store 16 bytes at once, use no local memory, and do not divide. OBJECT... are the objects of the
GPU kernels, disassembled for sm_90. Exit code 77: cuobjdump or nvdisasm is missing.
"""

import glob
import os
import re
import shutil
import subprocess
import sys

STORE, LOAD = "STG.E.128", "LDG.E.128"
DIVISION = re.compile(r"\b(I2F|MUFU\.RCP|CALL)")
TYPES = ["13__nv_bfloat16", "6__half"]
TILES = "ChannelTilesILi8E.*"

# A kernel's mangled name, with T for a type of 16 bits; a required instruction; True if it must not divide; the maximum
# number of instructions and of registers.
HOT = [
    ("PackedMaximumIT.*Li3ELb1E", STORE, True, None, 64),
    ("PackedMaximumGradIT.*Li3E", STORE, True, 250, 64),
    ("PackedMaximumGradIT.*Li2E", STORE, True, 250, 64),
    (TILES + "NormaliseIT.*Lb0E", STORE, True, None, 84),
    (TILES + "NormaliseIT.*Lb1E", STORE, True, None, 84),
    (TILES + "BackwardIT.*MaskE0E", STORE, True, None, 84),
    (TILES + "BackwardIT.*MaskE1E", STORE, True, None, 84),
    (TILES + "BackwardIT.*MaskE2E", STORE, True, None, 84),
    (TILES + "ShiftedSumsIT", LOAD, True, None, 84),
    (TILES + "GradientSumsIT.*MaskE1E", LOAD, False, None, 84),
    (TILES + "GradientSumsIT.*MaskE2E", LOAD, False, None, 84),
    (TILES + "SumAndSquaresIT", LOAD, True, None, 84),
    ("FoldIT.*4PlusELb0ELi2ELi8E", STORE, True, None, 64),
    ("run_packsI.*ColoursInnermostItE", STORE, False, None, 64),
    ("MapElementsIT.*Li8E", STORE, False, None, 64),
]


class Kernel:
    def __init__(self):
        self.instructions = []
        self.stack = self.registers = None


def tool(name, cuda):
    """Finds the tool next to nvcc, on PATH, or from PyPI (tools/python_oracles.sh)."""
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    oracles = os.path.join(root, "build/oracles/lib/python*/site-packages/nvidia/*/bin", name)
    for path in [os.path.join(cuda, name), shutil.which(name), *glob.glob(oracles)]:
        if path and os.access(path, os.X_OK):
            return path
    print(f"skipped: no {name}")
    sys.exit(77)


def kernels_of(objects, cuda):
    cuobjdump, nvdisasm = tool("cuobjdump", cuda), tool("nvdisasm", cuda)
    environment = dict(os.environ, NVDISASM_PATH=os.path.dirname(nvdisasm))
    kernels = {}

    def output(option, file):
        command = [cuobjdump, option, "-arch", "sm_90", file]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}: {done.stderr.strip()}")
        return done.stdout.splitlines()

    for file in objects:
        name = None
        for line in output("-res-usage", file):
            if found := re.search(r"Function (\S+):", line):
                name = found[1]
            elif found := re.search(r"REG:(\d+) STACK:(\d+)", line):
                kernel = kernels.setdefault(name, Kernel())
                kernel.registers, kernel.stack = int(found[1]), int(found[2])
        for line in output("-sass", file):
            if found := re.search(r"Function : (\S+)", line):
                name = found[1]
            elif found := re.match(r"\s*/\*[0-9a-f]{4,}\*/\s+(.*?);", line):
                if found[1].split()[0] != "NOP":
                    kernels.setdefault(name, Kernel()).instructions.append(found[1])
    return kernels


def complaints(kernel, instruction, never_divides, most, registers):
    code = "\n".join(kernel.instructions)
    if instruction not in code:
        yield f"has no {instruction}"
    if kernel.stack or re.search(r"\b(LDL|STL)\b", code):
        yield f"uses local memory: {kernel.stack} bytes"
    if never_divides and (found := DIVISION.search(code)):
        yield f"divides: {found[0]}"
    if most and len(kernel.instructions) >= most:
        yield f"has {len(kernel.instructions)} instructions, should have less than {most}"
    if kernel.registers > registers:
        yield f"has {kernel.registers} registers, should have {registers} at most"


def main():
    cuda, objects = sys.argv[1], [file for file in sys.argv[2:] if "_cuda.cu" in file]
    kernels = kernels_of(objects, cuda)
    failures = 0
    for pattern, *wanted in HOT:
        for kind in TYPES:
            names = [name for name in kernels if re.search(pattern.replace("IT", "I" + kind), name)]
            if not names:
                print(f"no kernel is {pattern} of {kind}")
                failures += 1
            for name in names:
                kernel = kernels[name]
                print(f"{len(kernel.instructions):5} instructions, {kernel.registers:3} registers: "
                      f"{pattern} of {kind}")
                for complaint in complaints(kernel, *wanted):
                    print(f"{name} {complaint}")
                    failures += 1
    sys.exit(f"{failures} failures" if failures else 0)


if __name__ == "__main__":
    main()
