# SPDX-License-Identifier: Apache-2.0
"""Small detectors from `lockstep export --portable`: ONNX Runtime finds the same boxes, scores, classes,
count, masks and heatmaps in a picture as `lockstep run`, which also runs the portable file itself.
Networks with masks or heatmaps also predict when no score reaches the threshold.

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

from small_detectors import DETECTORS, SHAPE_DETECTORS, SIZE, predicted, read_arrays

LIMIT, DRAWS = 1e-4, 3
RANGE = {"boxes": SIZE, "heatmaps": 10}  # of outputs that are no probabilities
NAMES = ["rpn_fpn", "fast_c4", "fast_c4_pooled", "faster_c4", "faster_fpn", "faster_fpn_agnostic",
         "faster_vgg16", "fast_vgg_m", "rfcn", "rfcn_reduced", "retinanet", "retinanet_softmax",
         "mask_fpn", "mask_fpn_enlarged", "mask_c4_shared", "keypoint_fpn", "keypoint_c4"]


def found(lockstep, program, folder, words, seed, **more):
    """The predictions of Lockstep, of ONNX Runtime, and of Lockstep on the portable file."""
    feeds, _, ours = predicted(lockstep, program, folder, words, seed, **more)
    model = os.path.join(folder, "portable.onnx")
    subprocess.run([lockstep, "export", os.path.join(folder, "step.onnx"), "--portable", "-o", model],
                   check=True, stdout=subprocess.DEVNULL)
    onnx.checker.check_model(model, full_check=True)
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    again = os.path.join(folder, "again")
    subprocess.run([lockstep, "run", model, "--inputs", os.path.join(folder, "in"), "--outputs", again],
                   check=True, stdout=subprocess.DEVNULL)
    return ours, dict(zip(names, session.run(names, feeds))), read_arrays(again)


def differences(ours, theirs, who="ONNX Runtime", least=3):
    if set(ours) != set(theirs):
        return [f"outputs {sorted(set(ours) ^ set(theirs))} are on one side only"]
    bad = []
    for name, mine in ours.items():
        other = theirs[name]
        if mine.shape != other.shape or mine.dtype != other.dtype:
            bad.append(f"{name}: {mine.dtype}{mine.shape}, {who} {other.dtype}{other.shape}")
        elif mine.dtype.kind == "i":
            if not np.array_equal(mine, other):
                bad.append(f"{name}: {mine.flatten()[:12]}, {who} {other.flatten()[:12]}")
        elif not np.allclose(mine, other, LIMIT, LIMIT * RANGE.get(name, 1)):
            bad.append(f"{name}: off by {np.nanmax(np.abs(mine - other)):.2g}")
    if int(ours["count"][0]) < least:
        bad.append("hardly anything was found: the check would be empty")
    return bad


def check_empty(lockstep, program, folder, name):
    ours, theirs, again = found(lockstep, program, folder, DETECTORS[name], 1, threshold="1")
    bad = differences(ours, theirs, least=0) + differences(ours, again, "the portable file", least=0)
    bad += ["something was found"] if ours["count"].any() else []
    print(f"{name}: no box" + "".join("\n  " + line for line in bad), flush=True)
    return not bad


def check(lockstep, program, folder, name):
    """Rounding may swap two almost equal scores; another picture avoids this case."""
    if name in SHAPE_DETECTORS and not check_empty(lockstep, program, folder, name):
        return False
    for seed in range(1, 1 + DRAWS):
        ours, theirs, again = found(lockstep, program, folder, DETECTORS[name], seed)
        bad = differences(ours, theirs) + differences(ours, again, "the portable file")
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
