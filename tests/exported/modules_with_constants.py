# SPDX-License-Identifier: Apache-2.0
"""Modules whose buffers are constants of a computation, also of unusual types."""
import math

import torch
from torch import nn
from torch.nn import functional as F

from buffered_module import BATCH, CLASSES, WIDTH, Module, OnPictures, OnTokens


# Constants of a computation

class Anchors(Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("anchors", torch.rand(CLASSES, 4) + 0.5)
        self.fc = nn.Linear(WIDTH, 4 * CLASSES)

    def batch(self):
        return super().batch() | {"target": torch.rand(BATCH, CLASSES, 4)}

    def forward(self, x, target):
        deltas = self.fc(x).reshape(-1, CLASSES, 4)
        centres = self.anchors[:, :2] + deltas[..., :2] * self.anchors[:, 2:]
        return F.smooth_l1_loss(torch.cat((centres, self.anchors[:, 2:] * deltas[..., 2:].exp()), -1), target)


class Codebook(Module):
    """Vectors that a moving average updates outside of the graph."""

    def __init__(self):
        super().__init__()
        self.inner, self.outer = nn.Linear(WIDTH, 4), nn.Linear(4, WIDTH)
        self.register_buffer("codes", torch.randn(12, 4))
        self.register_buffer("cluster_size", torch.ones(12))

    def batch(self):
        return {"x": torch.randn(BATCH, WIDTH)}

    def forward(self, x):
        z = self.inner(x)
        nearest = ((z[:, None] - self.codes[None]) ** 2).sum(-1).argmin(1)
        code = self.codes[nearest]
        return F.mse_loss(self.outer(code), x) + 0.25 * F.mse_loss(z, code)


class FixedFilters(OnPictures):
    """Edges and a blur, as weights of convolutions."""

    def __init__(self):
        super().__init__()
        edge = torch.tensor([[-1.0, 0, 1], [-2, 0, 2], [-1, 0, 1]])
        self.register_buffer("edges", torch.stack((edge, edge.T))[:, None].repeat(3, 1, 1, 1))
        blur = torch.tensor([1.0, 2, 1])
        self.register_buffer("blur", (blur[:, None] * blur / 16).expand(WIDTH, 1, 3, 3).clone())
        self.conv, self.fc = nn.Conv2d(6, WIDTH, 1), nn.Linear(WIDTH, CLASSES)

    def forward(self, x, target):
        x = F.silu(self.conv(F.conv2d(x, self.edges, groups=3)))
        return F.cross_entropy(self.fc(F.conv2d(x, self.blur, stride=2, groups=WIDTH).mean((2, 3))), target)


class RandomFeatures(Module):
    """A random projection, which looks like a weight."""

    def __init__(self):
        super().__init__()
        self.register_buffer("projection", torch.randn(WIDTH, 16))
        self.register_buffer("phase", 2 * math.pi * torch.rand(16))
        self.fc = nn.Linear(16, CLASSES)

    def forward(self, x, target):
        return F.cross_entropy(self.fc(torch.cos(x @ self.projection + self.phase)), target)


class RadialBasis(Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("centres", torch.linspace(-2, 2, 10))
        self.width, self.fc = nn.Parameter(torch.full((10,), 1.5)), nn.Linear(10, CLASSES)

    def forward(self, x, target):
        near = torch.exp(-((x[..., None] - self.centres) * self.width) ** 2)
        return F.cross_entropy(self.fc(near.sum(1)), target)


class DiffusionSchedule(Module):
    def __init__(self):
        super().__init__()
        kept = torch.cumprod(1 - torch.linspace(1e-4, 0.02, 50), 0)
        self.register_buffer("sqrt_kept", kept.sqrt())
        self.register_buffer("sqrt_lost", (1 - kept).sqrt(), persistent=False)
        self.net = nn.Sequential(nn.Linear(WIDTH, 16), nn.Tanh(), nn.Linear(16, WIDTH))

    def batch(self):
        return {"x": torch.randn(BATCH, WIDTH), "noise": torch.randn(BATCH, WIDTH), "t": torch.randint(0, 50, (BATCH,))}

    def forward(self, x, noise, t):
        seen = self.sqrt_kept[t][:, None] * x + self.sqrt_lost[t][:, None] * noise
        return F.mse_loss(self.net(seen), noise)


class Spectrum(Module):
    """A window and a bank of filters, of sound."""

    def __init__(self):
        super().__init__()
        self.register_buffer("window", torch.hann_window(16), persistent=False)
        self.register_buffer("filters", torch.rand(9, 6))
        self.fc = nn.Linear(6, CLASSES)

    def batch(self):
        return super().batch() | {"x": torch.randn(BATCH, 4, 16)}

    def forward(self, x, target):
        turns = torch.outer(torch.arange(9), torch.arange(16)) * (2 * math.pi / 16)
        x = x * self.window
        power = (x @ turns.cos().T) ** 2 + (x @ turns.sin().T) ** 2
        return F.cross_entropy(self.fc(torch.log(power @ self.filters + 1).mean(1)), target)


class Permutation(Module):
    """A step of a normalising flow, with a fixed order of channels and learnt scales."""

    def __init__(self):
        super().__init__()
        self.register_buffer("order", torch.randperm(WIDTH))
        self.register_buffer("initialized", torch.tensor(True))
        self.log_scale, self.shift = nn.Parameter(0.1 * torch.randn(WIDTH)), nn.Parameter(torch.zeros(WIDTH))
        self.coupling = nn.Linear(WIDTH // 2, WIDTH // 2)

    def batch(self):
        return {"x": torch.randn(BATCH, WIDTH)}

    def forward(self, x):
        a, b = ((x + self.shift) * self.log_scale.exp())[:, self.order].chunk(2, 1)
        z = torch.cat((a, b + self.coupling(a)), 1)
        return (0.5 * z ** 2).sum(1).mean() - self.log_scale.sum()


class InitialState(OnTokens):
    def __init__(self):
        super().__init__()
        self.rnn, self.fc = nn.GRU(WIDTH, WIDTH, batch_first=True), nn.Linear(WIDTH, CLASSES)
        self.register_buffer("h0", 0.2 * torch.randn(1, 1, WIDTH))
        self.start = nn.Parameter(0.1 * torch.randn(WIDTH))

    def forward(self, x, target):
        state = self.h0.expand(-1, x.shape[0], -1).contiguous()
        return F.cross_entropy(self.fc(self.rnn(x + self.start, state)[0][:, -1]), target)


# Types

class DoubleTable(Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("table", torch.rand(WIDTH, dtype=torch.float64) + 0.5)
        self.fc = nn.Linear(WIDTH, CLASSES)

    def forward(self, x, target):
        return F.cross_entropy(self.fc(x * self.table.float()), target)


class HalfTables(Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("table16", (torch.rand(WIDTH) + 0.5).half())
        self.register_buffer("shift16", (torch.rand(WIDTH) + 0.5).bfloat16())
        self.fc = nn.Linear(WIDTH, CLASSES)

    def forward(self, x, target):
        return F.cross_entropy(self.fc(x * self.table16.float() + self.shift16.float()), target)


class ByteTable(Module):
    """Weights in eight bits with their scale, beside learnt ones (an adapter)."""

    def __init__(self):
        super().__init__()
        self.register_buffer("packed", torch.randint(-127, 128, (CLASSES, WIDTH), dtype=torch.int8))
        self.register_buffer("scale", 0.01 * torch.rand(CLASSES, 1))
        self.down, self.up = nn.Linear(WIDTH, 2, bias=False), nn.Linear(2, CLASSES, bias=False)

    def forward(self, x, target):
        return F.cross_entropy(x @ (self.packed.float() * self.scale).T + self.up(self.down(x)), target)
