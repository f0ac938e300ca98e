# SPDX-License-Identifier: Apache-2.0
"""What is kept of a gradient to compare with: its length, and its product with a random vector."""
import zlib

import numpy as np


def summary(name, gradient):
    gradient = np.asarray(gradient, np.float64).ravel()
    direction = np.random.Generator(np.random.PCG64(zlib.crc32(name.encode()))).random(gradient.size) - 0.5
    return [float(np.linalg.norm(gradient)), float(gradient @ direction)]


def difference(ours, theirs, longest):
    """Of two summaries, over the length; over a hundredth of the longest where that is more: what
    almost cancels (a bias before batch norm) is no more exact than its parts."""
    return max(abs(a - b) for a, b in zip(ours, theirs)) / max(theirs[0], longest / 100)
