# SPDX-License-Identifier: Apache-2.0
"""The summary of a gradient for comparisons: its length, and its product with a random vector."""
import zlib

import numpy as np


def summary(name, gradient):
    gradient = np.asarray(gradient, np.float64).ravel()
    direction = np.random.Generator(np.random.PCG64(zlib.crc32(name.encode()))).random(gradient.size) - 0.5
    return [float(np.linalg.norm(gradient)), float(gradient @ direction)]


def difference(ours, theirs, longest):
    """The difference of two summaries, divided by the length or, if larger, a hundredth of the longest: a
    gradient that almost cancels (a bias before batch norm) is only as exact as its terms."""
    return max(abs(a - b) for a, b in zip(ours, theirs)) / max(theirs[0], longest / 100)
