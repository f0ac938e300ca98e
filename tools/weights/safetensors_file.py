# SPDX-License-Identifier: Apache-2.0
"""Writes safetensors files with checksums, as Lockstep does. Needs NumPy."""
import json
import os
import struct
import tempfile

import numpy as np

# The names of types in the format. bfloat16, which NumPy lacks, comes as Bits.
TYPES = {"float64": "F64", "float32": "F32", "float16": "F16", "int64": "I64", "int32": "I32",
         "int16": "I16", "int8": "I8", "uint8": "U8", "uint16": "U16", "uint32": "U32",
         "uint64": "U64", "bool": "BOOL"}


class Bits:
    """An array of 16-bit integers that hold the bits of bfloat16 numbers."""

    def __init__(self, values):
        self.values = values


def _table():
    numbers = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        numbers = np.where(numbers & 1, (numbers >> 1) ^ np.uint32(0x82F63B78), numbers >> 1)
    return numbers


CRC_TABLE = _table()


def _apply(matrix, sums):
    """The sums times a matrix over bits: 32 columns."""
    result = np.zeros_like(sums)
    for bit in range(32):
        result ^= np.where(sums >> np.uint32(bit) & 1, matrix[bit], np.uint32(0))
    return result


def _behind(sums, count):
    """The sums after `count` bytes of zeros."""
    columns = np.uint32(1) << np.arange(32, dtype=np.uint32)
    matrix = CRC_TABLE[columns & 255] ^ (columns >> np.uint32(8))
    while count:
        if count & 1:
            sums = _apply(matrix, sums)
        matrix = _apply(matrix, matrix)
        count >>= 1
    return sums


def _rest(data):
    """The sum of the bytes from 0 on. Sums many equal parts at once and then joins them in pairs."""
    parts = 1
    while parts < 65536 and len(data) // (2 * parts) >= 64:
        parts *= 2
    length = len(data) // parts
    lanes = data[:parts * length].reshape(parts, length)
    sums = np.zeros(parts, np.uint32)
    for i in range(length):
        sums = CRC_TABLE[(sums ^ lanes[:, i]) & 255] ^ (sums >> np.uint32(8))
    span = length
    while len(sums) > 1:
        sums = _behind(sums[0::2], span) ^ sums[1::2]
        span *= 2
    result = sums[0]
    for byte in data[parts * length:]:
        result = CRC_TABLE[(result ^ byte) & 255] ^ (result >> np.uint32(8))
    return result


def crc32c(data):
    """The CRC-32C of bytes or of an array's bytes."""
    data = np.frombuffer(memoryview(data).cast("B"), np.uint8)
    ones = np.array([0xFFFFFFFF], np.uint32)
    return int((_behind(ones, len(data)) ^ _rest(data))[0] ^ np.uint32(0xFFFFFFFF))


def _joined(first, second, length):
    """The CRC-32C of two pieces in a row, from their own and the length of the second."""
    return int(_behind(np.array([first], np.uint32), length)[0]) ^ second


def write(path, tensors, metadata):
    """Writes a dictionary of arrays. The old file stays if anything fails."""
    items = []
    for name, array in tensors.items():
        kind = "BF16" if isinstance(array, Bits) else None
        array = np.asarray(array.values if kind else array)
        array = np.ascontiguousarray(array, array.dtype.newbyteorder("<")).reshape(array.shape)
        items.append((name, kind or TYPES[array.dtype.name], array))
    items.sort(key=lambda item: (-item[2].itemsize, item[0]))  # keeps every tensor aligned
    sums = [crc32c(array.tobytes()) for _, _, array in items]
    said = dict(metadata, crc32c="00000000")
    said.update((f"crc32c/{name}", f"{total:08x}") for (name, _, _), total in zip(items, sums))
    header, end = {"__metadata__": dict(sorted(said.items()))}, 0
    for name, kind, array in items:
        header[name] = {"dtype": kind, "shape": list(array.shape),
                        "data_offsets": [end, end + array.nbytes]}
        end += array.nbytes
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    whole = crc32c(struct.pack("<Q", len(text)) + text)
    for (_, _, array), total in zip(items, sums):
        whole = _joined(whole, total, array.nbytes)
    text = text.replace(b'"crc32c":"00000000"', b'"crc32c":"%08x"' % whole, 1)
    folder = os.path.dirname(os.path.abspath(path))
    descriptor, temporary = tempfile.mkstemp(dir=folder, prefix=os.path.basename(path) + ".")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(struct.pack("<Q", len(text)) + text)
            for _, _, array in items:
                file.write(array.tobytes())
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
