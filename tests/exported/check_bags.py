# SPDX-License-Identifier: Apache-2.0
"""Compares one step of each network in bags/ with PyTorch's loss and gradients.

    check_bags.py LOCKSTEP WORK      Exit code 77: no numpy.
"""
import pathlib
import shutil
import subprocess
import sys

try:
    import numpy as np
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

LIMIT = 1e-5
# Without the exporter's optimisation the loop over bags with a padding index has a condition that is not
# recognised. The refusal names the node.
REFUSED = {"padding.plain.onnx": "Control flow on data is not supported"}


def check(lockstep, work, path, truth, replicas, *more):
    out = work / "out"
    shutil.rmtree(out, ignore_errors=True)
    run = subprocess.run([lockstep, "step", path, "--inputs", work / "in", "--outputs", out, "--loss",
                          "loss", "--devices", f"cpu*{replicas}", *more], capture_output=True, text=True)
    if run.returncode != 0:
        return run.stderr.strip()
    for name in truth:
        if name.startswith("in_"):
            continue
        ours, expected = np.load(out / f"{name}.npy"), truth[name]
        off = np.abs(ours - expected).max() / max(np.abs(expected).max(), 1e-3)
        if ours.shape != expected.shape or not off <= LIMIT:
            return f"{name} is off by {off:.1e}"
    return ""


def main():
    lockstep, work = sys.argv[1], pathlib.Path(sys.argv[2])
    files = sorted((pathlib.Path(__file__).parent / "bags").glob("*.onnx"))
    steps = failed = 0
    for path in files:
        truth = np.load(path.with_name(path.name.split(".")[0] + ".npz"))
        shutil.rmtree(work, ignore_errors=True)
        (work / "in").mkdir(parents=True)
        for name in truth:
            if name.startswith("in_"):
                np.save(work / "in" / f"{name[3:]}.npy", truth[name])
        # Offsets count from the first word of the whole batch, so only equal bags can be split.
        for replicas in (1, 2) if path.name.startswith("equal") else (1,):
            error = check(lockstep, work, path, truth, replicas)
            if reason := REFUSED.get(path.name):
                error = "" if reason in error else f"should be refused: {reason}; was: {error or 'as PyTorch'}"
            steps += 1
            failed += bool(error)
            print(f"{path.name} on {replicas}: {error or ('refused' if path.name in REFUSED else 'as PyTorch')}")
    print(f"{len(files)} files, {failed} of {steps} steps differ")
    return 1 if failed or len(files) < 26 else 0


if __name__ == "__main__":
    sys.exit(main())
