# SPDX-License-Identifier: Apache-2.0
"""Compares one step of each network in files/, on 1 and 2 replicas, with PyTorch's in float64.

    check.py LOCKSTEP WORK      Exit code 77: no numpy.
"""
import json
import pathlib
import shutil
import subprocess
import sys

try:
    import numpy as np
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

from truth import difference, summary

LOSS_LIMIT, LIMIT = 1e-5, 1e-4


def check(lockstep, work, path, truth, replicas):
    out = work / "out"
    shutil.rmtree(out, ignore_errors=True)
    run = subprocess.run([lockstep, "step", path, "--inputs", work / "in", "--outputs", out, "--loss",
                          "loss", "--devices", f"cpu*{replicas}", "--train-batch-norm"],
                         capture_output=True, text=True)
    if run.returncode != 0:
        return run.stderr.strip()
    if "warning" in run.stderr:
        return run.stderr.strip()
    wanted = truth[str(replicas)]
    loss = float(np.load(out / "loss.npy"))
    if not abs(loss - wanted["loss"]) <= LOSS_LIMIT * abs(wanted["loss"]):
        return f"loss is {loss}, should be {wanted['loss']}"
    longest = max(length for length, _ in wanted["gradients"].values())
    for name, expected in wanted["gradients"].items():
        file = out / f"{name}_grad.npy"
        if not file.exists():
            return f"no gradient of {name}"
        off = difference(summary(name, np.load(file)), expected, longest)
        if not off <= LIMIT:
            return f"the gradient of {name} is off by {off:.1e}"
    return ""


def main():
    lockstep, work = sys.argv[1], pathlib.Path(sys.argv[2])
    files = sorted((pathlib.Path(__file__).parent / "files").glob("*.onnx"))
    failed = 0
    for path in files:
        network = path.name.split(".")[0]
        shutil.rmtree(work, ignore_errors=True)
        (work / "in").mkdir(parents=True)
        batch = np.load(path.with_name(f"{network}.npz"))
        for name in batch:
            np.save(work / "in" / f"{name}.npy", batch[name])
        truth = json.loads(path.with_name(f"{network}.json").read_text())
        for replicas in (1, 2):
            error = check(lockstep, work, path, truth, replicas)
            failed += bool(error)
            print(f"{path.name} on {replicas}: {error or 'as PyTorch'}")
    print(f"{len(files)} files, {failed} of {2 * len(files)} steps differ")
    return 1 if failed or len(files) < 32 else 0


if __name__ == "__main__":
    sys.exit(main())
