# SPDX-License-Identifier: Apache-2.0
"""Small input files for commands."""

import math
import struct
import zlib


def write_npy(path, kind, dims, values):
    header = b"{'descr': '<%s', 'fortran_order': False, 'shape': %a, }" % (kind.encode(), dims)
    header += b" " * (63 - (10 + len(header)) % 64) + b"\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header +
                     struct.pack("<%d%s" % (len(values), "f" if kind == "f4" else "q"), *values))


def write_inputs(folder, dims, targets):
    """Files for inputs with any names, by position."""
    folder.mkdir()
    write_npy(folder / "input_0.npy", "f4", dims, [i % 16 / 16 for i in range(math.prod(dims))])
    if targets:
        write_npy(folder / "input_1.npy", "i8", (dims[0],), [0] * dims[0])


def write_png(path, side, shade):
    """Grey, with one lighter column."""
    def chunk(kind, data):
        return (struct.pack(">I", len(data)) + kind + data +
                struct.pack(">I", zlib.crc32(kind + data)))
    row = b"\x00" + bytes([255 if x == shade % side else shade for x in range(side)])
    path.write_bytes(b"\x89PNG\r\n\x1a\n" +
                     chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)) +
                     chunk(b"IDAT", zlib.compress(row * side)) + chunk(b"IEND", b""))


def write_pictures(folder):
    """A data set of three classes, each with four training pictures and one held-out picture."""
    for part, count in (("train", 4), ("val", 1)):
        for number, name in enumerate(("ash", "birch", "cedar")):
            of_class = folder / part / name
            of_class.mkdir(parents=True)
            for i in range(count):
                write_png(of_class / ("%d.png" % i), 8, 60 * number + i)
