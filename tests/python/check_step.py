# SPDX-License-Identifier: Apache-2.0
"""Checks a training step and a checkpoint with the newest Python packages.

Usage: check_step.py LOCKSTEP_BINARY WORK_DIR. Builds steps, combines inference graph and algorithm as
TrainingInfoProto documents, and checks both with onnx's checker and strict shape inference. Runs the
inference graph in ONNX Runtime. Reads a checkpoint with safetensors. Exits with 77 without the packages.
"""
import pathlib
import subprocess
import sys

try:
    import numpy as np
    import onnx
    import onnxruntime
    import safetensors.numpy
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

lockstep, work = sys.argv[1], pathlib.Path(sys.argv[2])
work.mkdir(parents=True, exist_ok=True)


def combined(model):
    """A model with inference graph + algorithm as its graph."""
    info = model.training_info[0]
    whole = onnx.ModelProto()
    whole.CopyFrom(model)
    del whole.training_info[:]
    whole.graph.node.extend(info.algorithm.node)
    whole.graph.initializer.extend(info.algorithm.initializer)
    whole.graph.input.extend(info.algorithm.input)
    whole.graph.output.extend(info.algorithm.output)
    whole.graph.value_info.extend(info.algorithm.value_info)
    return whole


for name, replicas in [("mlp", 1), ("mlp", 2), ("lenet", 2), ("lenet", 8)]:
    path = work / f"{name}{replicas}.onnx"
    subprocess.run([lockstep, "build", name, "--devices", f"cpu*{replicas}", "-o", path], check=True,
                   stdout=subprocess.DEVNULL)
    onnx.checker.check_model(str(path))
    model = onnx.load(path)
    for tensor in model.training_info[0].algorithm.initializer:  # onnx.load skips these tensors
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            onnx.external_data_helper.load_external_data_for_tensor(tensor, str(work))
            tensor.data_location = onnx.TensorProto.DEFAULT
            del tensor.external_data[:]
    assert model.ir_version == 8 and model.opset_import[0].version == 17
    whole = combined(model)
    onnx.checker.check_model(whole)
    inferred = onnx.shape_inference.infer_shapes(whole, check_type=True, strict_mode=True)
    known = {v.name for v in inferred.graph.value_info} | {o.name for o in inferred.graph.output}
    missing = [o for n in whole.graph.node for o in n.output if o and o not in known]
    assert not missing, missing[:5]
    init = onnx.ModelProto()
    init.CopyFrom(model)
    del init.training_info[:]
    init.graph.CopyFrom(model.training_info[0].initialization)
    onnx.checker.check_model(init)
    onnx.shape_inference.infer_shapes(init, check_type=True, strict_mode=True)

    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    image = np.zeros((3, 1, 28, 28), np.float32)
    prob = session.run(None, {session.get_inputs()[0].name: image})[0]
    assert prob.shape == (3, 10) and np.allclose(prob, 0.1), "zero weights predict evenly"

config = work / "config.yaml"
config.write_text("MODEL: {TYPE: mlp, HIDDEN: [8]}\nDATA: {TRAIN_SIZE: 64, TEST_SIZE: 16}\n"
                  "TRAIN: {BATCH_SIZE: 8}\nSOLVER: {MAX_ITER: 3}\n")
subprocess.run([lockstep, "train", config, "OUTPUT_DIR", work / "run"], check=True,
               stdout=subprocess.DEVNULL)
with safetensors.safe_open(work / "run/checkpoint.safetensors", framework="numpy") as file:
    assert file.metadata()["steps"] == "3"
    assert file.get_tensor("fc1_w").shape == (8, 784)
    assert np.abs(file.get_tensor("fc1_w_momentum")).max() > 0
print(f"onnx {onnx.__version__} accepts all steps; ONNX Runtime {onnxruntime.__version__} runs them; "
      f"safetensors {safetensors.__version__} reads the checkpoint")
