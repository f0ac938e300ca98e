# SPDX-License-Identifier: Apache-2.0
"""Random damage to bytes and to messages."""

from protobuf import parse, serialize, varint

NUMBERS = [0, 1, 2, 3, 7, 8, 16, 127, 255, 65536, 2**31 - 1, 2**31, 2**32, 2**33, 2**40, 2**62,
           2**63 - 1, -1, -2, -2**31, -2**63]
TEXTS = [b"", b"x", b"loss", b"w", b"shape", b"1000000000", b"-1", b"0", b"cpu_0/", b"../weights",
         b"/dev/zero", b"\x1b[2J\n\"\\", b"\xff\xfe", b"ai.lockstep", b"Conv", b"Softmax", b"Pad",
         b"Resize", b"Split", b"BatchNormalization", b"Upsample", b"Expand", b"Constant",
         b"AllReduce", b"__replica", b"axis", b"a" * 300]


def lists_in(fields):
    found = [fields]
    for _, _, content in fields:
        if isinstance(content, tuple):
            found += lists_in(content[1])
    return found


def damaged_message(data, lot, others):
    fields = parse(data, "Model")
    for _ in range(lot.choice([1, 1, 1, 2, 3, 6])):
        where = lot.choice([one for one in lists_in(fields) if one])
        at = lot.randrange(len(where))
        field, wire, content = where[at]
        act = lot.randrange(8)
        if act == 0:
            del where[at]
        elif act == 1:
            where.insert(lot.randrange(len(where) + 1), list(where[at]))
        elif act == 2:
            other = lot.choice(lists_in(parse(lot.choice(others)[1], "Model")))
            if other:
                where.insert(at, list(lot.choice(other)))
        elif act == 3:
            where[at][0] = lot.randrange(1, 30)
        elif act == 4:
            lot.shuffle(where)
        elif wire == 0:
            where[at][2] = lot.choice(NUMBERS)
        elif isinstance(content, bytes) and wire == 2:
            same = [c for one in lists_in(fields) for f, w, c in one
                    if isinstance(c, bytes) and w == 2 and len(c) < 64]
            where[at][2] = lot.choice([lot.choice(TEXTS), lot.choice(same or [b""]),
                                       content[:lot.randrange(len(content) + 1)],
                                       content + bytes(lot.randrange(9)),
                                       damaged_bytes(content, lot) if content else b""])
    return serialize(fields)


def damaged_bytes(data, lot):
    data = bytearray(data)
    for _ in range(lot.choice([1, 1, 2, 4, 16])):
        if not data:
            break
        at = lot.randrange(len(data))
        act = lot.randrange(5)
        if act == 0:
            data[at] ^= 1 << lot.randrange(8)
        elif act == 1:
            data[at] = lot.randrange(256)
        elif act == 2:
            del data[at:at + lot.choice([1, 2, 8, 100])]
        elif act == 3:
            data[at:at] = varint(lot.choice(NUMBERS))
        elif lot.random() < 0.2:
            del data[at:]
    return bytes(data)


def damaged_model(data, lot, others):
    return damaged_message(data, lot, others) if lot.random() < 0.7 else damaged_bytes(data, lot)
