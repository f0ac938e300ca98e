# SPDX-License-Identifier: Apache-2.0
"""The program `lockstep` on generated pictures, for compare_detector.py."""
import json
import os
import subprocess
import sys

import yaml

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def run(program, *words):
    ran = subprocess.run([program, *map(str, words)], capture_output=True, text=True)
    if ran.returncode != 0:
        sys.exit(f"compare_detector: lockstep {words[0]} failed:\n{ran.stderr or ran.stdout}")
    return ran.stdout


def words_of(keys):
    return [word for key in keys.items() for word in key]


def scenes(program, data, name, count):
    """Draws pictures once: the annotations are written last."""
    folder = f"{data}/{name}_{count}"
    if not os.path.exists(f"{folder}/annotations.json"):
        run(program, "scenes", "--images", count, "--out", folder, *["--val"] * (name != "train"))
    return folder


class Lockstep:
    """The program, with folders for drawn pictures (`args.data`) and for runs (`work`)."""

    def __init__(self, args, found, work):
        self.program, self.work, self.found = args.lockstep, work, found
        self.threads, self.file = args.threads, f"{ROOT}/configs/detection/{found.config}.yaml"
        self.folders = {name: scenes(args.lockstep, args.data, name, count)
                        for name, count in args.pictures.items()}
        self.config = yaml.safe_load(run(self.program, "inspect", self.file, "--format", "config"))

    def keys(self, seed, test_on):
        keys = {"OUTPUT_DIR": f"{self.work}/{seed}_{test_on}", "RNG_SEED": seed,
                "TRAIN.DATASETS": "[compare_train]", "TEST.DATASETS": f"[compare_{test_on}]",
                **{f"TEST.{views}.ENABLED": "false" for views in ("BBOX_AUG", "MASK_AUG", "KPS_AUG")}}
        for name, folder in self.folders.items():
            keys[f"DATASETS.compare_{name}.IMAGES"] = f"{folder}/images"
            keys[f"DATASETS.compare_{name}.ANNOTATIONS"] = f"{folder}/annotations.json"
        return keys

    def train(self, seed, test_on, iterations, **more):
        """Returns the checkpoint, the log of each iteration, and the output."""
        replicas = self.config["NUM_GPUS"]
        keys = self.keys(seed, test_on) | {"SOLVER.MAX_ITER": iterations, "TEST.ITERS": iterations,
                                           "TRAIN.LOG_ITERS": 1} | more
        said = run(self.program, "train", self.file, "--threads", self.threads // replicas,
                   *words_of(keys))
        folder = f"{keys['OUTPUT_DIR']}/train/compare_train/{self.config['MODEL']['TYPE']}"
        with open(f"{folder}/metrics.jsonl") as file:
            lines = [line for line in map(json.loads, file) if "time" in line]
        return f"{folder}/checkpoint.safetensors", lines, said

    def first_weights(self, seed):
        """Returns the initial weights: a rate of 0 leaves them unchanged."""
        return self.train(seed, "few", 1, **{"SOLVER.BASE_LR": 0, "SOLVER.STEPS": [0]})[0]

    def find(self, seed, weights):
        """Returns the boxes on the held-out pictures, and the masks or points."""
        out = f"{self.work}/{seed}_found"
        run(self.program, "test", self.file, "--weights", weights, "--out", out,
            *words_of(self.keys(seed, "val")))

        def read(kind):
            with open(f"{out}/{kind}_compare_val_results.json") as file:
                return json.load(file)
        return read("bbox"), read(self.found.file) if self.found.kind else []
