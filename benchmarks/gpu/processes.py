# SPDX-License-Identifier: Apache-2.0
"""Stage g: two processes train on one GPU, which NCCL sees as two hosts.

NCCL refuses two processes that have the same host and the same GPU. With NCCL_HOSTID each process is a separate host;
the processes exchange by sockets and take turns on the GPU, so only bits matter, not times.
"""
import array
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

from . import machine

PATIENCE = 15  # seconds that a process waits for a lost one
LARGEST_DIFFERENCE = 1e-5  # of a sum in NCCL's order, relative to the largest parameter

ALONE = "one process, two replicas"
# Name, options of `train`. The first run is one process; `collective` has the same bits.
RUNS = {
    ALONE: ["--all-reduce", "collective"],
    "collective": ["--all-reduce", "collective"],
    "collective again": ["--all-reduce", "collective"],
    "collective, not packed": ["--all-reduce", "collective", "--packing", "none"],
    "collective, not recorded": ["--all-reduce", "collective", "RECORD", "false"],
    "nccl": ["--all-reduce", "nccl"],
    "nccl, not packed": ["--all-reduce", "nccl", "--packing", "none"],
    "nccl, not recorded": ["--all-reduce", "nccl", "RECORD", "false"],
    "xring": ["--all-reduce", "xring"],
    "nccl/xring": ["--all-reduce", "nccl/xring"],
}
IN_THE_ORDER_OF_NCCL = ("nccl", "nccl, not packed", "nccl, not recorded")


def environment(rank, ranks, job):
    host = {"NCCL_HOSTID": f"host{rank}", "NCCL_SOCKET_IFNAME": "lo", "NCCL_DEBUG": "WARN"}
    own = {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(ranks), "LOCAL_WORLD_SIZE": str(ranks),
           "LOCKSTEP_JOB": f"{os.getpid()}-{job}", "LOCKSTEP_TIMEOUT": str(PATIENCE)}
    return machine.environment(**host, **own)


class Ranks:
    """The processes of one run; each writes its own log."""

    def __init__(self, part, args, name, options, ranks=2):
        self.logs = [part.log_of(f"{name} rank {rank}") for rank in range(ranks)]
        self.processes = []
        for rank, log in enumerate(self.logs):
            with open(log, "w", encoding="utf-8") as file:
                self.processes.append(subprocess.Popen(
                    [args.lockstep, *options], stdout=file, stderr=subprocess.STDOUT,
                    env=environment(rank, ranks, re.sub(r"\W", "", name))))

    def wait(self, seconds):
        """Returns the exit codes; LATE for a process that has not ended by then."""
        end = time.monotonic() + max(1, seconds)
        codes = []
        for process in self.processes:
            try:
                codes.append(process.wait(max(0.1, end - time.monotonic())))
            except subprocess.TimeoutExpired:
                codes.append(machine.LATE)
        return codes

    def end(self):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
                process.wait()

    def text(self, rank):
        with open(self.logs[rank], encoding="utf-8", errors="replace") as file:
            return file.read()

    def last_line(self, rank):
        return (self.text(rank).strip().splitlines() or ["it printed nothing"])[-1]


def devices(args, replicas=1):
    return ("gpu:0" if args.device == "gpu" else args.device) + (f"*{replicas}" if replicas > 1 else "")


def training(args, folder, iterations, *options):
    return ["train", os.path.join(args.configs, "lenet_digits.yaml"), "DATA.TRAIN_SIZE", "2000", "DATA.TEST_SIZE", "200",
            "SOLVER.STEPS", "[0]", "SOLVER.MAX_ITER", str(iterations), "TEST.ITERS", str(iterations),
            "TRAIN.SNAPSHOT_ITERS", str(iterations), "OUTPUT_DIR", folder, *options]


def states_of(folder):
    """All bytes of a checkpoint's tensors, and the float32 ones as numbers, in the order of their names."""
    with open(os.path.join(folder, "checkpoint.safetensors"), "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(length))
        data = file.read()
    tensors = {name: (facts["dtype"], data[slice(*facts["data_offsets"])])
               for name, facts in sorted(header.items()) if name != "__metadata__"}
    numbers = array.array("f", b"".join(value for dtype, value in tensors.values() if dtype == "F32"))
    return tensors, numbers


def difference(folder, other):
    """The largest difference of two checkpoints' numbers, relative to the largest number; None: other tensors."""
    tensors, numbers = states_of(folder)
    others, other_numbers = states_of(other)
    if tensors == others:
        return 0.0

    def without_floats(all_tensors):
        return {name: value for name, value in all_tensors.items() if value[0] != "F32"}
    if (tensors.keys() != others.keys() or len(numbers) != len(other_numbers)
            or without_floats(tensors) != without_floats(others)):
        return None
    largest = max(abs(a - b) for a, b in zip(numbers, other_numbers)) / max(map(abs, numbers))
    return largest or sys.float_info.min  # 0 and -0 are equal numbers with different bits


def compared(name, found):
    """Returns True if a run's difference from one process is allowed, and a text about it."""
    if found is None:
        return False, "other tensors than one process"
    if found == 0:
        return True, "the bits of one process"
    allowed = LARGEST_DIFFERENCE if name in IN_THE_ORDER_OF_NCCL else 0
    return found <= allowed, f"differs from one process by {found:.1e}"


def train_ranks(part, args, name, options):
    folder, alone = (os.path.join(args.out, "g_" + re.sub(r"\W+", "_", run)) for run in (name, ALONE))
    shutil.rmtree(folder, ignore_errors=True)  # of an earlier call
    count = 1 if name == ALONE else 2
    ranks = Ranks(part, args, name, training(args, folder, args.process_iterations, "--devices",
                                             devices(args, 3 - count), *options), count)
    began = time.monotonic()
    try:
        codes = ranks.wait(min(part.left(), args.seconds_of_a_pair))
    finally:
        ranks.end()
    if any(codes):
        said = "; ".join(f"rank {rank}: {'late' if code == machine.LATE else code}: {ranks.last_line(rank)}"
                         for rank, code in enumerate(codes))
        part.add(name, f"{name:32} failed: {said}", failed=True)
        return
    loss = re.findall(r"loss +(\S+)", ranks.text(0))[-1]
    there = os.path.exists(os.path.join(alone, "checkpoint.safetensors"))
    right, said = compared(name, difference(folder, alone)) if there else (True, "not compared")
    part.add(name, f"{name:32} {time.monotonic() - began:6.1f} s, loss {loss}" + (f", {said}" if count > 1 else ""),
             failed=not right, loss=loss)


def lose_a_rank(part, args, algorithm):
    """Rank 1 is killed in the midst of recorded steps; rank 0 has to name it and to end."""
    name = f"{algorithm}, rank 1 killed"
    folder = os.path.join(args.out, "g_lost_" + algorithm)
    shutil.rmtree(folder, ignore_errors=True)
    pair = Ranks(part, args, name, training(args, folder, 1000000, "--devices", devices(args), "--all-reduce", algorithm,
                                            "TRAIN.LOG_ITERS", "5"))
    try:
        end = time.monotonic() + min(part.left(), args.seconds_of_a_pair)
        while "iter " not in pair.text(0) and time.monotonic() < end and pair.processes[0].poll() is None:
            time.sleep(0.1)
        pair.processes[1].send_signal(signal.SIGKILL)
        began = time.monotonic()
        code = pair.wait(2 * PATIENCE)[0]
    finally:
        pair.end()
    said = pair.last_line(0)
    named = "rank 1" in said and code not in (0, machine.LATE)
    part.add(name, f"{name:32} {time.monotonic() - began:6.1f} s, rank 0 ends with {code}: {said}",
             failed=not named)


def all_reduces(part, args):
    """`bench all-reduce`, by rank 0."""
    name = "bench all-reduce"
    pair = Ranks(part, args, name, ["bench", "all-reduce", "--devices", devices(args), "--megabytes", "4"])
    try:
        codes = pair.wait(min(part.left(), args.seconds_of_a_pair))
    finally:
        pair.end()
    part.add(name, pair.text(0).splitlines() or name, failed=any(codes))


def stage_g(part, args):
    for name, options in RUNS.items():
        if not part.has(name) and not part.late(name):
            train_ranks(part, args, name, options)
    for algorithm in ("collective", "nccl"):
        name = f"{algorithm}, rank 1 killed"
        if not part.has(name) and not part.late(name):
            lose_a_rank(part, args, algorithm)
    if not part.has("bench all-reduce") and not part.late("bench all-reduce"):
        all_reduces(part, args)
