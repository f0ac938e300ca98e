# SPDX-License-Identifier: Apache-2.0
"""Compares SOLVER.LR_POLICY plateau with torch.optim.lr_scheduler.ReduceLROnPlateau, rate by rate.

    check_plateau.py PLATEAU_TOOL LOCKSTEP FOLDER      Exit code 77: no PyTorch.

First for random results of tests, of both signs and with NaN, for both modes and several rules; then for
the results of two runs: of a classifier, whose accuracy should rise, and of a language model, whose loss
should fall.
"""
import json
import pathlib
import random
import shutil
import subprocess
import sys

try:
    import torch
except ImportError as missing:
    print(f"skipped: {missing} (Debian: python3-torch)")
    sys.exit(77)

BASE_LR = 0.5
RULES = [(factor, patience, threshold, cooldown, least)
         for factor in (0.1, 0.5) for patience in (0, 1, 3) for threshold in (0.0, 1e-4, 0.1, 1.5)
         for cooldown in (0, 2) for least in (0.0, 0.02)]
TESTS = 60
RUN = {"DEVICES": "cpu", "THREADS": 1, "TRAIN.BATCH_SIZE": 16, "TRAIN.LOG_ITERS": 1, "TEST.ITERS": 1,
       "SOLVER.MAX_ITER": 60, "SOLVER.WARM_UP_ITERS": 0, "SOLVER.BASE_LR": BASE_LR, "SOLVER.LR_POLICY": "plateau",
       "SOLVER.PLATEAU_FACTOR": 0.5, "SOLVER.PLATEAU_PATIENCE": 1, "SOLVER.PLATEAU_THRESHOLD": 0.01}


def rates_of_torch(mode, rule, values):
    factor, patience, threshold, cooldown, least = rule
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], BASE_LR)
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(
        optimizer, mode, factor, patience, threshold, "rel", cooldown, least, eps=0)
    rates = []
    for value in values:
        plateau.step(value)
        rates.append(optimizer.param_groups[0]["lr"])
    return rates


def expect_equal(what, ours, theirs):
    for i, (own, other) in enumerate(zip(ours, theirs, strict=True)):
        if not abs(own - other) <= 1e-6 * other + 1e-30:  # float32 has no smaller rates
            sys.exit(f"{what}: after test {i + 1} the rate is {own}, of PyTorch {other}")


def results(numbers):
    """Falling or rising results with steps of any size, around 0 too; some are equal, some NaN."""
    value, values = numbers.choice((0.01, 1.0, 30.0)), []
    for _ in range(TESTS):
        value *= numbers.choice((0.5, 0.99, 0.99995, 1.0, 1.00005, 1.01, 1.6))
        value -= numbers.choice((0.0, 0.0, 0.0, 0.02))
        values.append(float("nan") if numbers.random() < 0.03 else value)
    return values


def check_rules(tool):
    numbers, drops = random.Random(7), 0
    for mode, better in (("max", "larger"), ("min", "smaller")):
        for rule in RULES:
            values = results(numbers)
            words = [tool, better, BASE_LR, *rule, *values]
            output = subprocess.run(list(map(str, words)), check=True, capture_output=True, text=True).stdout
            theirs = rates_of_torch(mode, rule, values)
            expect_equal(f"{mode}, {rule}", list(map(float, output.split())), theirs)
            drops += len(set(theirs)) - 1
    print(f"{2 * len(RULES)} rules and sequences of {TESTS} tests: the rates of PyTorch, with {drops} drops")


def check_run(lockstep, folder, name, config, mode, number):
    (folder / f"{name}.yaml").write_text(config)
    words = [lockstep, "train", folder / f"{name}.yaml", "OUTPUT_DIR", folder / name]
    for key, value in RUN.items():
        words += [key, value]
    subprocess.run(list(map(str, words)), check=True, capture_output=True)
    rows = [json.loads(line) for line in open(folder / name / "metrics.jsonl", encoding="utf8")]
    values = [row[number] for row in rows if number in row]
    rates = [row["lr"] for row in rows if "lr" in row]
    rule = (*(RUN[f"SOLVER.PLATEAU_{key}"] for key in ("FACTOR", "PATIENCE", "THRESHOLD")), 0, 0.0)
    # The last test follows the last step.
    theirs = [BASE_LR, *rates_of_torch(mode, rule, values)][:len(rates)]
    expect_equal(name, rates, theirs)
    if len(set(theirs)) < 3:
        sys.exit(f"{name}: the rate falls fewer than two times, so the run shows little")
    print(f"{name}: {len(rates)} rates of PyTorch from {number}, down to {theirs[-1]}")


def main():
    tool, lockstep, folder = sys.argv[1:4]
    folder = pathlib.Path(folder)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    check_rules(tool)
    check_run(lockstep, folder, "classifier",
              "MODEL: {TYPE: mlp, HIDDEN: [16]}\nDATA: {NAME: digits, TRAIN_SIZE: 200, TEST_SIZE: 100}\n",
              "max", "test_accuracy")
    (folder / "text.txt").write_text("".join(f"{i} and {i * i}\n" for i in range(3000)))
    check_run(lockstep, folder, "language_model",
              "MODEL: {TYPE: char_lstm, HIDDEN: 8, EMBEDDING: 4}\n"
              f"DATA: {{FILES: ['{folder.resolve() / 'text.txt'}'], LENGTH: 16}}\nTEST: {{SAMPLE_LENGTH: 0}}\n",
              "min", "test_loss")


if __name__ == "__main__":
    main()
