#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Damages models, configurations and files of runs, and runs one command on each. The command must exit
with 0 or 2 (`diff` also with 1), within 10 s of CPU time and 1 GiB plus four times the file of memory.

Usage: mutate.py LOCKSTEP_BINARY [--files N] [--seed N] [--jobs N] [--keep DIR] [--only INDEX]

The seed and the index of a file determine everything, so --only repeats a single case. Failing cases
are kept in DIR with their command. Needs nothing but Python.
"""

import sys

sys.dont_write_bytecode = True  # leaves no files in the source folder

import argparse
import concurrent.futures
import dataclasses
import os
import pathlib
import random
import resource
import shlex
import shutil
import subprocess
import tempfile
import threading
import time

from cases import make_kinds

SECONDS = 10
MEMORY = 1 << 30
PATIENCE = 120  # seconds of wall-clock time; nothing may hang
STEPS_BEGAN = b" images a step -> "  # the message of training before its first step


@dataclasses.dataclass
class Result:
    kind: str
    said: bytes
    status: int
    seconds: float  # of CPU time
    wall: float
    memory: int
    hung: bool
    allowed: tuple  # exit codes
    wrong: str = ""
    long: bool = False  # spent the time on steps that the file requests validly

    def judge(self, size):
        code = os.waitstatus_to_exitcode(self.status)
        slow = self.seconds > SECONDS
        self.long = slow and not self.hung and STEPS_BEGAN in self.said
        if self.hung:
            self.wrong = "hung for %d s" % PATIENCE
        elif slow:
            self.wrong = "" if self.long else "%.1f s" % self.seconds
        elif code < 0:
            self.wrong = "signal %d" % -code
        elif code not in self.allowed:
            self.wrong = "exit %d" % code
        elif code == 2 and not self.said.strip():
            self.wrong = "exit 2 without a word"
        if not self.wrong and self.memory > MEMORY + 4 * size:
            self.wrong = "%d MiB" % (self.memory >> 20)
        elif not self.wrong and any(byte < 32 and byte not in b"\n\t" for byte in self.said):
            self.wrong = "control characters in what it said"


class Driver:
    def __init__(self, options, work):
        self.options, self.work = options, work
        self.kinds = make_kinds(options.binary, work)

    def run(self, index):
        lot = random.Random("%d/%d" % (self.options.seed, index))
        shares, *_ = zip(*self.kinds)
        _, kind, maker = lot.choices(self.kinds, shares)[0]
        folder = self.work / str(index)
        folder.mkdir()
        name, command = maker.make(lot, folder)
        size = max(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        command = [str(word).replace("\0", "") for word in command]
        result = self.watch(kind, command, folder)
        result.judge(size)
        if result.wrong:
            text = "file %d (%s: %s): lockstep %s: %s\n    %s" % (
                index, kind, name, shlex.join(command), result.wrong,
                result.said.decode(errors="replace").strip().replace("\n", "\n    ")[-600:])
            result.wrong = text.encode("ascii", "backslashreplace").decode()
            self.keep(index, folder, result.wrong)
        shutil.rmtree(folder)
        return result

    def keep(self, index, folder, text):
        """The command's working folder after the command."""
        if not self.options.keep:
            return
        kept = pathlib.Path(self.options.keep) / str(index)
        shutil.rmtree(kept, ignore_errors=True)
        shutil.copytree(folder, kept, symlinks=False)
        (kept / "command.txt").write_text(text + "\n")

    def watch(self, kind, command, folder):
        def limit():
            resource.setrlimit(resource.RLIMIT_CPU, (SECONDS + 2, SECONDS + 3))
            resource.setrlimit(resource.RLIMIT_AS, (4 * MEMORY, 4 * MEMORY))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        hung = threading.Event()
        start = time.monotonic()
        with open(folder / "said", "wb") as said:
            process = subprocess.Popen([self.options.binary, *command], stdout=said,
                                       stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                       preexec_fn=limit, cwd=folder,
                                       env=dict(os.environ, LOCKSTEP_MEMORY="700M"))

            def lose_patience():
                hung.set()
                process.kill()
            timer = threading.Timer(PATIENCE, lose_patience)
            timer.start()
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = 0
            timer.cancel()
        return Result(kind, (folder / "said").read_bytes(), status, usage.ru_utime + usage.ru_stime,
                      time.monotonic() - start, usage.ru_maxrss * 1024, hung.is_set(),
                      (0, 1, 2) if command[0] == "diff" else (0, 2))


def counted(results):
    codes = [os.waitstatus_to_exitcode(r.status) for r in results if not r.wrong and not r.long]
    return "%d files: %d exit 0, %d differ, %d exit 2, %d asked for long work, %d wrong" % (
        len(results), codes.count(0), codes.count(1), codes.count(2), sum(r.long for r in results),
        sum(bool(r.wrong) for r in results))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("binary", type=os.path.abspath)
    parser.add_argument("--files", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--keep", help="folder for what fails")
    parser.add_argument("--only", type=int, help="the number of one file")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="lockstep-mutate-") as work:
        driver = Driver(options, pathlib.Path(work))
        numbers = range(options.files) if options.only is None else [options.only]
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            results = list(pool.map(driver.run, numbers))
    wrong = [result.wrong for result in results if result.wrong]
    print("\n".join(wrong[:20]))
    for kind in sorted({result.kind for result in results}):
        print("%-14s" % kind, counted([result for result in results if result.kind == kind]))
    print("%s; at most %.1f s of CPU time, %.1f s, %d MiB" % (
        counted(results), max(r.seconds for r in results), max(r.wall for r in results),
        max(r.memory for r in results) >> 20))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
