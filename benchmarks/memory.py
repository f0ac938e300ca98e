#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The memory that a plan predicts, and the memory that a process takes.

    benchmarks/memory.py build/release/lockstep [--quick] [--only NAME]... [--json FILE]

Each model, and six families of detectors, trains some steps in a process of its own. The prediction is the sum of
arenas, states, kept values, scratch and loader; the process's peak should grow by this sum over its size before
planning, within 10 % or 20 MiB. --quick: the small cases, which take seconds. Exits with 1 if a prediction is wrong.
"""
import argparse
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MIB = 1 << 20
# Name, examples of a step, devices.
MODELS = [("mlp", 64, "cpu"), ("lenet", 64, "cpu"), ("lenet", 64, "cpu*2"), ("resnet18", 8, "cpu"),
          ("resnet18", 8, "cpu*2"), ("resnet34", 8, "cpu"), ("resnet50", 8, "cpu"), ("resnet50", 8, "cpu*2"),
          ("resnet50_keras", 8, "cpu"), ("resnet101", 4, "cpu"), ("resnet152", 4, "cpu"),
          ("resnext50_32x4d", 4, "cpu"), ("mobilenet_v2", 8, "cpu"), ("vgg16", 4, "cpu"),
          ("lstm", 32, "cpu")]
FASTER = "scenes_faster_rcnn_fpn.yaml"
# Name, configuration, keys.
DETECTORS = [("Faster R-CNN, FPN", FASTER, []),
             ("Mask R-CNN, FPN", "scenes_mask_rcnn_fpn.yaml", []),
             ("RetinaNet", "scenes_retinanet_fpn.yaml", []),
             ("RPN, FPN", "scenes_rpn_fpn.yaml", []),
             ("Faster R-CNN, C4", "scenes_faster_rcnn_c4.yaml", []),
             ("Faster R-CNN, VGG16", "scenes_faster_rcnn_vgg16.yaml", [])]
LARGE = ["TRAIN.SCALES", "[512]", "TRAIN.MAX_SIZE", "512", "TRAIN.IMS_PER_BATCH", "2", "NUM_GPUS", "1",
         "SOLVER.SCALE_TO_BATCH", "true"]
QUICK = {"mlp", "lenet", "resnet18", "RetinaNet"}


def cases(quick):
    for name, batch, devices in MODELS:
        if quick and (name not in QUICK or devices != "cpu"):
            continue
        rows = 2 if quick else batch
        yield f"{name}, batch {rows} on {devices}", ["--model", name, "--batch", str(rows), "--devices", devices,
                                                     "--threads", "1"]
    for name, config, keys in DETECTORS:
        if not quick or name in QUICK:
            size = [] if quick else LARGE
            yield name, [os.path.join(ROOT, "configs/detection", config), *keys, *size, "THREADS", "1"]


def measured(binary, words):
    run = subprocess.run([binary, "bench", "train-step", *words, "--steps", "2", "--json"], capture_output=True,
                         text=True)
    if run.returncode != 0:
        sys.exit(f"{' '.join(words)}: {run.stderr}")
    return json.loads(run.stdout.splitlines()[-1])


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("binary")
parser.add_argument("--quick", action="store_true")
parser.add_argument("--only", action="append", default=[], help="cases whose name contains this")
parser.add_argument("--json", help="write the figures to this file")
args = parser.parse_args()

parts = ("arenas", "states", "kept", "scratch", "loader")
print(f"{'MiB':36}{''.join(f'{part:>9}' for part in parts)}{'sum':>9}{'grown':>9}      %")
rows, wrong = [], 0
for name, words in cases(args.quick):
    if args.only and not any(part in name for part in args.only):
        continue
    result = measured(args.binary, words)
    predicted, grown = result["predicted"], result["grown_bytes"]
    off = predicted["all"] - grown
    holds = abs(off) <= max(0.1 * grown, 20 * MIB)
    wrong += not holds
    print(f"{name:36}{''.join(f'{predicted[part] / MIB:9.1f}' for part in parts)}{predicted['all'] / MIB:9.1f}"
          f"{grown / MIB:9.1f}{100 * off / max(grown, 1):7.1f}{'' if holds else '  WRONG'}", flush=True)
    rows.append({"name": name, "words": words, "predicted": predicted, "grown_bytes": grown})
if args.json:
    with open(args.json, "w", encoding="utf-8") as file:
        json.dump(rows, file, indent=1)
if not rows:
    sys.exit("no case has such a name")
sys.exit(f"{wrong} of {len(rows)} predictions are off by more than 10 % and 20 MiB" if wrong else 0)
