# SPDX-License-Identifier: Apache-2.0
"""Damage to safetensors files, with and without correct checksums.

A JSON object is a list of pairs, so that keys may repeat and their order is kept.
"""

import json
import struct

from damage import NUMBERS, damaged_bytes

POLYNOMIAL = 0x82F63B78  # CRC-32C, reflected
TABLE = []
for first in range(256):
    for _ in range(8):
        first = first >> 1 ^ POLYNOMIAL if first & 1 else first >> 1
    TABLE.append(first)

WORDS = ["", "0", "-1", "1", "2", "4", "9007199254740993", "1e3", "nan", "0 0 0 0", "1 2 3", "F32",
         "F64", "I8", "BOOL", "BF16", "lockstep checkpoint 2", "lockstep checkpoint 1", "pt",
         "true", "[1, 2]", "cpu", "\x1b[2J\n", "\u202e\ud800"]
FLOATS = [float("nan"), float("inf"), -float("inf"), 3e38, -3e38, 1e-45, 0.0]


class Pairs(list):
    pass


def crc32c(data):
    sum_ = 0xFFFFFFFF
    for byte in data:
        sum_ = TABLE[(sum_ ^ byte) & 255] ^ sum_ >> 8
    return sum_ ^ 0xFFFFFFFF


def text_of(value):
    if isinstance(value, Pairs):
        return "{%s}" % ",".join(json.dumps(key) + ":" + text_of(inner) for key, inner in value)
    if isinstance(value, list):
        return "[%s]" % ",".join(text_of(inner) for inner in value)
    return json.dumps(value)


def split(data):
    length, = struct.unpack("<Q", data[:8])
    return json.loads(data[8:8 + length], object_pairs_hook=Pairs), data[8 + length:]


def joined(header, body):
    text = text_of(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + body


def with_sums(header, body):
    """Updates the checksums for the new header, if its entries are valid."""
    metadata = next((value for key, value in header if key == "__metadata__"), None)
    if not isinstance(metadata, Pairs):
        return joined(header, body)
    for key, value in header:
        try:
            begin, end = dict(value)["data_offsets"]
            text = "%08x" % crc32c(body[begin:end])
        except (TypeError, ValueError, LookupError):
            continue
        metadata[:] = [pair for pair in metadata if pair[0] != "crc32c/" + key]
        metadata.append(("crc32c/" + key, text))
    key = b'"crc32c":"'
    for entry, pair in enumerate(metadata):
        if pair[0] == "crc32c":
            metadata[entry] = ("crc32c", "00000000")
    data = bytearray(joined(header, body))
    at = data.find(key) + len(key)
    if at >= len(key):
        data[at:at + 8] = b"%08x" % crc32c(data)
    return bytes(data)


def places(value):
    """Pairs of each list or object and the index of one of its items."""
    if not isinstance(value, list):
        return []
    found = [(value, at) for at in range(len(value))]
    for item in value:
        found += places(item[1] if isinstance(value, Pairs) else item)
    return found


def hostile(lot, now, all_places):
    """A random value, mostly of the same type, since the first check refuses other types."""
    if isinstance(now, str) and lot.random() < 0.6:
        return lot.choice([lot.choice(WORDS), now + "@1", now[:-1], now[::-1],
                           now.replace("0", "9")])
    if isinstance(now, int) and lot.random() < 0.6:
        return lot.choice([lot.choice(NUMBERS), now + 1, now - 1, now * 4, now // 2])
    where, at = lot.choice(all_places)
    other = where[at][1] if isinstance(where, Pairs) else where[at]
    return lot.choice([lot.choice(NUMBERS), lot.choice(WORDS), other, other, None, True, -1.5,
                       1e300, [], Pairs(), [[[]]], [0, 2**63], [-1, 4]])


def damage_header(header, lot):
    found = places(header)
    if not found:
        return
    values = [(where, at) for where, at in found
              if isinstance(where, Pairs) and not isinstance(where[at][1], list) and
              not where[at][0].startswith("crc32c")]
    where, at = lot.choice(lot.choice([found, values or found]))
    act = lot.randrange(5)
    if act == 0:
        del where[at]
    elif act == 1:
        where.insert(lot.randrange(len(where) + 1), where[at])
    elif isinstance(where, Pairs):
        key, now = where[at]
        if act == 2:
            name = lot.choice([key + "@1", key + "x", lot.choice(WORDS), lot.choice(where)[0]])
            where[at] = (name, now)
        else:
            where[at] = (key, hostile(lot, now, found))
    else:
        where[at] = hostile(lot, where[at], found)


def remove_tensor(header, body, lot):
    """Removes a tensor with its bytes; later tensors move up."""
    tensors = [pair for pair in header if pair[0] != "__metadata__"]
    if not tensors:
        return body
    gone = lot.choice(tensors)
    begin, end = dict(gone[1])["data_offsets"]
    header.remove(gone)
    for _, value in header:
        for at, (key, offsets) in enumerate(value):
            if key == "data_offsets" and offsets[0] >= end:
                value[at] = (key, [offset - (end - begin) for offset in offsets])
        value[:] = [pair for pair in value if pair[0] != "crc32c/" + gone[0]]
    return body[:begin] + body[end:]


def damaged_safetensors(data, lot):
    act = lot.randrange(10)
    if act == 0:
        return damaged_bytes(data, lot)
    if act == 1:
        return data[:lot.randrange(len(data))] + bytes(lot.choice([0, 0, 8]))
    header, body = split(data)
    for _ in range(lot.choice([1, 1, 1, 2, 3])):
        act = lot.randrange(7)
        if act < 2 and len(body) >= 4:
            at = lot.randrange(len(body) // 4) * 4
            body = body[:at] + struct.pack("<f", lot.choice(FLOATS)) + body[at + 4:]
        elif act == 2:
            try:
                body = remove_tensor(header, body, lot)
            except (TypeError, ValueError, LookupError):
                pass  # earlier damage removed a field that this damage needs
        else:
            damage_header(header, lot)
    return with_sums(header, body) if lot.random() < 0.75 else joined(header, body)
