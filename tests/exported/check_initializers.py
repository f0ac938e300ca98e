# SPDX-License-Identifier: Apache-2.0
"""Compares the trained initializers of every network in files/ with PyTorch's parameters: as stored (without
the exporter's kinds, so by rules), and with kinds in the metadata as PyTorch's newer exporter writes them.

    check_initializers.py LOCKSTEP WORK      Exit code 77: no onnx.

PyTorch's parameters are the names with a gradient in the stored results.
"""
import json
import pathlib
import subprocess
import sys

try:
    import onnx
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

KIND = "pkg.torch.export.graph_signature.InputSpec.kind"


def roles(lockstep, path, *more):
    """The role and the reason of each initializer, by name."""
    run = subprocess.run([lockstep, "inspect", path, "--parameters", "--loss", "loss", *more],
                         capture_output=True, text=True, check=True)
    rows = [line.split(maxsplit=3) for line in run.stdout.splitlines()]
    return {row[0]: (row[2], row[3]) for row in rows if len(row) == 4 and row[1].count("[") == 1}


def trained(found):
    return {name for name, (role, _) in found.items() if role == "trained"}


def with_kinds(model, kinds):
    """Describes each initializer in value_info, as onnx_ir does for the exporter."""
    for tensor in model.graph.initializer:
        value = onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims)
        value.metadata_props.add(key="pkg.torch.onnx.original_node_name", value="p_" + tensor.name)
        value.metadata_props.add(key=KIND, value=kinds[tensor.name])
        model.graph.value_info.append(value)
    return model


def errors_of(lockstep, path, work):
    parameters = set(json.loads(path.with_suffix("").with_suffix(".json").read_text())["1"]["gradients"])
    model = onnx.load(path)
    names = [tensor.name for tensor in model.graph.initializer]
    batch_norms = sum(node.op_type == "BatchNormalization" for node in model.graph.node)
    by_rule = roles(lockstep, path, "--train-batch-norm")
    if set(by_rule) != set(names):
        yield f"the list lacks {set(names) - set(by_rule)}"
    if trained(by_rule) != parameters:
        yield f"the rules train {trained(by_rule) - parameters}, and miss {parameters - trained(by_rule)}"
    unsure = [name for name, (_, why) in by_rule.items() if why.startswith("cannot be decided")]
    if unsure:
        yield f"the rules cannot decide about {unsure}"
    if sum(role == "updated" for role, _ in by_rule.values()) != 2 * batch_norms:
        yield "a running statistic is not updated"

    kinds = {name: "PARAMETER" if name in parameters else "BUFFER" for name in names}
    told = work / path.name
    onnx.save(with_kinds(model, kinds), told)
    by_kind = roles(lockstep, told)
    if trained(by_kind) != parameters:
        yield f"the kinds train {trained(by_kind) ^ parameters} otherwise"
    for name in parameters:
        if by_kind[name][1] != "a parameter, the exporter says":
            yield f"{name}: {by_kind[name]}"

    swapped = {name: "CONSTANT_TENSOR" if i % 3 == 0 and name in parameters else kinds[name]
               for i, name in enumerate(names)}
    onnx.save(with_kinds(onnx.load(path), swapped), told)
    fewer = {name for name in parameters if swapped[name] == "PARAMETER"}
    if trained(roles(lockstep, told)) != fewer:
        yield "constants are trained"


def main():
    lockstep, work = sys.argv[1], pathlib.Path(sys.argv[2])
    work.mkdir(parents=True, exist_ok=True)
    files = sorted((pathlib.Path(__file__).parent / "files").glob("*.onnx"))
    failed = 0
    for path in files:
        errors = list(errors_of(lockstep, path, work))
        failed += bool(errors)
        print(f"{path.name}: {'; '.join(errors) or 'as PyTorch'}")
    print(f"{len(files)} files, {failed} differ")
    return 1 if failed or len(files) < 32 else 0


if __name__ == "__main__":
    sys.exit(main())
