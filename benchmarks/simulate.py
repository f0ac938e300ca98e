#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Simulated times of a step against measured ones, on a machine with two idle cores.

    benchmarks/simulate.py [--lockstep FILE] [--rounds 5] [--only NAME]... [--most 15] [--json FILE]

Each model trains on one replica, on two replicas of one process, and as two processes, one thread each. One trace of
two replicas, so with both cores busy, gives the times of kernels for all three; `lockstep doctor --measure-links` gives
the links. The step of one replica is measured while a second process computes the same, so that both cores are busy
there, too. Each ratio is simulated / median of the rounds. Ends with code 1 if a ratio is off by more than --most per
cent.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TEXT = f"{ROOT}/configs/text/docs_lstm.yaml"
SCENES = f"{ROOT}/configs/detection/scenes_retinanet_fpn.yaml"
# Name, model or configuration, key of its batch, examples of a replica, steps.
MODELS = [("mlp", "mlp", "", 128, 201), ("lenet", "lenet", "", 32, 101), ("resnet18", "resnet18", "", 4, 15),
          ("characters", TEXT, "TRAIN.BATCH_SIZE", 8, 21), ("retinanet", SCENES, "TRAIN.IMS_PER_BATCH", 2, 15)]

def run(words, **more):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False, **more)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}: {done.stderr or done.stdout}")
    return done.stdout


class Case:
    """The three placements of one model."""

    def __init__(self, lockstep, folder, row):
        self.lockstep, self.folder = lockstep, folder
        self.name, self.model, self.key, self.batch, self.steps = row

    def keys(self, devices, batch, processes=1):
        """Keys of a configuration. A detector counts the replicas of all processes, and its images on each of them."""
        if self.model == TEXT:
            return ["DEVICES", devices, self.key, batch, "THREADS", 1]
        replicas = int(devices.removeprefix("cpu*")) if "*" in devices else 1
        return ["NUM_GPUS", replicas * processes, self.key, self.batch, "SOLVER.SCALE_TO_BATCH", "true", "THREADS", 1,
                "SOLVER.STEPS", "[0]"]  # a short run ends before the later ones

    def step(self, devices, batch, *more):
        if self.key:
            return [self.lockstep, "bench", "train-step", self.model, *self.keys(devices, batch), "--steps", self.steps,
                    *more]
        return [self.lockstep, "bench", "train-step", "--model", self.model, "--batch", batch, "--devices", devices,
                "--threads", 1, "--steps", self.steps, "--feed", "in_turn", *more]

    def trace(self):
        # The first steps of a process are slower than the median step.
        run(self.step("cpu*2", 2 * self.batch, "--trace", os.path.join(self.folder, f"{self.name}.json"),
                      "--trace-steps", f"{self.steps // 2}:{self.steps}"))

    @staticmethod
    def seconds(out):
        made = json.loads(out.splitlines()[-1])
        return made["seconds"] if "seconds" in made else made["later"]["wall"]

    def processes(self):
        """The mean step of the traced steps of a short run of two processes."""
        trace = os.path.join(self.folder, "processes.json")
        run([self.lockstep, "launch", "-n", 2, "--", self.lockstep, "train", self.model,
             *self.keys("cpu", 2 * self.batch, processes=2), "SOLVER.MAX_ITER", self.steps, "OUTPUT_DIR",
             os.path.join(self.folder, "run"), "--trace", trace, "--trace-steps", f"3:{self.steps}"])
        with open(trace, encoding="utf-8") as file:
            ranks = json.load(file)["otherData"]["mean_of_a_step"]
        return max(rank["step_ms"] for rank in ranks) / 1e3

    def measured(self, placement):
        if placement == "2 replicas":
            return self.seconds(run(self.step("cpu*2", 2 * self.batch, "--json")))
        if placement == "2 processes" and self.key:
            return self.processes()
        if placement == "2 processes":
            out = run([self.lockstep, "launch", "-n", 2, "--", self.lockstep, "bench", "trace-cost", "--model",
                       self.model, "--batch", self.batch, "--devices", "cpu", "--threads", 1, "--steps", self.steps,
                       "--json"])
            return json.loads(out[out.index("{"):])["seconds"]
        words = [str(word) for word in self.step("cpu", self.batch, "--json")]
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as other:
            mine, theirs = self.seconds(run(words)), self.seconds(other.communicate()[0])
        return (mine + theirs) / 2

    def simulated(self, placement, links):
        devices = 1 if placement == "1 replica" else 2
        processes = 2 if placement == "2 processes" else 1
        cluster = os.path.join(self.folder, "cluster.yaml")
        with open(cluster, "w", encoding="utf-8") as file:
            file.write(f"DEVICES: {devices}\nPROCESSES: {processes}\nPROFILE: {self.name}.json\n{links}")
        words = ["--batch", self.batch, "--devices", f"cpu*{devices}"]
        if self.key:  # `train` over processes packs its gradients into these buckets
            words = self.keys(f"cpu*{devices}", devices * self.batch)
            words += ["PACKING", "ready:1M:25M"] if processes > 1 else []
        out = run([self.lockstep, "simulate", self.model, *words, "--cluster", cluster, "--no-search", "--most", 1,
                   "--json"])
        return json.loads(out)["step"]["seconds"]


def measured_links(lockstep):
    """The lines of a measured cluster, without the keys that differ by placement."""
    lines = {}
    for words in ([lockstep, "launch", "-n", 2, "--", lockstep, "doctor", "--measure-links"],
                  [lockstep, "doctor", "--measure-links", "--devices", "cpu*2"]):
        section = ""
        for line in run(words).splitlines():
            if line and not line.startswith((" ", "#")):
                section = line.split(":")[0]
            lines.setdefault(section, {})[line.split(":")[0].strip()] = line
    kept = [line for section in ("DEVICE", "LINKS") for line in lines.get(section, {}).values()]
    return "\n".join(kept) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--lockstep", default=f"{ROOT}/build/release/lockstep")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", action="append", default=[], help="models whose name contains this")
    parser.add_argument("--most", type=float, default=15, help="per cent")
    parser.add_argument("--json", help="file for the rows")
    args = parser.parse_args()
    placements = ("1 replica", "2 replicas", "2 processes")
    rows, worst = [], 0
    with tempfile.TemporaryDirectory() as folder:
        links = measured_links(args.lockstep)
        print(f"{'model':14}{'placement':14}{'measured ms':>12}{'simulated':>11}{'ratio':>8}", flush=True)
        for row in MODELS:
            if args.only and not any(part in row[0] for part in args.only):
                continue
            case = Case(args.lockstep, folder, row)
            case.trace()
            times = {placement: [] for placement in placements}
            for _ in range(args.rounds):  # in turns, so that a slow minute meets all
                for placement in placements:
                    times[placement].append(case.measured(placement))
            for placement in placements:
                measured, simulated = statistics.median(times[placement]), case.simulated(placement, links)
                ratio = simulated / measured
                worst = max(worst, abs(ratio - 1))
                rows.append({"model": case.name, "placement": placement, "measured": measured,
                             "simulated": simulated, "rounds": times[placement]})
                print(f"{case.name:14}{placement:14}{1e3 * measured:12.3f}{1e3 * simulated:11.3f}{ratio:8.3f}"
                      f"{'  OFF' if 100 * abs(ratio - 1) > args.most else ''}", flush=True)
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)
    if not rows:
        sys.exit("no model has such a name")
    return 1 if 100 * worst > args.most else 0


if __name__ == "__main__":
    sys.exit(main())
