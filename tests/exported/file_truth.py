# SPDX-License-Identifier: Apache-2.0
"""The loss of an exported file, and its slopes, in float64: a reference where the export computes something
else than the network. By onnx's own evaluator, in numpy: slow, for small networks."""
import numpy as np
import onnx
from onnx import TensorProto, numpy_helper
from onnx.reference import ReferenceEvaluator

NUDGE, DIRECTIONS = 1e-6, 3


def widened(tensor):
    """A constant of float32 in float64."""
    if tensor.data_type != TensorProto.FLOAT:
        return
    values = numpy_helper.to_array(tensor).astype(np.float64)
    name = tensor.name
    tensor.CopyFrom(numpy_helper.from_array(values, name))


def in_float64(model):
    """Changes the element type of a file, functions included."""
    graph = model.graph
    for tensor in graph.initializer:
        widened(tensor)
    for value in (*graph.input, *graph.output):
        if value.type.tensor_type.elem_type == TensorProto.FLOAT:
            value.type.tensor_type.elem_type = TensorProto.DOUBLE
    del graph.value_info[:]
    pending = [graph.node, *(function.node for function in model.functions)]
    while pending:
        for node in pending.pop():
            for attribute in node.attribute:
                if attribute.name in ("to", "dtype") and attribute.i == TensorProto.FLOAT:
                    attribute.i = TensorProto.DOUBLE
                if attribute.HasField("t"):
                    widened(attribute.t)
                if attribute.HasField("g"):
                    for tensor in attribute.g.initializer:
                        widened(tensor)
                    pending.append(attribute.g.node)
                if attribute.name == "value_float":
                    value = numpy_helper.from_array(np.float64(attribute.f))
                    attribute.name, attribute.type = "value", onnx.AttributeProto.TENSOR
                    attribute.ClearField("f")
                    attribute.t.CopyFrom(value)
    return model


class FileTruth:
    def __init__(self, path):
        model = in_float64(onnx.load(path))
        self.parameters = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
        # Parameters become inputs, so that each evaluation may have others.
        for name, values in self.parameters.items():
            kind = onnx.helper.np_dtype_to_tensor_dtype(values.dtype)
            model.graph.input.append(onnx.helper.make_tensor_value_info(name, kind, values.shape))
        del model.graph.initializer[:]
        self.evaluator = ReferenceEvaluator(model)

    def loss(self, parts, parameters):
        """The mean over the parts of a batch; a part is a dictionary of arrays."""
        total = 0.0
        for part in parts:
            fed = {name: x.astype(np.float64) if x.dtype == np.float32 else x for name, x in part.items()}
            total += float(self.evaluator.run(["loss"], {**self.parameters, **parameters, **fed})[0])
        return total / len(parts)

    def difference(self, parts, gradients):
        """The loss, and the largest difference between a slope of the file and the gradients' slope, relative to
        the gradients' length. The directions are the gradients themselves, and random ones."""
        loss, length = self.loss(parts, {}), np.sqrt(sum((g ** 2).sum() for g in gradients.values()))
        random, worst = np.random.default_rng(1), 0.0
        for i in range(DIRECTIONS + 1):
            way = gradients if i == 0 else {n: random.standard_normal(g.shape) for n, g in gradients.items()}
            long = np.sqrt(sum((w ** 2).sum() for w in way.values()))
            ahead, behind = (self.loss(parts, {n: self.parameters[n] + sign * NUDGE / long * w
                                               for n, w in way.items()}) for sign in (1, -1))
            ours = sum((gradients[n] * way[n]).sum() for n in way) / long
            worst = max(worst, abs((ahead - behind) / (2 * NUDGE) - ours) / length)
        return loss, worst
