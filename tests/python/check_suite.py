#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""benchmarks/suite.py compares a small network with PyTorch: check_suite.py SUITE LOCKSTEP FOLDER"""
import json
import os
import subprocess
import sys

try:
    import torch  # noqa: F401
except ImportError:
    print("no torch")
    sys.exit(77)


def main():
    suite, lockstep, folder = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    paths = {kind: f"{folder}/suite.{kind}" for kind in ("json", "record", "picture")}
    options = [part for kind, path in paths.items() for part in (f"--{kind}", path)]
    out = subprocess.run(
        [sys.executable, suite, "--lockstep", lockstep, "--models", "mlp:4,lenet:2", "--rounds", "1",
         "--threads", "1", *options], check=True, capture_output=True, text=True).stdout
    with open(paths["json"], encoding="utf-8") as file:
        results = json.load(file)
    assert [r["model"] for r in results] == ["mlp", "lenet"], results
    for r in results:
        assert "eager" in r["torch_seconds"], r
        best = min(r["torch_seconds"].values())
        assert abs(r["ratio"] * r["seconds"] - best) < 1e-9, r
        for figure in ("most_bytes", "torch_most_bytes", "first_step_seconds",
                       "torch_first_step_seconds"):
            assert r[figure] > 0, r
        assert f"| {r['model']} {r['batch']} |" in out, out
    with open(paths["picture"], encoding="utf-8") as file:
        assert file.read().count("<rect") == 3  # the background, and one bar for each
    # The record has the format that the command reads. Even a busy machine does not slow a step by a factor of a
    # thousand.
    with open(paths["record"], encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    with open(paths["record"], "w", encoding="utf-8") as file:
        file.writelines(json.dumps(line | {"seconds": 1000 * line["seconds"]}) + "\n"
                        for line in lines)
    compared = subprocess.run([lockstep, "bench", "train-step", "--against", paths["record"]],
                              check=True, capture_output=True, text=True).stdout
    assert "mlp, batch 4" in compared and "lenet, batch 2" in compared, compared
    stop_early(suite, lockstep, f"{folder}/stopped.json")


def stop_early(suite, lockstep, path):
    """A stopped run keeps its complete parts."""
    run = subprocess.Popen(
        [sys.executable, suite, "--lockstep", lockstep, "--models", "mlp:4,lenet:2", "--rounds",
         "1000000", "--threads", "1", "--json", path],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while "round 1 of" not in run.stderr.readline():
        assert run.poll() is None, "it ended without a round"
    run.terminate()
    out, err = run.communicate()
    assert run.returncode == 130, (run.returncode, err)
    assert "| mlp 4 |" in out and "| lenet" not in out, out
    assert "stopped after" in err, err
    with open(path, encoding="utf-8") as file:
        (result,) = json.load(file)
    assert result["rounds"] >= 1, result


main()
