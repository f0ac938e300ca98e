# SPDX-License-Identifier: Apache-2.0
"""A step of Faster R-CNN R-50-FPN in Lockstep and in torchvision: seconds and memory.

Equal: the body's weights (random, with fitting statistics), its frozen part and frozen batch norms;
81 classes; 2,000 proposals of an image, 256 anchors and 512 RoIs sampled; momentum SGD with weight
decay; the pictures (generated, enlarged to --image) and their order; threads. The programs take
turns, round after round: a process of Lockstep is new in each round, torchvision's wait until the
last. Medians count; memory is the peak of a process. Reading pictures is not timed.

Last, a profile of Lockstep's step tells the share of RoI pooling, targets and suppression.
"""
import json
import os
import re
import statistics
import subprocess
import sys

import torch

from detector_peer import program
from detector_peer.pictures import Pictures
from detector_peer.weights import write_body

HERE = os.path.dirname(os.path.abspath(__file__))
CONFIG = f"{program.ROOT}/configs/detection/faster_rcnn_R-50-FPN.yaml"
CLASSES = 80
PICTURES = 64
WAYS = {"eager, channels_last": [], "eager": ["--contiguous"],
        "compiled body, channels_last": ["--compiled", "body"],
        "compiled, channels_last": ["--compiled", "whole"]}
GROUPS = {"RoI pooling": r"MultilevelRoiAlign|RoiAlign|MaxRoiPool",
          "targets": r"AnchorTargets|ProposalTargets",
          "suppression": r"BoxSuppression|DetectionResults|TopK"}
MIB = 1 << 20


def prepare(args):
    """A folder with pictures of 80 classes, of which four occur, and the body's weights."""
    folder = f"{args.data}/resnet50"
    drawn = program.scenes(args.lockstep, args.data, "few", PICTURES)
    os.makedirs(f"{folder}/pictures", exist_ok=True)
    if not os.path.lexists(f"{folder}/pictures/images"):
        os.symlink(os.path.abspath(f"{drawn}/images"), f"{folder}/pictures/images")
    with open(f"{drawn}/annotations.json") as file:
        table = json.load(file)
    table["categories"] += [{"id": n, "name": f"class {n}"}
                            for n in range(len(table["categories"]) + 1, CLASSES + 1)]
    with open(f"{folder}/pictures/annotations.json", "w") as file:
        json.dump(table, file)
    pictures = Pictures(f"{folder}/pictures")
    images = torch.stack([pictures.image(n).flip(0) / 255 for n in range(4)])
    mean, deviation = (torch.tensor(each)[:, None, None]
                       for each in ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)))
    state = write_body(f"{folder}/body.safetensors", (images - mean) / deviation)
    torch.save(state, f"{folder}/body.pt")
    return folder


class Ours:
    """Runs of `lockstep bench train-step`."""

    def __init__(self, args, folder, batch):
        keys = {"MODEL.NUM_CLASSES": CLASSES + 1, "DEVICES": "cpu", "THREADS": args.threads,
                "DATASETS.peer.IMAGES": f"{folder}/pictures/images",
                "DATASETS.peer.ANNOTATIONS": f"{folder}/pictures/annotations.json",
                "TRAIN.DATASETS": "[peer]", "TEST.DATASETS": "[peer]",
                "TRAIN.WEIGHTS": f"{folder}/body.safetensors", "RESNETS.STRIDE_1X1": "false",
                "TRAIN.SCALES": f"[{args.image}]", "TRAIN.MAX_SIZE": args.image,
                "TEST.SCALE": args.image, "TEST.MAX_SIZE": args.image,
                "TRAIN.IMS_PER_BATCH": batch, "TRAIN.USE_FLIPPED": "false",
                "SOLVER.BASE_LR": 1e-4, "RNG_SEED": 1, "OUTPUT_DIR": f"{folder}/runs"}
        self.command = [args.lockstep, "bench", "train-step", CONFIG, "--steps", str(args.steps)]
        self.words, self.rounds = [str(word) for word in program.words_of(keys)], []

    def output(self, *options):
        ran = subprocess.run([*self.command, *options, *self.words], capture_output=True, text=True)
        if ran.returncode != 0:
            sys.exit(f"compare_detector: {' '.join(self.command)} failed:\n{ran.stderr}")
        return ran.stdout

    def take(self, _steps):
        self.rounds.append(json.loads(self.output("--json").splitlines()[-1]))

    def seconds(self):
        return statistics.median(each["later"]["wall"] for each in self.rounds)

    def most_bytes(self):
        return max(each["most_bytes"] for each in self.rounds)

    def shares(self):
        """Percent of the time of all kernels."""
        rows = re.findall(r"^ *[\d.]+ +([\d.]+) +\d+  (\w+)", self.output("--profile"), re.M)
        return {group: sum(float(share) for share, operator in rows
                           if re.fullmatch(f"({names})(Grad)?", operator))
                for group, names in GROUPS.items()}


class Theirs:
    """A process of stepping.py, which has done its first steps."""

    def __init__(self, args, folder, batch, options):
        self.process = subprocess.Popen(
            [sys.executable, f"{HERE}/stepping.py", folder, str(batch), "--image", str(args.image),
             "--threads", str(args.threads), *options],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.answer()
        self.all, self.most = [], 0

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"stepping.py ended with code {self.process.wait()}")
        return json.loads(line)

    def take(self, steps):
        self.process.stdin.write(f"{steps}\n")
        self.process.stdin.flush()
        answer = self.answer()
        self.all += answer["seconds"]
        self.most = answer["most_bytes"]

    def seconds(self):
        return statistics.median(self.all)

    def most_bytes(self):
        return self.most

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def compare_batch(args, folder, batch):
    peers = {}
    for way, options in WAYS.items():
        try:
            peers[way] = Theirs(args, folder, batch, options)
        except (RuntimeError, json.JSONDecodeError) as error:  # a compiler may be missing, or more
            print(f"compare_detector: torchvision {way}: left out: {error}", file=sys.stderr)
    if not peers:
        sys.exit("compare_detector: no variant of torchvision can take a step")
    ours = Ours(args, folder, batch)
    for turn in range(args.rounds):
        for stepped in (ours, *peers.values()):
            stepped.take(args.steps)
        print(f"batch {batch}: round {turn + 1} of {args.rounds}", file=sys.stderr, flush=True)
    for peer in peers.values():
        peer.end()
    row = lambda name, of, end="": print(f"{batch:5}  {name:34}{of.seconds():9.3f}"
                                         f"{of.most_bytes() / MIB:9.0f}{end}", flush=True)
    row("Lockstep", ours)
    for way, peer in peers.items():
        row(f"torchvision, {way}", peer, f"{peer.seconds() / ours.seconds():8.2f}x"
            f"{ours.most_bytes() / peer.most_bytes():8.2f}x")
    shares = ours.shares()
    print("       of Lockstep's kernels: " + ", ".join(f"{name} {share:.1f} %" for name, share in
                                                       shares.items())
          + f"; together {sum(shares.values()):.1f} %", flush=True)


def compare(args):
    folder = prepare(args)
    print(f"Faster R-CNN R-50-FPN, {args.image} x {args.image}, {args.threads} threads, medians of "
          f"{args.rounds} rounds of {args.steps} steps, PyTorch {torch.__version__}\n"
          f"batch{'':36}{'s/step':>9}{'MiB':>9}{'s, ratio':>9}{'MiB':>9}", flush=True)
    for batch in args.batches.split(","):
        compare_batch(args, folder, int(batch))
