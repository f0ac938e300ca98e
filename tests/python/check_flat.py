# SPDX-License-Identifier: Apache-2.0
"""Checks the files of `lockstep export STEP --flat` with the newest onnx package.

Usage: check_flat.py LOCKSTEP_BINARY WORK_DIR. The main graph is the step's algorithm, node by node, with the states
as initializers, and ONNX's checker accepts the file. Exits with 77 without the package.
"""
import pathlib
import subprocess
import sys

try:
    import numpy as np
    import onnx
    from onnx import numpy_helper
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

lockstep, work = sys.argv[1], pathlib.Path(sys.argv[2])
work.mkdir(parents=True, exist_ok=True)


def run(*words, code=0):
    done = subprocess.run([lockstep, *map(str, words)], capture_output=True, text=True)
    assert done.returncode == code, (words, done.stderr)
    return done


def check(step_path, flat_path):
    run("export", step_path, "--flat", "-o", flat_path)
    onnx.checker.check_model(str(flat_path))
    flat, step = onnx.load(flat_path), onnx.load(step_path, load_external_data=False)
    algorithm = step.training_info[0].algorithm
    assert not flat.training_info
    assert list(flat.graph.node) == list(algorithm.node) and len(flat.graph.node) > 0
    states = {entry.key.split(".", 3)[3]: entry.value.split("\n") for entry in step.metadata_props
              if entry.key.startswith("lockstep.state.")}
    initializers = {tensor.name: tensor for tensor in flat.graph.initializer}
    for values in states.values():
        assert all(name in initializers for name in values)
    outputs = {output.name: output for output in flat.graph.output}
    for binding in step.training_info[0].update_binding:
        assert binding.key in outputs[binding.value].doc_string, binding
    made = {name for node in flat.graph.node for name in node.output}
    assert all(name in made for name in outputs)
    return flat, initializers


for name, devices in [("mlp", 1), ("lenet", 2), ("resnet18", 2)]:
    step_file = work / f"{name}.onnx"
    run("build", name, "--devices", f"cpu*{devices}", "-o", step_file)
    flat, initializers = check(step_file, work / f"{name}_flat.onnx")
    print(f"{name}: {len(flat.graph.node)} nodes")
    assert "flat.onnx: " in run("export", step_file, "--flat", "-o", work / f"{name}_flat.onnx").stdout

# The step of a run has values, which the flat file keeps.
config = work / "config.yaml"
config.write_text("""DEVICES: cpu*2
THREADS: 1
MODEL: {TYPE: mlp, HIDDEN: [32, 16]}
DATA: {NAME: digits, TRAIN_SIZE: 200, TEST_SIZE: 100}
TRAIN: {BATCH_SIZE: 16}
SOLVER: {BASE_LR: 0.02, MAX_ITER: 3}
""")
run("train", config, "OUTPUT_DIR", work / "run")
check(work / "run/step.onnx", work / "run_flat.onnx")
net = work / "net.onnx"
run("export", work / "run", "-o", net)

# A network, an output that would replace the input, and other options are refused.
refused = run("export", net, "--flat", "-o", work / "none.onnx", code=2).stderr
assert "contains a network, but no training step" in refused, refused
assert "no FILE.onnx" in run("export", work / "run", "--flat", "-o", work / "none.onnx", code=2).stderr
assert "--flat needs no other option" in run("export", step_file, "--flat", "--portable", "-o", work / "none.onnx",
                                             code=2).stderr
run("export", step_file, "--flat", "-o", step_file, code=2)
assert not (work / "none.onnx").exists()

# Lockstep reads the file, too: as a network.
assert "AllReduce" in run("inspect", work / "lenet_flat.onnx").stdout
values = {name: numpy_helper.to_array(tensor) for name, tensor in initializers.items()
          if tensor.data_type == onnx.TensorProto.FLOAT}
assert all(np.isfinite(value).all() for value in values.values())
