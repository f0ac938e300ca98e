# SPDX-License-Identifier: Apache-2.0
"""The same random draws for PyTorch and for an exported file: PyTorch's draws are recorded and repeated, and the
file takes them as inputs instead of drawing. A mask of dropout or of stochastic depth is such a draw."""
import dataclasses

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from torch.utils._python_dispatch import TorchDispatchMode

RANDOM = ("Bernoulli", "RandomUniform", "RandomUniformLike", "RandomNormal", "RandomNormalLike", "Multinomial")
CASTS = ("Cast", "CastLike")


class Unmatched(Exception):
    """The file does not draw as PyTorch does."""


class Recorded(TorchDispatchMode):
    """Notes the draws of PyTorch's operators, those inside of attention and recurrent layers too. With `known`,
    each draw gives the known values instead."""

    def __init__(self, known=None):
        super().__init__()
        self.values, self.keep, self.known = [], [], known

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        out = function(*args, **(kwargs or {}))
        if torch.Tag.nondeterministic_seeded not in function.tags or not isinstance(out, torch.Tensor):
            return out
        is_mask = function.overloadpacket is torch.ops.aten.bernoulli_
        values = out.float().clone() if self.known is None else self.known[len(self.values)]
        self.values.append(values)
        self.keep.append((args[1] if len(args) > 1 else 0.5) if is_mask else None)  # 0.5 is bernoulli_'s default
        return out.copy_(values)


@dataclasses.dataclass
class Place:
    """A place of the file that draws. `kind`: mask (a dropout), off (a dropout without training mode), below
    (uniform numbers whose comparison with a rate is a mask), or values."""

    kind: str
    name: str  # of the value that replaces the draw; "" for off
    axis: int = 0  # the dimension of the batch


class FedFile:
    """A file whose draws are inputs, in the order of its nodes."""

    def __init__(self, path):
        self.path, self.model = path, onnx.load(path)
        if self.model.functions:
            raise Unmatched("the file has functions")
        graph = self.model.graph
        self.constants = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
        for node in graph.node:
            if node.op_type == "Constant" and node.attribute[0].name == "value":
                self.constants[node.output[0]] = numpy_helper.to_array(node.attribute[0].t)
        self.places, self.inputs = [], list(graph.input)
        self.nodes = [new for node in graph.node for new in self.replaced(node)]

    def constant(self, node, i):
        """The i-th operand of a node, or None if it is left out."""
        if i >= len(node.input) or not node.input[i]:
            return None
        if node.input[i] not in self.constants:
            raise Unmatched(f"{node.op_type} {node.name} computes its operand {i}")
        return self.constants[node.input[i]].item()

    def place(self, kind):
        self.places.append(Place(kind, f"draw_{len(self.places)}" if kind != "off" else ""))
        return self.places[-1].name

    def replaced(self, node):
        """The nodes that stand for one of the file."""
        if node.op_type == "Dropout":
            return self.dropout(node)
        if node.op_type not in RANDOM:
            return [node]
        kind = "below" if node.op_type.startswith("RandomUniform") and self.is_compared(node.output[0]) else "values"
        return [helper.make_node("Identity", [self.place(kind)], [node.output[0]])]

    def dropout(self, node):
        rate = self.constant(node, 1)
        if rate == 0:
            return [node]
        if not self.constant(node, 2):
            self.place("off")
            return [node]
        if len(node.output) > 1 and node.output[1]:
            raise Unmatched(f"the mask of {node.name} is used")
        name, scaled = self.place("mask"), f"{node.output[0]}/mask"
        share = np.float32(1 / (1 - (0.5 if rate is None else rate)))
        return [helper.make_node("Constant", [], [f"{scaled}/share"], value=numpy_helper.from_array(share)),
                helper.make_node("Mul", [name, f"{scaled}/share"], [scaled]),
                helper.make_node("Mul", [node.input[0], scaled], [node.output[0]])]

    def is_compared(self, value):
        """Whether all that reads a value, casts aside, are comparisons value < rate."""
        readers = [node for node in self.model.graph.node if value in node.input[:1]]  # CastLike's second is a type
        return bool(readers) and all(
            self.is_compared(node.output[0]) if node.op_type in CASTS else node.op_type == "Less" for node in readers)

    def off(self):
        return sum(place.kind == "off" for place in self.places)

    def find_batch(self, whole, part):
        """Sets the dimension of the batch of each draw, from the draws of batches of two sizes."""
        for place, one, other in zip(self.places, whole.values, part.values):
            place.axis = next((i for i, pair in enumerate(zip(one.shape, other.shape)) if pair[0] != pair[1]), 0)

    def matched(self, parts):
        """Draws for PyTorch and inputs for the file, from what PyTorch drew in each part of a batch. A dropout that
        the file leaves off is off in PyTorch: its mask is the share that is kept, by which PyTorch divides it."""
        known, fed = [], {}
        for part in parts:
            if len(part.values) != len(self.places):
                raise Unmatched(f"PyTorch draws {len(part.values)} times, the file {len(self.places)} times")
            known.append([])
            for place, values, keep in zip(self.places, part.values, part.keep):
                if (keep is None) != (place.kind == "values"):
                    raise Unmatched(f"draw {len(known[-1])} is no mask in one of PyTorch and the file")
                known[-1].append(torch.full_like(values, keep) if place.kind == "off" else values)
                if place.kind != "off":
                    value = 1 - values if place.kind == "below" else values
                    fed.setdefault(f"{place.name}_input", []).append(value.movedim(place.axis, 0))
        return known, {name: torch.cat(values) for name, values in fed.items()}

    def write(self, fed):
        """Writes the file with the draws as inputs, whose first dimension is the batch's."""
        inputs, moves = [], []
        for place in self.places:
            if place.kind == "off":
                continue
            name = f"{place.name}_input"
            shape = fed[name].shape
            inputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, [f"{name}_rows", *shape[1:]]))
            order = [*range(1, place.axis + 1), 0, *range(place.axis + 1, len(shape))]
            moves.append(helper.make_node("Transpose", [name], [place.name], perm=order))
        graph = self.model.graph
        for kept, new in ((graph.input, [*self.inputs, *inputs]), (graph.node, [*moves, *self.nodes])):
            del kept[:]
            kept.extend(new)
        onnx.save(self.model, self.path)


def recorded(model, parts):
    """PyTorch's draws in each part of a batch; changes the running statistics of the model."""
    drawn = []
    with torch.no_grad():
        for part in parts:
            with Recorded() as record:
                model(**part)
            drawn.append(record)
    return drawn
