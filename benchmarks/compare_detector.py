#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Faster R-CNN on generated pictures, trained by Lockstep and by torchvision on this machine.

    python3 -m venv build/peer
    build/peer/bin/pip install torch torchvision pycocotools pyyaml
    build/peer/bin/python benchmarks/compare_detector.py [--iterations 500] [--seeds 2] [--quick]

Equal: body, pyramid, heads and their initial weights; anchors and their positions; the pictures of
each step (the same JPEG files) and the mirrored pictures; the rate of each step, momentum, decay,
twice the rate for biases; how many anchors and RoIs are sampled; limits of suppression; threads.
pycocotools scores both on held-out pictures.

Different:
  * random samples: different generators
  * the loss of boxes becomes linear at 1 here (Detectron), at 1/9 in torchvision
  * anchors beyond the picture's edge count in torchvision only
  * crowd regions: neither object nor background here; left out for torchvision, which has none
  * a pooled RoI ends at its last pixel here; at the first pixel outside in torchvision
  * here, two replicas of four pictures each divide their own losses; in torchvision, eight pictures
    are one batch
  * the momentum includes the rate here, so it lags a little while the rate warms up
torchvision's pictures are read into memory before its time starts; Lockstep's time includes
reading. The faster of PyTorch's memory layouts is used.

Afterwards Lockstep's trained weights are scored in torchvision's network, with RoIs pooled as here.
This AP must equal Lockstep's own, or the two have not trained the same network. The last line has
the mean AP of both and the ratio of a step's time: 1.50x means that Lockstep is 1.5 times as fast.
Nothing else should run meanwhile, because the two train one after the other.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

try:
    import torch
    import torchvision
    import yaml

    from coco_pictures import Pictures
    from torchvision_detector import LastPixelRoIAlign, detector, parameter_groups, read_weights
except ImportError as missing:
    sys.exit(f"compare_detector: {missing} (pip install torch torchvision pycocotools pyyaml)")

LIMIT = 0.04  # of the difference in AP
SAME = 2e-3  # difference in AP of one network and weights; equal scores may be ordered differently
LAYOUTS = {"contiguous": torch.contiguous_format, "channels_last": torch.channels_last}
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CONFIG = f"{ROOT}/configs/detection/scenes_faster_rcnn_fpn.yaml"


class Lockstep:
    """The program, with folders for drawn pictures (`data`) and for runs (`work`)."""

    def __init__(self, args, work):
        self.program, self.data, self.work = args.lockstep, args.data, work
        self.threads = args.threads
        self.folders = {name: self.scenes(name, count) for name, count in args.pictures.items()}
        self.config = yaml.safe_load(self.run("inspect", CONFIG, "--format", "config"))

    def run(self, *words):
        ran = subprocess.run([self.program, *map(str, words)], capture_output=True, text=True)
        if ran.returncode != 0:
            sys.exit(f"compare_detector: lockstep {words[0]} failed:\n{ran.stderr or ran.stdout}")
        return ran.stdout

    def scenes(self, name, count):
        """Draws pictures once: the annotations are written last."""
        folder = f"{self.data}/{name}_{count}"
        if not os.path.exists(f"{folder}/annotations.json"):
            self.run("scenes", "--images", count, "--out", folder, *["--val"] * (name != "train"))
        return folder

    def keys(self, seed, test_on):
        keys = {"OUTPUT_DIR": f"{self.work}/{seed}_{test_on}", "RNG_SEED": seed,
                "TRAIN.DATASETS": "[compare_train]", "TEST.DATASETS": f"[compare_{test_on}]"}
        for name, folder in self.folders.items():
            keys[f"DATASETS.compare_{name}.IMAGES"] = f"{folder}/images"
            keys[f"DATASETS.compare_{name}.ANNOTATIONS"] = f"{folder}/annotations.json"
        return keys

    def train(self, seed, test_on, iterations, **more):
        """Returns the checkpoint, the log of each iteration, and the output."""
        replicas = self.config["NUM_GPUS"]
        keys = self.keys(seed, test_on) | {"SOLVER.MAX_ITER": iterations, "TEST.ITERS": iterations,
                                           "TRAIN.LOG_ITERS": 1} | more
        said = self.run("train", CONFIG, "--threads", self.threads // replicas,
                        *[word for key in keys.items() for word in key])
        run = f"{keys['OUTPUT_DIR']}/train/compare_train/{self.config['MODEL']['TYPE']}"
        with open(f"{run}/metrics.jsonl") as file:
            lines = [line for line in map(json.loads, file) if "time" in line]
        return f"{run}/checkpoint.safetensors", lines, said

    def first_weights(self, seed):
        """Returns the initial weights: a rate of 0 leaves them unchanged."""
        return self.train(seed, "few", 1, **{"SOLVER.BASE_LR": 0, "SOLVER.STEPS": [0]})[0]

    def find(self, seed, weights):
        """Returns the results on the held-out pictures."""
        out = f"{self.work}/{seed}_found"
        self.run("test", CONFIG, "--weights", weights, "--out", out,
                 *[word for key in self.keys(seed, "val").items() for word in key])
        with open(f"{out}/bbox_compare_val_results.json") as file:
            return json.load(file)


class Torch:
    """torchvision's detector with Lockstep's weights."""

    def __init__(self, config, weights, layout="contiguous", **more):
        self.net = detector(config, **more)
        self.net.load_state_dict(read_weights(weights))
        self.net.backbone.layout = LAYOUTS[layout]
        self.net.to(memory_format=LAYOUTS[layout])
        solver = config["SOLVER"]
        self.optimizer = torch.optim.SGD(parameter_groups(self.net, solver), lr=0,
                                         momentum=solver["MOMENTUM"])

    def step(self, images, targets, rate):
        for group in self.optimizer.param_groups:
            group["lr"] = rate * group["factor"]
        self.optimizer.zero_grad(set_to_none=True)
        loss = sum(self.net(images, targets).values())
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def train(self, steps, rates):
        """Returns the seconds of each step."""
        seconds = []
        self.net.train()
        for rate, (images, targets) in zip(rates, steps):
            start = time.perf_counter()
            loss = self.step(images, targets, rate)
            seconds.append(time.perf_counter() - start)
            if not abs(loss) < float("inf"):
                sys.exit(f"compare_detector: torchvision's loss is {loss} in step {len(seconds)}")
        return seconds

    @torch.no_grad()
    def score(self, pictures):
        self.net.eval()
        return pictures.score([result for n in range(len(pictures.ids)) for result in
                               pictures.results(n, self.net([pictures.image(n)])[0])])


def faster_layout(config, weights, steps):
    """Times a few steps of each layout, in turns."""
    seconds = {layout: [] for layout in LAYOUTS}
    peers = {layout: Torch(config, weights, layout) for layout in LAYOUTS}
    for _ in range(3):
        some = [next(steps), next(steps)]
        for layout, peer in peers.items():
            seconds[layout] += peer.train(some, [0, 0])
    return min(LAYOUTS, key=lambda layout: statistics.median(seconds[layout]))


def one_seed(args, seed, lockstep, training, testing):
    """Returns the AP of both, and the seconds of both's steps."""
    config = lockstep.config
    batch = config["NUM_GPUS"] * config["TRAIN"]["IMS_PER_BATCH"]
    steps = lambda: training.steps(batch, config["TRAIN"]["USE_FLIPPED"], seed)
    falls = [args.iterations * at // config["SOLVER"]["MAX_ITER"] for at in config["SOLVER"]["STEPS"]]
    weights = lockstep.first_weights(seed)
    layout = faster_layout(config, weights, steps())

    trained, lines, said = lockstep.train(seed, "val", args.iterations, **{"SOLVER.STEPS": falls})
    if f"\n{len(training.with_objects)} pictures, 1 shape" not in said:
        sys.exit(f"compare_detector: Lockstep trains on other pictures than the "
                 f"{len(training.with_objects)} with objects, of one shape:\n{said}")
    ours = testing.score(lockstep.find(seed, trained))

    torch.manual_seed(seed)
    peer = Torch(config, weights, layout)
    seconds = peer.train(steps(), [line["lr"] for line in lines])
    theirs = peer.score(testing)
    swapped = Torch(config, trained, roi_align=LastPixelRoIAlign).score(testing)
    if abs(swapped[0] - ours[0]) > SAME:
        sys.exit(f"compare_detector: Lockstep's weights have AP {ours[0]:.4f} in Lockstep and "
                 f"{swapped[0]:.4f} in torchvision's network; these should be the same network")

    own_seconds = [line["time"] for line in lines]
    row = lambda name, ap, end: print(f"{seed:4}  {name:14}{ap[0]:7.3f}{ap[1]:8.3f}{end}", flush=True)
    row("Lockstep", ours, f"{statistics.median(own_seconds):9.3f}")
    row("torchvision", theirs, f"{statistics.median(seconds):9.3f}  {layout}")
    return ours[0], theirs[0], own_seconds, seconds


def parsed():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--iterations", type=int, default=500,
                        help="iterations of 8 pictures; the rate falls at equal fractions of the run")
    parser.add_argument("--seeds", type=int, default=2, help="number of seeds")
    parser.add_argument("--quick", action="store_true", help="a run of one minute, too short for an AP")
    parser.add_argument("--threads", type=int, default=2, help="threads of each program; even")
    parser.add_argument("--data", default=f"{ROOT}/build/compare_detector",
                        help="folder for the pictures, which are drawn once")
    parser.add_argument("--lockstep", default=f"{ROOT}/build/release/lockstep")
    args = parser.parse_args()
    args.pictures = {"train": 4000, "val": 500, "few": 8}
    if args.quick:
        args.iterations, args.seeds = min(args.iterations, 40), 1
        args.pictures |= {"train": 400, "val": 50}
    if not os.access(args.lockstep, os.X_OK):
        parser.error(f"there is no program {args.lockstep}; see --lockstep")
    if args.threads < 2 or args.threads % 2:
        parser.error(f"--threads {args.threads}: two replicas share them, so they should be even")
    if args.iterations < 1 or args.seeds < 1:
        parser.error(f"{args.iterations} iterations, {args.seeds} seeds: should be 1 at least")
    return args


def main():
    args = parsed()
    torch.set_num_threads(args.threads)
    os.makedirs(args.data, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="runs_", dir=args.data) as work:
        lockstep = Lockstep(args, work)
        training, testing = (Pictures(lockstep.folders[name]) for name in ("train", "val"))
        print(f"{args.pictures['train']} pictures, {args.iterations} iterations, {args.threads} "
              f"threads, torchvision {torchvision.__version__}, PyTorch {torch.__version__}\n"
              f"seed{'':16}{'AP':>7}{'AP50':>8}{'s/step':>9}", flush=True)
        seeds = [one_seed(args, seed, lockstep, training, testing)
                 for seed in range(1, args.seeds + 1)]
    our_ap, its_ap = (statistics.mean(seed[n] for seed in seeds) for n in (0, 1))
    ours, its = (statistics.median(sum((seed[n] for seed in seeds), [])) for n in (2, 3))
    print(f"mean AP: Lockstep {our_ap:.3f}, torchvision {its_ap:.3f}, difference "
          f"{our_ap - its_ap:+.3f} (limit {-LIMIT:+.3f}); a step: {ours:.3f} s and {its:.3f} s, "
          f"{its / ours:.2f}x")


main()
