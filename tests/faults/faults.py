#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Simulates faults of a disk, a file system and a network, one at a time, at any call of a small run.

  faults.py LOCKSTEP LIBRARY FOLDER [--schedules N | --all] [--seed S] [--only TEXT]

A schedule is one call that fails, stops short or is the process's last (faults.cc), in a new run, a
resumed run, or one rank of two. The disturbed run either finishes or reports the fault in one line,
with exit code 2 (1 if a rank was killed). Resuming the run gives the bits of an undisturbed run. The
seed draws N schedules, evenly over the kinds of calls; --all runs every schedule. Some runs are also
killed at random moments.
"""
import argparse
import json
import os
import pathlib
import random
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

CONFIG = """DEVICES: cpu
THREADS: 1
MODEL: {TYPE: mlp, HIDDEN: [8]}
DATA: {NAME: digits, TRAIN_SIZE: 40, TEST_SIZE: 20, THREADS: 1}
TRAIN: {BATCH_SIZE: 8, SNAPSHOT_ITERS: 2, LOG_ITERS: 3, DRIFT_ITERS: 3}
TEST: {ITERS: 2}
SOLVER: {BASE_LR: 0.02, MAX_ITER: 6}
"""
HOWS = {
    "write": ["ENOSPC", "ENOSPC+", "EIO", "EINTR", "short", "kill"],
    "sync": ["EIO", "ENOSPC", "EINTR", "kill"],
    "rename": ["EIO", "ENOSPC", "kill"],
    "create": ["ENOSPC", "EIO", "kill"],
    "read": ["EIO", "EINTR", "short"],
    "connect": ["ECONNREFUSED", "EINTR", "kill"],
}
FILES = ["checkpoint.safetensors", "best.safetensors", "best.onnx", "model.onnx"]
TIMES = ("time", "data_time", "images_per_second", "eta", "memory_mib", "queue")  # differ from run to run
PATIENCE = 60  # seconds; nothing may hang


class Failure(Exception):
    pass


def rows_of(run):
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return [{k: v for k, v in row.items() if k not in TIMES} for row in rows]


class Driver:
    def __init__(self, lockstep, faults, folder):
        self.lockstep = lockstep
        # LD_PRELOAD is separated by spaces, so the library needs a path without spaces.
        self.short_names = tempfile.TemporaryDirectory()
        self.faults = os.path.join(self.short_names.name, "faults.so")
        os.symlink(os.path.abspath(faults), self.faults)
        self.folder = pathlib.Path(folder)
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self.config = self.folder / "config.yaml"
        self.config.write_text(CONFIG)
        self.expected, self.rows = {}, {}

    def command(self, ranks, run, *more):
        train = [self.lockstep, "train", str(self.config), "OUTPUT_DIR", str(run), *more]
        if ranks == 1:
            return train
        return [self.lockstep, "launch", "-n", str(ranks), "--timeout", "10", "--",
                *train, "DEVICES", "cpu"]

    def call(self, command, environment=None, kill_after=None):
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 text=True, env={**os.environ, **(environment or {})})
        if kill_after is not None:
            time.sleep(kill_after)
            child.kill()
        try:
            out, err = child.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            child.kill()
            child.communicate()
            raise Failure(f"hangs for {PATIENCE} s") from None
        return child.returncode, out, err

    def preload(self, **more):
        return {"LD_PRELOAD": self.faults, **more}

    def must(self, command, environment=None):
        code, out, err = self.call(command, environment)
        if code != 0:
            raise Failure(f"{shlex.join(command)}: exit {code}: {err}{out}")

    def counts(self, command):
        """The number of calls of each kind in the process with the most calls."""
        path = self.folder / "counts"
        path.unlink(missing_ok=True)
        self.must(command, self.preload(LOCKSTEP_FAULT_COUNTS=str(path)))
        most = {}
        for line in path.read_text().splitlines():
            kind, count = line.split()
            most[kind] = max(most.get(kind, 0), int(count))
        return most

    def half(self, ranks):
        """A run that was killed after its fourth step. Tests resume copies of the run."""
        run = self.folder / f"half{ranks}"
        if run.exists():
            return run
        for last in range(self.renames, 0, -1):
            shutil.rmtree(run, ignore_errors=True)
            self.call(self.command(ranks, run), self.preload(LOCKSTEP_FAULT=f"rename:{last}:kill"))
            if b'"steps":"4"' in (run / "checkpoint.safetensors").read_bytes():
                return run
        raise Failure("no run could be killed before its end")

    def all_schedules(self):
        schedules = []
        for ranks, begins in ((1, "start"), (1, "resume"), (2, "start")):
            run = self.folder / f"counted_{ranks}_{begins}"
            more = []
            if begins == "resume":
                shutil.copytree(self.half(ranks), run)
                more = ["--resume"]
            counts = self.counts(self.command(ranks, run, *more))
            if begins == "start":
                self.renames = counts["rename"]
                self.expected[ranks] = {f: (run / f).read_bytes() for f in FILES}
                self.rows[ranks] = rows_of(run)
            for kind, count in counts.items():
                for number in range(1, count + 1):
                    for how in HOWS[kind]:
                        for rank in range(ranks):
                            schedules.append((ranks, begins, rank, f"{kind}:{number}:{how}"))
        return schedules

    def compare(self, run, ranks):
        for name, expected in self.expected[ranks].items():
            if (run / name).read_bytes() != expected:
                raise Failure(f"{name} differs from the undisturbed run")
        if rows_of(run) != self.rows[ranks]:
            raise Failure(f"metrics.jsonl differs from the undisturbed run:\n"
                          f"{rows_of(run)}\nand not\n{self.rows[ranks]}")

    def named(self, code, err, out, killed):
        if code in (-9, 137) and killed:
            return
        said = [line for line in (err + out).splitlines() if "lockstep: " in line]
        if code not in ((1, 2, 137) if killed else (2,)):
            raise Failure(f"exit {code}: {err}{out}")
        if not said or "internal error" in err + out or "terminate" in err + out:
            raise Failure(f"exit {code} without an error text: {err}{out}")

    def recover(self, run, ranks):
        command = self.command(ranks, run, "--resume", "auto")
        code, out, err = self.call(command)
        offer = re.search(r"continue from it with:  lockstep (.*)", err + out)
        if code == 2 and offer and ranks == 1:
            command = [self.lockstep, *shlex.split(offer.group(1))]
            code, out, err = self.call(command)
        if code != 0:
            raise Failure(f"cannot be resumed: {shlex.join(command)}: exit {code}: {err}{out}")

    def one(self, index, ranks, begins, rank, fault):
        run = self.folder / f"run{index}"
        more = []
        if begins == "resume":
            shutil.copytree(self.half(ranks), run)
            more = ["--resume"]
        environment = self.preload(LOCKSTEP_FAULT=fault)
        if ranks > 1:
            environment["LOCKSTEP_FAULT_RANK"] = str(rank)
        code, out, err = self.call(self.command(ranks, run, *more), environment)
        self.settle(code, out, err, run, ranks, "kill" in fault)

    def settle(self, code, out, err, run, ranks, killed):
        if code != 0:
            self.named(code, err, out, killed)
            self.recover(run, ranks)
        self.compare(run, ranks)
        shutil.rmtree(run)
        return code

    def killed_at_random(self, index, moment):
        run = self.folder / f"kill{index}"
        code, out, err = self.call(self.command(1, run), kill_after=moment)
        self.settle(code, out, err, run, 1, True)


def chosen(schedules, number, seed):
    """Draws evenly over the kinds of calls, and randomly within a kind."""
    groups = {}
    for schedule in schedules:
        key = (schedule[0], schedule[1], schedule[3].split(":")[0])
        groups.setdefault(key, []).append(schedule)
    lot = random.Random(seed)
    for group in groups.values():
        lot.shuffle(group)
    taken = []
    while len(taken) < number and any(groups.values()):
        for group in groups.values():
            if group and len(taken) < number:
                taken.append(group.pop())
    return taken


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("lockstep")
    parser.add_argument("faults")
    parser.add_argument("folder")
    parser.add_argument("--schedules", type=int, default=30)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kills", type=int, default=None, help="a tenth of the schedules")
    parser.add_argument("--only", default="", help="schedules whose text holds this")
    options = parser.parse_args()
    driver = Driver(os.path.abspath(options.lockstep), os.path.abspath(options.faults),
                    options.folder)
    schedules = [s for s in driver.all_schedules() if options.only in " ".join(map(str, s))]
    total = len(schedules)
    if not options.all:
        schedules = chosen(schedules, options.schedules, options.seed)
    kills = len(schedules) // 10 if options.kills is None else options.kills
    failures = 0
    start = time.time()
    for index, schedule in enumerate(schedules):
        try:
            driver.one(index, *schedule)
        except Failure as failure:
            failures += 1
            print("FAILED:", *schedule, "-", failure, flush=True)
    lot = random.Random(options.seed)
    for index in range(kills):
        moment = lot.uniform(0, 0.25)
        try:
            driver.killed_at_random(index, moment)
        except Failure as failure:
            failures += 1
            print(f"FAILED: killed after {moment:.3f} s - {failure}", flush=True)
    print(f"{len(schedules)} of {total} schedules and {kills} kills in {time.time() - start:.0f} s, "
          f"{failures} failed")
    return 1 if failures or not schedules else 0


if __name__ == "__main__":
    sys.exit(main())
