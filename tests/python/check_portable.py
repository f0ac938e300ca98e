# SPDX-License-Identifier: Apache-2.0
"""Small detectors from `lockstep export --portable`: ONNX Runtime finds the same boxes, scores, classes
and count in a picture as `lockstep run`.

    check_portable.py LOCKSTEP DETECTOR_STEP FOLDER [NAME...]

Exit code 77: ONNX Runtime is not installed.
"""
import os
import subprocess
import sys

try:
    import numpy as np
    import onnx
    import onnxruntime
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

from small_detectors import DETECTORS, SIZE, predicted

LIMIT, DRAWS = 1e-4, 3
NAMES = ["rpn_fpn", "fast_c4", "fast_c4_pooled", "faster_c4", "faster_fpn", "faster_fpn_agnostic",
         "retinanet", "retinanet_softmax"]


def found(lockstep, program, folder, words, seed):
    """The predictions of Lockstep and of ONNX Runtime."""
    feeds, _, ours = predicted(lockstep, program, folder, words, seed)
    model = os.path.join(folder, "portable.onnx")
    subprocess.run([lockstep, "export", os.path.join(folder, "step.onnx"), "--portable", "-o", model],
                   check=True, stdout=subprocess.DEVNULL)
    onnx.checker.check_model(model, full_check=True)
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return ours, dict(zip(names, session.run(names, feeds)))


def differences(ours, theirs):
    if set(ours) != set(theirs):
        return [f"outputs {sorted(set(ours) ^ set(theirs))} are on one side only"]
    bad = []
    for name, mine in ours.items():
        other = theirs[name]
        if mine.shape != other.shape or mine.dtype != other.dtype:
            bad.append(f"{name}: {mine.dtype}{mine.shape}, ONNX Runtime {other.dtype}{other.shape}")
        elif mine.dtype.kind == "i":
            if not np.array_equal(mine, other):
                bad.append(f"{name}: {mine.flatten()[:12]}, ONNX Runtime {other.flatten()[:12]}")
        elif not np.allclose(mine, other, LIMIT, LIMIT * (SIZE if name == "boxes" else 1)):
            bad.append(f"{name}: off by {np.nanmax(np.abs(mine - other)):.2g}")
    if int(ours["count"][0]) < 3:
        bad.append("hardly anything was found: the check would be empty")
    return bad


def check(lockstep, program, folder, name):
    """Rounding may swap two almost equal scores; another picture avoids this case."""
    for seed in range(1, 1 + DRAWS):
        ours, theirs = found(lockstep, program, folder, DETECTORS[name], seed)
        bad = differences(ours, theirs)
        kinds = len(set(ours["classes"][0, :int(ours["count"][0])])) if "classes" in ours else 0
        print(f"{name}: {int(ours['count'][0])} boxes of {kinds or 'no'} classes"
              + "".join("\n  " + line for line in bad), flush=True)
        if not bad:
            return True
    return False


def main():
    lockstep, program, folder = sys.argv[1:4]
    names = sys.argv[4:] or NAMES
    right = [check(lockstep, program, os.path.join(folder, name), name) for name in names]
    print(f"{sum(right)} of {len(right)} detectors agree with ONNX Runtime "
          f"{onnxruntime.__version__}")
    return 0 if all(right) else 1


if __name__ == "__main__":
    sys.exit(main())
