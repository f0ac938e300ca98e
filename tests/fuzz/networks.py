# SPDX-License-Identifier: Apache-2.0
"""Networks to damage, as bytes of ONNX files."""

import pathlib
import struct
import subprocess

from protobuf import message, serialize


def info(name, dims):
    shape = message("Shape", *[(1, message("Dim", (1, d) if isinstance(d, int) else (2, d)))
                               for d in dims])
    return message("Info", (1, name), (2, message("Type", (1, message("TensorType", (1, 1),
                                                                      (2, shape))))))


def tensor(name, dims, values, integers=False):
    raw = struct.pack("<%d%s" % (len(values), "q" if integers else "f"), *values)
    return message("Tensor", *[(1, d) for d in dims], (2, 7 if integers else 1), (8, name),
                   (9, raw))


def ints(name, values):
    return message("Attribute", (1, name), *[(8, v) for v in values], (20, 7))


def node(kind, inputs, output, *attributes):
    return message("Node", *[(1, i) for i in inputs], (2, output), (4, kind),
                   *[(5, a) for a in attributes])


def integer(name, value):
    return message("Attribute", (1, name), (3, value), (20, 2))


def model(opset, graph):
    return serialize(message("Model", (1, 8), (7, graph), (8, message("Opset", (2, opset))))[1])


def layers(opset):
    """Two convolved channels of 2 x 2 pixels, transposed to channels-last as `turned`."""
    nodes = [
        node("Conv", ["x", "w", "b"], "conv", ints("kernel_shape", [3, 3]), ints("strides", [1, 1]),
             ints("pads", [1, 1, 1, 1])),
        node("Relu", ["conv"], "relu"),
        node("MaxPool", ["relu"], "pool", ints("kernel_shape", [2, 2]), ints("strides", [2, 2])),
    ]
    padded = "pool"
    if opset < 18:
        padded = "padded"
        nodes.append(node("Pad", ["pool", "pads"], "padded") if opset >= 11 else
                     node("Pad", ["pool"], "padded", ints("pads", [0] * 8),
                          message("Attribute", (1, "value"), (2, 0.0), (20, 1))))
    return nodes + [node("Transpose", [padded], "turned", ints("perm", [0, 2, 3, 1]))]


def weights(channels):
    return [(5, tensor("w", [2, channels, 3, 3], [0.1] * 18 * channels)),
            (5, tensor("b", [2], [0.5, 0.1])), (5, tensor("shape", [2], [-1, 8], True)),
            (5, tensor("m", [8, 3], [0.2] * 24)), (5, tensor("pads", [8], [0] * 8, True))]


def network(opset):
    """loss = mean of a small network with most operators that have a window, an axis or a shape operand."""
    nodes = layers(opset) + [
        node("Reshape", ["turned", "shape"], "flat"),
        node("MatMul", ["flat", "m"], "scores"),
        node("Softmax", ["scores"], "soft", integer("axis", 1)),
        node("Concat", ["soft", "scores"], "both", integer("axis", 1)),
        node("ReduceMean", ["both"], "loss", ints("axes", [0, 1]), integer("keepdims", 0)),
    ]
    return model(opset, message(
        "Graph", *[(1, n) for n in nodes], (2, "net"), *weights(1),
        (11, info("x", ["N", 1, 4, 4])), (12, info("loss", [])), (12, info("scores", ["N", 3]))))


def classifier(opset):
    """Three scores of a coloured picture of 4 x 4; from opset 14 on, a batch norm in training mode."""
    nodes, tensors = layers(opset), weights(3)
    if opset >= 14:
        nodes.insert(1, node("BatchNormalization", ["conv", "one", "zero", "mean", "variance"],
                             "normal", integer("training_mode", 1)))
        nodes[1][1][6:6] = [[2, 2, b"mean_next"], [2, 2, b"variance_next"]]
        nodes[2][1][0][2] = b"normal"
        tensors += [(5, tensor(name, [2], [value] * 2)) for name, value in (
            ("one", 1.0), ("zero", 0.0), ("mean", 0.0), ("variance", 1.0))]
    nodes += [node("Reshape", ["turned", "shape"], "flat"), node("MatMul", ["flat", "m"], "scores")]
    if opset >= 13:
        nodes.append(node("Softmax", ["scores"], "soft", integer("axis", 1)))
    return model(opset, message(
        "Graph", *[(1, n) for n in nodes], (2, "net"), *tensors, (11, info("x", ["N", 3, 4, 4])),
        (12, info("soft" if opset >= 13 else "scores", ["N", 3]))))


def external(folder):
    """One tensor as external data."""
    (folder / "weights").write_bytes(struct.pack("<4f", 1, 2, 3, 4))
    weight = message("Tensor", (1, 4), (2, 1), (8, "w"), (14, 1),
                     (13, message("Entry", (1, "location"), (2, "weights"))),
                     (13, message("Entry", (1, "offset"), (2, "0"))),
                     (13, message("Entry", (1, "length"), (2, "16"))))
    return model(13, message(
        "Graph", (1, node("Add", ["x", "w"], "sum")),
        (1, node("ReduceMean", ["sum"], "loss", integer("keepdims", 0))), (2, "net"), (5, weight),
        (11, info("x", ["N", 1, 4, 4])), (12, info("loss", []))))


def make_networks(binary, folder):
    """Pairs of a name and a file's bytes. Writes external data into the folder."""
    seeds = [("network of opset %d" % opset, network(opset)) for opset in (7, 9, 12, 13, 17, 21)]
    seeds.append(("external data", external(folder)))
    exported = pathlib.Path(__file__).parent.parent / "exported" / "files"
    for path in sorted(exported.glob("*.onnx"), key=lambda path: path.stat().st_size)[:12]:
        seeds.append((path.name, path.read_bytes()))
    # Branches, loops and sequences.
    for path in sorted((exported.parent / "bags").glob("padding.*.onnx")):
        seeds.append((path.name, path.read_bytes()))
    net = folder / "net.onnx"
    net.write_bytes(network(13))
    for name, arguments in (("step of one", ["--devices", "cpu"]),
                            ("step of two", ["--devices", "cpu*2", "--all-reduce", "xring"])):
        out = folder / "seed.onnx"
        subprocess.run([binary, "build", net, "--loss", "loss", "-o", out, *arguments], check=True,
                       stdout=subprocess.DEVNULL)
        seeds.append((name, out.read_bytes()))
    return seeds
