# SPDX-License-Identifier: Apache-2.0
"""The pictures of a detector's training steps, in the order of data/detection/picture_order.h."""
import itertools

PICTURE_STREAM = 7 << 40  # kPictureStream of data/detection/picture_order.cc
MASK = 0xFFFFFFFF


def philox(seed, stream, index):
    """The generator of lockstep/random.h: four numbers of 32 bits."""
    x = [index & MASK, index >> 32, stream & MASK, stream >> 32]
    keys = [seed & MASK, seed >> 32]
    for _ in range(10):
        a, b = 0xD2511F53 * x[0], 0xCD9E8D57 * x[2]
        x = [(b >> 32) ^ x[1] ^ keys[0], b & MASK, (a >> 32) ^ x[3] ^ keys[1], a & MASK]
        keys = [(keys[0] + 0x9E3779B9) & MASK, (keys[1] + 0xBB67AE85) & MASK]
    return x


def epoch(pictures, mirrored, seed, number):
    """Entries (picture, mirrored) of one epoch, shuffled."""
    entries = [(n, mirror) for mirror in ([False, True] if mirrored else [False])
               for n in range(pictures)]
    bits = (word for index in itertools.count()
            for word in philox(seed, PICTURE_STREAM + number, index))
    for last in range(len(entries) - 1, 0, -1):
        other = next(bits) * (last + 1) >> 32
        entries[last], entries[other] = entries[other], entries[last]
    return entries


def steps(pictures, batch, mirrored, seed):
    """Yields the entries of each step, without end. All pictures are of one padded shape."""
    entries = itertools.chain.from_iterable(
        epoch(pictures, mirrored, seed, number) for number in itertools.count())
    while True:
        yield list(itertools.islice(entries, batch))
