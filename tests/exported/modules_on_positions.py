# SPDX-License-Identifier: Apache-2.0
"""Modules whose buffers are masks and positions."""
import math

import torch
from torch import nn
from torch.nn import functional as F

from buffered_module import BATCH, CLASSES, LENGTH, WIDTH, Module, OnTokens


class Attention(OnTokens):
    """A head whose subclasses change queries, keys and scores."""

    def __init__(self):
        super().__init__()
        self.qkv, self.fc = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, CLASSES)

    def turned(self, x):
        return x

    def biased(self, scores):
        return scores

    def forward(self, x, target):
        q, k, v = self.qkv(x).chunk(3, -1)
        scores = self.biased(self.turned(q) @ self.turned(k).transpose(1, 2) / math.sqrt(WIDTH))
        return F.cross_entropy(self.fc((scores.softmax(-1) @ v).mean(1)), target)


class CausalMask(Attention):
    def __init__(self):
        super().__init__()
        self.register_buffer("mask", torch.full((LENGTH, LENGTH), float("-inf")).triu(1))

    def biased(self, scores):
        return scores + self.mask


class BooleanMask(Attention):
    def __init__(self):
        super().__init__()
        self.register_buffer("allowed", torch.ones(1, LENGTH, LENGTH).tril().bool(), persistent=False)
        self.register_buffer("masked_bias", torch.tensor(-1e4), persistent=False)

    def biased(self, scores):
        return torch.where(self.allowed, scores, self.masked_bias)


class LinearBiases(Attention):
    """Slopes of the distance (ALiBi), one learnt number beside them."""

    def __init__(self):
        super().__init__()
        place = torch.arange(LENGTH)
        self.register_buffer("distance", -(place[:, None] - place[None]).abs().float())
        self.slope = nn.Parameter(torch.tensor(0.25))

    def biased(self, scores):
        return scores + self.slope * self.distance


class RelativePositions(Attention):
    """A learnt table of biases, read at indices that are a buffer (Swin)."""

    def __init__(self):
        super().__init__()
        place = torch.arange(LENGTH)
        self.register_buffer("relative_index", place[:, None] - place[None] + LENGTH - 1)
        self.table = nn.Parameter(0.1 * torch.randn(2 * LENGTH - 1))

    def biased(self, scores):
        return scores + self.table[self.relative_index]


class RotaryFrequencies(Attention):
    def __init__(self):
        super().__init__()
        self.register_buffer("inv_freq", 10000.0 ** (-torch.arange(0, WIDTH, 2) / WIDTH), persistent=False)

    def turned(self, x):
        angles = torch.arange(LENGTH, dtype=torch.float32)[:, None] * self.inv_freq
        angles = torch.cat((angles, angles), -1)
        a, b = x.chunk(2, -1)
        return x * angles.cos() + torch.cat((-b, a), -1) * angles.sin()


class RotaryTables(Attention):
    def __init__(self):
        super().__init__()
        angles = torch.arange(LENGTH)[:, None] * 100.0 ** (-torch.arange(0, WIDTH, 2) / WIDTH)
        angles = torch.cat((angles, angles), -1)
        self.register_buffer("cos_cached", angles.cos())
        self.register_buffer("sin_cached", angles.sin())

    def turned(self, x):
        a, b = x.chunk(2, -1)
        return x * self.cos_cached + torch.cat((-b, a), -1) * self.sin_cached


class SinePositions(Attention):
    """A table of sines beside a learnt table of the same shape, which starts as a copy of it."""

    def __init__(self):
        super().__init__()
        angles = torch.arange(LENGTH)[:, None] * 100.0 ** (-torch.arange(0, WIDTH, 2) / WIDTH)
        self.register_buffer("pe", torch.stack((angles.sin(), angles.cos()), -1).reshape(LENGTH, WIDTH))
        self.learnt = nn.Parameter(self.pe.clone())

    def turned(self, x):
        return x + self.pe + self.learnt


class FillerBias(OnTokens):
    """Keys without a bias: zeros between two learnt parts (BEiT)."""

    def __init__(self):
        super().__init__()
        self.q_bias, self.v_bias = nn.Parameter(torch.zeros(WIDTH)), nn.Parameter(torch.zeros(WIDTH))
        self.register_buffer("k_bias", torch.zeros(WIDTH), persistent=False)
        self.qkv, self.fc = nn.Linear(WIDTH, 3 * WIDTH, bias=False), nn.Linear(WIDTH, CLASSES)

    def forward(self, x, target):
        q, k, v = F.linear(x, self.qkv.weight, torch.cat((self.q_bias, self.k_bias, self.v_bias))).chunk(3, -1)
        scores = q @ k.transpose(1, 2) / math.sqrt(WIDTH)
        return F.cross_entropy(self.fc((scores.softmax(-1) @ v).mean(1)), target)


class PositionNumbers(Module):
    """Integer positions, which a learnt embedding reads."""

    def __init__(self):
        super().__init__()
        self.register_buffer("position_ids", torch.arange(LENGTH)[None], persistent=False)
        self.words, self.places = nn.Embedding(20, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.fc = nn.Linear(WIDTH, CLASSES)

    def batch(self):
        return super().batch() | {"x": torch.randint(0, 20, (BATCH, LENGTH))}

    def forward(self, x, target):
        return F.cross_entropy(self.fc(torch.tanh(self.words(x) + self.places(self.position_ids)).mean(1)), target)
