# SPDX-License-Identifier: Apache-2.0
"""Random cases: a damaged file and the command that reads the file. Each kind makes its seeds once.

Damage may give a command valid but long work. Two rules limit the time. A command that trains or
tests gets BOUNDS after all other words, and words of the command line replace the file's: few
iterations, few held-out pictures. If a step is slow nevertheless, the limit of 10 s covers only
reading and planning, before the first step (mutate.py). OUTPUT_DIR is one of the bounds, so that
nothing is written outside of the case's folder.
"""

import os
import shutil
import subprocess

import configurations
from configurations import damaged_configuration, pairs_of, written
from damage import damaged_bytes, damaged_model
from files import write_inputs, write_pictures
from networks import classifier, make_networks
from safetensors import damaged_safetensors

BOUNDS = ["DATA.TEST_SIZE", "20", "OUTPUT_DIR", "out", "SOLVER.MAX_ITER"]
FIRST = BOUNDS + ["2"]
RESUMED = BOUNDS + ["5"]  # the seeds are runs of 3


class Models:
    """A network or a step, read by a command that accepts it."""

    def __init__(self, binary, work):
        self.work = work
        self.seeds = make_networks(binary, work)
        write_inputs(work / "numbers", (2, 1, 4, 4), targets=False)
        write_inputs(work / "images", (2, 3, 32, 32), targets=True)

    def make(self, lot, folder):
        name, seed = lot.choice(self.seeds)
        (folder / "model.onnx").write_bytes(damaged_model(seed, lot, self.seeds))
        (folder / "sound.onnx").write_bytes(seed)
        os.link(self.work / "weights", folder / "weights")
        inputs = self.work / ("images" if name.endswith(".onnx") else "numbers")
        devices = lot.choice(["cpu", "cpu*2", "cpu*3"])
        return name, lot.choice([
            ["inspect", "model.onnx", "--format",
             lot.choice(["summary", "text", "order", "dot", "buckets"])],
            ["plan", "model.onnx", "--batch", lot.choice(["1", "2", "32"]), "--devices", devices],
            ["plan", "model.onnx", "--inference"],
            ["diff", "sound.onnx", "model.onnx", *lot.choice([[], ["--all"], ["--json"], ["--weights"]])],
            ["run", "model.onnx", "--inputs", inputs, "--outputs", "run"],
            ["step", "model.onnx", "--inputs", inputs, "--outputs", "step", "--loss", "loss",
             "--devices", lot.choice(["cpu", "cpu*2"])],
            ["build", "model.onnx", "--loss", "loss", "--devices", devices, "-o", "step.onnx"],
        ])


class TrainedModels:
    """A network that a configuration names."""

    def __init__(self, runs):
        self.seeds = [("classifier of opset %d" % opset, classifier(opset))
                      for opset in (7, 9, 12, 13, 17, 21)]
        self.seeds.append(("a run's model", (runs[0] / "model.onnx").read_bytes()))

    def make(self, lot, folder):
        name, seed = lot.choice(self.seeds)
        (folder / "net.onnx").write_bytes(damaged_model(seed, lot, self.seeds))
        (folder / "config.yaml").write_text(written(configurations.NETWORK.items()))
        options = lot.choice([[], [], ["MODEL.NEW_CLASSIFIER", "true"], ["PRECISION", "bfloat16"],
                              ["MODEL.TRAIN_BATCH_NORM", "true"], ["TRAIN.MICRO_BATCHES", "2"]])
        return name, ["train", "config.yaml", "DEVICES", lot.choice(["cpu", "cpu*2"]), *options,
                      *FIRST]


class Configurations:
    def __init__(self, work, runs):
        self.runs, self.work = runs, work
        self.seeds = configurations.seeds()
        self.known = pairs_of((runs[0] / "config.yaml").read_text())
        (work / "net.onnx").write_bytes(classifier(17))

    def make(self, lot, folder):
        name, pairs = lot.choice(self.seeds)
        command = lot.choice(["train"] * 5 + ["test", "plan", "build", "inspect", "infer"])
        if command == "infer":
            pairs = [*pairs, ("OUTPUT_DIR", "run")]  # the command only reads the folder
        data, words = damaged_configuration(pairs, self.known, lot)
        (folder / "config.yaml").write_bytes(data)
        os.link(self.work / "net.onnx", folder / "net.onnx")
        os.symlink(self.runs[0], folder / "run")
        os.symlink(self.work / "pictures", folder / "pictures")
        return name, [command, "config.yaml", *{
            "train": [*words, *FIRST],
            "test": ["--weights", "run/best.safetensors", *words, *FIRST],
            "plan": [*lot.choice([[], ["--batch", "1"], ["--batch", "32"]]), *words],
            "build": ["-o", "step.onnx", *words],
            "inspect": ["--format", lot.choice(["summary", "text", "order", "buckets"]), *words],
            "infer": ["pictures/val"],
        }[command]]


class Runs:
    """One file of a run's folder."""

    FILES = ["checkpoint.safetensors"] * 12 + ["best.safetensors"] * 5 + [
        "checkpoint.previous.safetensors", "config.yaml", "metrics.jsonl", "model.onnx"]

    def __init__(self, work, runs):
        self.runs, self.work = runs, work
        self.models = [("", (run / "model.onnx").read_bytes()) for run in runs]

    def make(self, lot, folder):
        run = lot.choice(self.runs)
        shutil.copytree(run, folder / "run")
        os.link(self.work / "net.onnx", folder / "net.onnx")
        os.symlink(self.work / "pictures", folder / "pictures")
        name = lot.choice(self.FILES)
        path = folder / "run" / name
        self.damage(path, lot)
        resume = ["train", "run/config.yaml", "--resume", lot.choice(["run", "run", "run/" + name]),
                  *lot.choice([[], [], ["DEVICES", "cpu"], ["DEVICES", "cpu*3"]]), *RESUMED]
        if path.suffix == ".safetensors":
            uses = [["test", "run/config.yaml", "--weights", path, *FIRST],
                    ["infer", "run", "pictures/val", "--weights", path, "--out", "told"],
                    ["export", path, "-o", "out.onnx"],
                    ["train", "run/config.yaml", "MODEL.WEIGHTS", path, *FIRST]]
            command = resume if name[0] == "c" and lot.random() < 0.6 else lot.choice(uses)
        elif name == "model.onnx":
            command = ["infer", path, "pictures/val", "--out", "told"]
        else:
            command = lot.choice([resume, ["export", "run", "-o", "out.onnx"],
                                  ["infer", "run", "pictures/val"]])
        return "%s of %s" % (name, run.name), command

    def damage(self, path, lot):
        data = path.read_bytes()
        if lot.random() < 0.02:
            path.unlink()
        elif path.suffix == ".safetensors":
            path.write_bytes(damaged_safetensors(data, lot))
        elif path.suffix == ".onnx":
            path.write_bytes(damaged_model(data, lot, self.models))
        elif path.suffix == ".yaml":
            pairs = pairs_of(data.decode())
            path.write_bytes(damaged_configuration(pairs, pairs, lot)[0])
        else:
            path.write_bytes(damaged_bytes(data, lot))


def make_runs(binary, work):
    (work / "net.onnx").write_bytes(classifier(17))
    runs = []
    for name, config in (("mlp", configurations.TWO),
                         ("network", {**configurations.NETWORK, "DEVICES": "cpu*2",
                                      "PRECISION": "float16"})):
        (work / "config.yaml").write_text(written(config.items()))
        subprocess.run([binary, "train", "config.yaml", "--quiet", "OUTPUT_DIR", work / name],
                       check=True, cwd=work)
        runs.append(work / name)
    return runs


def make_kinds(binary, work):
    """(weight, name, function that makes a case)"""
    write_pictures(work / "pictures")
    runs = make_runs(binary, work)
    return [(4, "model", Models(binary, work)), (2, "training", TrainedModels(runs)),
            (3, "configuration", Configurations(work, runs)), (3, "run", Runs(work, runs))]
