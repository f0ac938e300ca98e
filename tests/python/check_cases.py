# SPDX-License-Identifier: Apache-2.0
"""Runs the operator cases written by operators_test (LOCKSTEP_CASE_DIR) in ONNX Runtime.

Usage: check_cases.py CASE_DIR. Exits with 1 if an output differs, with 77 (skip) without the oracle.
"""
import pathlib
import sys

try:
    import numpy as np
    import onnx
    import onnxruntime
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

# Operators of Lockstep's domain, each written with its body in standard operators.
OWN = ("BoxSuppression", "DetectionResults", "MultilevelRoiAlign", "Scale", "SigmoidFocalLoss",
       "SoftmaxFocalLoss", "WeightedSum")

onnxruntime.set_default_logger_severity(4)
failed = unsupported = passed = 0
of_bodies = {}
for folder in sorted(pathlib.Path(sys.argv[1]).iterdir()):
    model = onnx.load(folder / "model.onnx")
    onnx.checker.check_model(model, full_check=True)
    feeds = {i.name: np.load(folder / f"{i.name}.npy") for i in model.graph.input}
    try:
        session = onnxruntime.InferenceSession(
            str(folder / "model.onnx"), providers=["CPUExecutionProvider"])
    except Exception as error:  # an element type or mode that ONNX Runtime lacks
        if "NOT_IMPLEMENTED" not in str(error):
            raise
        print(f"unsupported by ONNX Runtime: {folder.name}")
        unsupported += 1
        continue
    body = next((op for op in OWN if folder.name.startswith(op + "_")), None)
    names = [o.name for o in model.graph.output]
    for name, theirs in zip(names, session.run(names, feeds)):
        ours = np.load(folder / f"{name}.npy")
        if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
            print(f"{folder.name} {name}: ours {ours.dtype}{ours.shape}, theirs {theirs.dtype}{theirs.shape}")
            failed += 1
        elif ours.dtype.kind in "iub" and not np.array_equal(ours, theirs):
            print(f"{folder.name} {name}: ours {ours.flatten()[:20]}, theirs {theirs.flatten()[:20]}")
            failed += 1
        elif not np.allclose(ours, theirs, rtol=1e-5 if body else 1e-4, atol=1e-5, equal_nan=True):
            print(f"{folder.name} {name}: differs by {np.max(np.abs(ours - theirs))}")
            failed += 1
        else:
            passed += 1
            if body:
                of_bodies[body] = of_bodies.get(body, 0) + 1
print(f"{passed} outputs agree with ONNX Runtime {onnxruntime.__version__}, {failed} differ, "
      f"{unsupported} cases it does not support")
print("of bodies of our operators:", ", ".join(f"{op} {n}" for op, n in sorted(of_bodies.items())))
sys.exit(1 if failed or passed < 100 or len(of_bodies) < len(OWN) else 0)
