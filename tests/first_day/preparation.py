# SPDX-License-Identifier: Apache-2.0
"""Prepares pictures with numpy as a trained network's metadata describes."""
import numpy as np


def taps(start, length, source, target):
    """[target, source] weights: a triangle around each position, as wide as the larger of both pixels."""
    scale = length / target
    reach = max(1, scale)
    centre = start + (np.arange(target) + 0.5) * scale
    weights = np.maximum(0, 1 - np.abs(np.arange(source) + 0.5 - centre[:, None]) / reach)
    return weights / weights.sum(axis=1, keepdims=True)


def prepared(pixels, picture):
    """[1, channels, height, width] from [h, w, 3] bytes."""
    height, width, _ = pixels.shape
    light = pixels.astype(np.float64)
    if picture["channels"] == 1:
        light = light @ np.array([[0.299], [0.587], [0.114]])
    scale = min(height / picture["height"], width / picture["width"])
    scale *= min(picture["height"], picture["width"]) / picture["resize"]
    high, wide = scale * picture["height"], scale * picture["width"]
    rows = taps((height - high) / 2, high, height, picture["height"])
    columns = taps((width - wide) / 2, wide, width, picture["width"])
    light = np.einsum("yh,hwc,xw->cyx", rows, light, columns) / 255
    mean, deviation = (np.array(picture[key])[:, None, None] for key in ("mean", "deviation"))
    return ((light - mean) / deviation).astype(np.float32)[None]
