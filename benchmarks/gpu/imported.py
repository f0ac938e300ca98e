# SPDX-License-Identifier: Apache-2.0
"""A training step of a network that PyTorch exports to ONNX, by `lockstep train`."""
import json
import os
import shutil
import statistics
import sys

from . import machine, steps

ITERATIONS = 40  # the last half counts


def exported(part, args, case):
    path = os.path.join(args.out, case.model + ".onnx")
    if not os.path.exists(path):
        steps.output_or_raise([sys.executable, os.path.join(machine.BENCH, "export_network.py"), case.model, path],
                              part.log_of(f"{case.model} export"), part.left())
    return path


def seconds_of_a_step(part, args, case):
    config = os.path.join(args.out, case.model + ".yaml")
    folder = os.path.join(args.out, "h_" + case.model)
    shutil.rmtree(folder, ignore_errors=True)  # of the previous round
    with open(config, "w", encoding="utf-8") as file:
        file.write(f"""DEVICES: {args.device}
PRECISION: {case.precision}
MODEL: {{ONNX: {exported(part, args, case)}, NUM_CLASSES: 1000}}
DATA: {{NAME: synthetic, TRAIN_SIZE: {2 * case.batch}, TEST_SIZE: {case.batch}}}
TRAIN: {{BATCH_SIZE: {case.batch}, LOG_ITERS: {ITERATIONS // 4}, SNAPSHOT_ITERS: {10 * ITERATIONS}}}
TEST: {{ITERS: {10 * ITERATIONS}}}
SOLVER: {{BASE_LR: 0.001, MAX_ITER: {ITERATIONS}}}
""")
    steps.output_or_raise([args.lockstep, "train", config, "OUTPUT_DIR", folder],
                          part.log_of(f"{case.name()} Lockstep"), part.left(), LOCKSTEP_ENGINES=steps.engines_of(args))
    with open(os.path.join(folder, "metrics.jsonl"), encoding="utf-8") as file:
        rates = [line["images_per_second"] for line in map(json.loads, file) if "images_per_second" in line]
    return case.batch / statistics.mean(rates[-2:])
