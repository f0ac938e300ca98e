# SPDX-License-Identifier: Apache-2.0
"""The part of Protobuf that ONNX needs. A message is a list of [field, wire type, content]."""

import struct

MESSAGES = {  # field -> message
    "Model": {7: "Graph", 8: "Opset", 14: "Entry", 20: "Training", 25: "Function"},
    "Graph": {1: "Node", 5: "Tensor", 11: "Info", 12: "Info", 13: "Info", 15: "Sparse"},
    "Training": {1: "Graph", 2: "Graph", 3: "Entry", 4: "Entry"},
    "Function": {7: "Node", 9: "Opset"},
    "Node": {5: "Attribute"},
    "Attribute": {5: "Tensor", 6: "Graph", 10: "Tensor", 11: "Graph"},
    "Sparse": {1: "Tensor", 2: "Tensor"},
    "Tensor": {13: "Entry"},
    "Info": {2: "Type"},
    "Type": {1: "TensorType"},
    "TensorType": {2: "Shape"},
    "Shape": {1: "Dim"},
}


def varint(number):
    number &= (1 << 64) - 1
    out = bytearray()
    while number >= 128:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes(out + bytes([number]))


def read_varint(data, at):
    number = 0
    for shift in range(0, 70, 7):
        byte = data[at]
        at += 1
        number |= (byte & 127) << shift
        if byte < 128:
            return number, at
    raise ValueError("a number without end")


def parse(data, kind):
    fields, at = [], 0
    while at < len(data):
        tag, at = read_varint(data, at)
        field, wire = tag >> 3, tag & 7
        if wire == 0:
            content, at = read_varint(data, at)
        elif wire in (1, 5):
            size = 8 if wire == 1 else 4
            content, at = data[at:at + size], at + size
        elif wire == 2:
            size, at = read_varint(data, at)
            content, at = data[at:at + size], at + size
            inner = MESSAGES.get(kind, {}).get(field)
            if inner:
                content = (inner, parse(content, inner))
        else:
            raise ValueError("wire type %d" % wire)
        fields.append([field, wire, content])
    return fields


def serialize(fields):
    out = []
    for field, wire, content in fields:
        out.append(varint(field << 3 | wire))
        if wire == 0:
            out.append(varint(content))
        elif wire == 2:
            body = serialize(content[1]) if isinstance(content, tuple) else content
            out += [varint(len(body)), body]
        else:
            out.append(content)
    return b"".join(out)


def message(kind, *fields):
    """Fields are (number, value): an int, a float, bytes, text, or a message."""
    made = []
    for number, value in fields:
        if isinstance(value, str):
            value = value.encode()
        wire = 0 if isinstance(value, int) else 5 if isinstance(value, float) else 2
        made.append([number, wire, struct.pack("<f", value) if wire == 5 else value])
    return (kind, made)
