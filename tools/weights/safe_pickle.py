# SPDX-License-Identifier: Apache-2.0
"""Reads pickles of dictionaries, lists, texts, numbers and arrays without running anything in them.

A pickle is a program for Python's unpickler, which may call any function. Here a name in a pickle
becomes a Known, and only the names in the table below exist: NumPy's arrays and types, and the
tensors of PyTorch. Every other name is refused, whether the pickle calls it or not.
"""
import collections
import pickle

import numpy as np

MOST_LINE = 1 << 16


class Refused(Exception):
    """The text says why the file is not read."""


class Part:
    """A file of which only `size` bytes belong to the pickle. Announced lengths are compared with
    the bytes that are left before memory is taken."""

    def __init__(self, file, size):
        self.file, self.left = file, size

    def read(self, count):
        if count < 0 or count > self.left:
            raise Refused(f"announces {count} bytes where {self.left} are left: the file is cut off "
                          f"or damaged")
        self.left -= count
        data = self.file.read(count)
        if len(data) != count:
            raise Refused("ends too early: the file is cut off")
        return data

    def readline(self):
        line = self.file.readline(min(self.left, MOST_LINE))
        self.left -= len(line)
        if not line.endswith(b"\n"):
            raise Refused("ends within a line: the file is cut off or damaged")
        return line


class Known:
    """A name that pickles may use."""

    def __init__(self, name, make):
        self.name, self.make = name, make


class Made:
    """An object under construction; build() gets its state."""


class Kind(Made):
    """A NumPy type."""

    def __init__(self, code="", *_):
        allowed = {"f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "b1"}
        if code not in allowed:
            raise Refused(f"has an array of the type {code!r:.40}; known are {sorted(allowed)}")
        self.dtype = np.dtype(code)

    def build(self, state):
        order = state[1]
        if order not in ("<", ">", "|", "="):
            raise Refused(f"has an array with the byte order {order!r:.10}")
        self.dtype = self.dtype.newbyteorder(order if order != "|" else "=")


class Array(Made):
    """A NumPy array, `values` once it is built."""

    values = None

    def build(self, state):
        _, shape, kind, by_columns, data = state
        if isinstance(data, str):
            data = data.encode("latin1")
        self.fill(shape, kind, by_columns, data)

    def fill(self, shape, kind, by_columns, data):
        if not isinstance(kind, Kind) or not isinstance(data, (bytes, bytearray)):
            raise Refused("has an array of objects, not of numbers")
        count = 1
        for side in shape:
            if not isinstance(side, int) or side < 0:
                raise Refused(f"has an array with a side of {side!r:.20}")
            count *= side
        if count * kind.dtype.itemsize != len(data):
            raise Refused(f"has an array of {shape} {kind.dtype.name}, {count * kind.dtype.itemsize} "
                          f"bytes, with {len(data)} bytes of data")
        flat = np.frombuffer(data, kind.dtype)
        self.values = flat.reshape(tuple(shape), order="F" if by_columns else "C")


class Number(Made):
    """A NumPy number."""

    def __init__(self, kind, data):
        if isinstance(data, str):
            data = data.encode("latin1")
        array = Array()
        array.fill((), kind, False, data)
        self.values = array.values


def _new_array(*_):
    return Array()


def _from_buffer(data, kind, shape, order):
    array = Array()
    array.fill(shape, kind, order == "F", data)
    return array


class Ordered(collections.OrderedDict):
    """PyTorch's dictionaries carry attributes, which are not needed."""

    def build(self, state):
        pass


def _encoded(text, how="latin1"):
    if how not in ("latin1", "ascii", "utf-8", "utf8"):
        raise Refused(f"encodes a text as {how!r:.20}")
    return text.encode(how)


def _plain_bytes(*given):
    if given and not all(isinstance(each, bytes) for each in given):
        raise Refused("makes bytes of something else")
    return given[0] if given else b""


def numpy_names():
    names = {("numpy", "ndarray"): Known("numpy.ndarray", None),
             ("numpy", "dtype"): Known("numpy.dtype", Kind),
             ("_codecs", "encode"): Known("_codecs.encode", _encoded),
             ("__builtin__", "bytes"): Known("bytes", _plain_bytes),
             ("builtins", "bytes"): Known("bytes", _plain_bytes),
             ("collections", "OrderedDict"): Known("OrderedDict", Ordered)}
    for module in "numpy.core", "numpy._core":
        names[module + ".multiarray", "_reconstruct"] = Known("numpy _reconstruct", _new_array)
        names[module + ".multiarray", "scalar"] = Known("numpy scalar", Number)
        names[module + ".numeric", "_frombuffer"] = Known("numpy _frombuffer", _from_buffer)
    return names


class Unpickler(pickle._Unpickler):  # the one in Python: the other sizes tables as a pickle says
    dispatch = dict(pickle._Unpickler.dispatch)

    def __init__(self, part, names, storage=None):
        super().__init__(part, fix_imports=False, encoding="latin1")
        self.names, self.storage = names, storage

    def find_class(self, module, name):
        known = self.names.get((module, name))
        if known is None:
            raise Refused(f"names {module}.{name}; a file of weights may hold dictionaries, lists, "
                          f"texts, numbers and arrays only. Nothing of the file was run")
        return known

    def persistent_load(self, name):
        if self.storage is None:
            raise Refused("refers to an object outside of the pickle")
        return self.storage(name)

    def _call(self, known, given):
        if not isinstance(known, Known) or known.make is None or not isinstance(given, tuple):
            raise Refused("calls something that is no function of arrays")
        return known.make(*given)

    def load_reduce(self):
        given = self.stack.pop()
        self.stack[-1] = self._call(self.stack[-1], given)

    def load_newobj(self):
        given, known = self.stack.pop(), self.stack.pop()
        self.append(self._call(known, given))

    def load_build(self):
        state, made = self.stack.pop(), self.stack[-1]
        if not isinstance(made, (Made, Ordered)):
            raise Refused("gives a state to something that has none")
        made.build(state)

    def load_bytearray8(self):
        size = int.from_bytes(self.read(8), "little")
        self.append(self.read(size))

    def load_not_known(self):
        raise Refused("uses an instruction that files of arrays do not need")

    dispatch[pickle.REDUCE[0]] = load_reduce
    dispatch[pickle.NEWOBJ[0]] = load_newobj
    dispatch[pickle.BUILD[0]] = load_build
    dispatch[pickle.BYTEARRAY8[0]] = load_bytearray8
    for code in (pickle.INST, pickle.OBJ, pickle.NEWOBJ_EX, pickle.EXT1, pickle.EXT2, pickle.EXT4,
                 pickle.NEXT_BUFFER, pickle.READONLY_BUFFER):
        dispatch[code[0]] = load_not_known


def read(part, names=None, storage=None):
    """The object of one pickle. Throws Refused for everything that is not allowed or damaged."""
    try:
        return Unpickler(part, names or numpy_names(), storage).load()
    except Refused:
        raise
    except RecursionError:
        raise Refused("is nested too deep") from None
    except Exception as error:  # a damaged pickle breaks the unpickler in many ways
        raise Refused(f"is no pickle, or damaged: {type(error).__name__}: {error!s:.100}") from None
