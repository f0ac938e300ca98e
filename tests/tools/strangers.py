#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Strangers at the store's port during a run of two processes: equal bits, no more memory, and no
unexpected listening addresses.
  strangers.py LOCKSTEP FOLDER [--connections N] [--rounds N] [--iterations N] ..
Quiet and disturbed runs alternate. Times of steps are printed without a limit: several rounds on an
idle machine show the cost of strangers. --nice 19 excludes the strangers' own work, which another
machine would do.
"""
import argparse, collections, glob, hashlib, json, os, pathlib, random, signal, socket, statistics, struct
import subprocess, sys, time

TOKEN = "00112233445566778899aabbccddeeff"
CONFIG = """DEVICES: cpu
THREADS: 1
MODEL: {TYPE: lenet}
DATA: {NAME: digits, TRAIN_SIZE: 400, TEST_SIZE: 100}
TRAIN: {BATCH_SIZE: %d, SNAPSHOT_ITERS: 1000000, LOG_ITERS: 1}
TEST: {ITERS: 1000000}
SOLVER: {BASE_LR: 0.02, MAX_ITER: %d}
"""
MEGABYTE = 1 << 20


def request(operation, key, value=b""):
    return bytes([operation]) + struct.pack("<I", len(key)) + key + struct.pack("<I", len(value)) + value


def failure():
    return request(0, b"failed", b"\x1b[2Jlost by a stranger")


def garbage(wire):
    wire.sendall(random.randbytes(random.randint(1, 4096)))


def silence(wire):
    pass


def without_token(wire):
    wire.sendall(failure() + request(3, b"1"))


def wrong_token(wire):
    wire.sendall(random.randbytes(48) + failure())


def garbage_for_gloo(wire):
    wire.sendall(request(0, b"gloo/1", random.randbytes(100)) + request(0, b"member/1", b"garbage"))


def huge_value(wire):
    wire.sendall(b"\0" + struct.pack("<I", 3) + b"key" + struct.pack("<I", (1 << 26) - 1) + bytes(65536))


def no_reader(wire):
    wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
    wire.sendall(request(2, b"gloo/0") * 500)


def broken_off(wire):
    wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    wire.close()


KINDS = [garbage, silence, without_token, wrong_token, garbage_for_gloo, huge_value, no_reader, broken_off]


# Runs in a separate process.
def attack(port, connections, seconds, niceness):
    os.nice(niceness)
    held = collections.deque()
    pause = seconds / connections
    start = time.monotonic()
    made = 0
    over = []
    signal.signal(signal.SIGTERM, lambda *_: over.append(True))
    while made < connections and not over:
        time.sleep(max(0.0, start + made * pause - time.monotonic()))
        wire = socket.socket()
        wire.settimeout(0.2)
        try:
            wire.connect(("127.0.0.1", port))
            made += 1
            KINDS[made % len(KINDS)](wire)
            held.append(wire)
        except OSError:
            wire.close()
        while len(held) > 400:
            held.popleft().close()
    print(made, flush=True)


def listening(process):
    """The addresses at which the process accepts TCP connections."""
    inodes = set()
    for link in glob.glob(f"/proc/{process}/fd/*"):
        try:
            inodes.add(os.readlink(link))
        except OSError:
            pass
    found = set()
    for table in ("tcp", "tcp6"):
        try:
            lines = pathlib.Path(f"/proc/{process}/net/{table}").read_text().splitlines()[1:]
        except OSError:
            continue
        for words in map(str.split, lines):
            if words[3] == "0A" and f"socket:[{words[9]}]" in inodes:
                address, port = words[1].split(":")
                found.add((address, int(port, 16)))
    return found


def most_memory(process):
    try:
        status = pathlib.Path(f"/proc/{process}/status").read_text()
    except OSError:
        return 0
    for line in status.splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Run:
    """Runs two processes until they end, with a port or, on one host, without."""

    def __init__(self, options, name, disturbed=False, over_port=True):
        self.folder = os.path.join(options.folder, name)
        port = free_port()
        ranks = []
        for rank in range(2):
            environment = dict(os.environ, RANK=str(rank), WORLD_SIZE="2", MASTER_ADDR="127.0.0.1",
                               MASTER_PORT=str(port), LOCKSTEP_TOKEN=TOKEN, LOCKSTEP_TIMEOUT="60")
            if not over_port:
                environment["LOCAL_WORLD_SIZE"] = "2"
            log = open(os.path.join(options.folder, f"{name}.{rank}.log"), "w")
            command = [options.lockstep, "train", os.path.join(options.folder, "config.yaml"), "OUTPUT_DIR", self.folder]
            ranks.append(subprocess.Popen(command, env=environment, stdout=log, stderr=log))
        crowd = None
        if disturbed:
            crowd = subprocess.Popen([sys.executable, __file__, options.lockstep, options.folder, "--attack", str(port),
                                      "--connections", str(options.connections), "--nice", str(options.nice), "--seconds", str(options.seconds)],
                                     stdout=subprocess.PIPE, text=True)
        self.memory = [0, 0]
        seen = [set(), set()]
        training = [set(), set()]
        metrics = os.path.join(self.folder, "metrics.jsonl")
        while any(rank.poll() is None for rank in ranks):
            begun = os.path.exists(metrics) and os.path.getsize(metrics) > 0
            for i, rank in enumerate(ranks):
                if rank.poll() is None:
                    self.memory[i] = max(self.memory[i], most_memory(rank.pid))
                    here = listening(rank.pid)
                    seen[i] |= here
                    if begun:
                        training[i] |= here
            time.sleep(0.02)
        codes = [rank.returncode for rank in ranks]
        self.connections = 0
        if crowd:
            crowd.terminate()
            self.connections = int(crowd.communicate()[0] or 0)
            check(self.connections > options.connections // 3, f"of the crowd only {self.connections} came in time")
        if codes != [0, 0]:
            for rank in range(2):
                sys.stdout.write(open(os.path.join(options.folder, f"{name}.{rank}.log")).read()[-2000:])
        check(codes == [0, 0], f"{name}: ended with {codes}")
        self.digest = hashlib.sha256(open(os.path.join(self.folder, "checkpoint.safetensors"), "rb").read()).hexdigest()
        times = [json.loads(line).get("time") for line in open(metrics)]
        self.median = statistics.median(t for t in times if t)
        # Gloo's ports are open while ranks connect, at the same address.
        everywhere = [at for at in seen[0] | seen[1] if at[0] != "0100007F"]
        check(not everywhere, f"{name}: listens at {everywhere}")
        asked = {("0100007F", port)} if over_port else set()
        check(training[0] == asked and not training[1], f"{name}: while it trains it listens at {training}")


def check(holds, text):
    if not holds:
        print("FAILED:", text)
        sys.exit(1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("lockstep")
    parser.add_argument("folder")
    parser.add_argument("--connections", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--iterations", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=1.5, help="over which the connections are spread")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--nice", type=int, default=0)
    parser.add_argument("--attack", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.attack:
        attack(options.attack, options.connections, options.seconds, options.nice)
        return
    os.makedirs(options.folder, exist_ok=True)
    for old in glob.glob(os.path.join(options.folder, "*")):
        subprocess.run(["rm", "-rf", old], check=True)
    pathlib.Path(options.folder, "config.yaml").write_text(CONFIG % (options.batch, options.iterations))
    runs = [("unix", Run(options, "unix", over_port=False))]
    for number in range(options.rounds):
        kinds = [False, True] if number % 2 == 0 else [True, False]
        for disturbed in kinds:
            name = f"{'disturbed' if disturbed else 'quiet'}.{number}"
            run = Run(options, name, disturbed)
            runs.append((name, run))
            print(f"{name}: median step {1000 * run.median:.2f} ms, memory "
                  + " ".join(f"{m / MEGABYTE:.1f}" for m in run.memory) + f" MB, {run.connections} strangers", flush=True)
    for name, run in runs:
        check(run.digest == runs[0][1].digest, f"{name} trained to other bits than {runs[0][0]}")
    quiet = [run for name, run in runs if name.startswith("quiet")]
    disturbed = [run for name, run in runs if name.startswith("disturbed")]
    for rank in range(2):
        more = max(run.memory[rank] for run in disturbed) - max(run.memory[rank] for run in quiet)
        check(more <= 20 * MEGABYTE, f"rank {rank} took {more / MEGABYTE:.1f} MB more")
    of = [statistics.median(run.median for run in kind) for kind in (quiet, disturbed)]
    print(f"{sum(run.connections for run in disturbed)} strangers: the same bits; median step {1000 * of[0]:.2f} ms quiet, "
          f"{1000 * of[1]:.2f} ms disturbed ({100 * (of[1] / of[0] - 1):+.1f} %)")


main()
