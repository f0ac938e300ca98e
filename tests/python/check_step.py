# SPDX-License-Identifier: Apache-2.0
"""Checks a training step and a checkpoint with the newest Python packages.

Usage: check_step.py LOCKSTEP_BINARY WORK_DIR. Builds steps, combines inference graph and algorithm as
TrainingInfoProto documents, and checks both with onnx's checker and strict shape inference. Runs the
inference graph in ONNX Runtime. Reads a checkpoint with safetensors. Compares a network's file with the
file that `lockstep step -o` writes, and runs the latter. Exits with 77 without the packages.
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


def small_network():
    """loss = mean((x w + b)^2), of an older opset, with everything that a file can say beside its graph."""
    floats, make = onnx.TensorProto.FLOAT, onnx.helper.make_tensor_value_info
    w = onnx.numpy_helper.from_array(np.array([[0.5], [-1]], np.float32), "w")
    w.doc_string = "weights"
    b = onnx.helper.make_tensor("b", floats, [1], [0.25])  # in the field of its type
    nodes = [onnx.helper.make_node("MatMul", ["x", "w"], ["p"], name="product", doc_string="a product"),
             onnx.helper.make_node("Add", ["p", "b"], ["y"]), onnx.helper.make_node("Mul", ["y", "y"], ["s"]),
             onnx.helper.make_node("ReduceMean", ["s"], ["loss"], keepdims=0)]
    graph = onnx.helper.make_graph(
        nodes, "net", [make("x", floats, ["N", 2])], [make("loss", floats, []), make("y", floats, ["N", 1])],
        [w, b, onnx.numpy_helper.from_array(np.arange(3), "unused")], "a graph",
        value_info=[make("w", floats, [2, 1])])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)], ir_version=7,
                                   producer_name="somebody", producer_version="3", doc_string="a model")
    onnx.helper.set_model_props(model, {"author": "me", "lines": "one\ntwo"})
    return model


def without_values(path):
    """The model without the data of its initializers."""
    model = onnx.load(path, load_external_data=False)
    for tensor in model.graph.initializer:
        for field in ("raw_data", "float_data", "external_data"):
            tensor.ClearField(field)
    return model


(work / "new_values/in").mkdir(parents=True, exist_ok=True)
rows = np.array([[1, 2], [3, 4], [-1, 0], [2, 2], [0, 1], [1, -1]], np.float32)
np.save(work / "new_values/in/x.npy", rows)
for name, beside in [("inside", False), ("beside", True)]:
    old, new, out = (work / "new_values" / f"{name}{end}" for end in (".onnx", "_new.onnx", ""))
    onnx.save_model(small_network(), old, save_as_external_data=beside, location=f"{name}.bin", size_threshold=0)
    subprocess.run([lockstep, "step", old, "--inputs", work / "new_values/in", "--outputs", out, "--loss", "loss",
                    "--batch", "2", "--steps", "3", "SOLVER.TYPE", "Adam", "-o", new], check=True,
                   stdout=subprocess.DEVNULL)
    onnx.checker.check_model(str(new))
    assert without_values(old) == without_values(new), f"{name}: more changed than values"
    values = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in onnx.load(new).graph.initializer}
    for tensor in ("w", "b"):
        assert np.array_equal(values[tensor], np.load(out / f"{tensor}.npy")), f"{name}: {tensor}"
    assert np.array_equal(values["unused"], np.arange(3))
    assert (new.parent / f"{new.name}.data").exists() == beside
    session = onnxruntime.InferenceSession(str(new), providers=["CPUExecutionProvider"])
    expected = rows @ values["w"] + values["b"]
    assert np.allclose(session.run(["y"], {"x": rows})[0], expected, atol=1e-6), name
    assert not np.allclose(expected, rows @ [[0.5], [-1]] + 0.25, atol=1e-3), f"{name}: nothing was trained"
print(f"onnx {onnx.__version__} accepts all steps; ONNX Runtime {onnxruntime.__version__} runs them; "
      f"safetensors {safetensors.__version__} reads the checkpoint")
