# SPDX-License-Identifier: Apache-2.0
"""Small modules with buffers of every kind that people register, each with a loss and a batch.

`MODULES` is a list of classes. `forward` takes the batch by name and returns the loss; `batch` draws a
batch. A class with `rows = False` computes something that is no mean over rows, so no replicas can share
the batch.
"""
import copy
import math

import torch
from torch import nn
from torch.nn import functional as F

from buffered_module import BATCH, CLASSES, LENGTH, WIDTH, Module, OnPictures
from modules_on_positions import (
    CausalMask, BooleanMask, LinearBiases, RelativePositions, RotaryFrequencies, RotaryTables, SinePositions,
    FillerBias, PositionNumbers)
from modules_with_constants import (
    Anchors, Codebook, FixedFilters, RandomFeatures, RadialBasis, DiffusionSchedule, Spectrum, Permutation,
    InitialState, DoubleTable, HalfTables, ByteTable)


# Statistics

class RunningStatistics(OnPictures):
    """A batch norm of the evaluation mode, and its counter."""

    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.fc = nn.Conv2d(3, WIDTH, 3), nn.BatchNorm2d(WIDTH), nn.Linear(WIDTH, CLASSES)
        self.norm.running_mean.normal_(std=0.1)
        self.norm.running_var.uniform_(0.5, 1.5)
        self.norm.eval()

    def forward(self, x, target):
        return F.cross_entropy(self.fc(F.silu(self.norm(self.conv(x))).mean((2, 3))), target)


class InstanceStatistics(OnPictures):
    def __init__(self):
        super().__init__()
        self.conv, self.fc = nn.Conv2d(3, WIDTH, 3), nn.Linear(WIDTH, CLASSES)
        self.norm = nn.InstanceNorm2d(WIDTH, affine=True, track_running_stats=True).eval()

    def forward(self, x, target):
        return F.cross_entropy(self.fc(F.silu(self.norm(self.conv(x))).mean((2, 3))), target)


class FrozenBatchNorm(OnPictures):
    """torchvision's: scale and bias are buffers with the names of parameters."""

    def __init__(self):
        super().__init__()
        self.conv, self.fc = nn.Conv2d(3, WIDTH, 3), nn.Linear(WIDTH, CLASSES)
        self.norm = nn.Module()
        self.norm.register_buffer("weight", 1 + 0.1 * torch.randn(WIDTH))
        self.norm.register_buffer("bias", 0.1 * torch.randn(WIDTH))
        self.norm.register_buffer("running_mean", 0.1 * torch.randn(WIDTH))
        self.norm.register_buffer("running_var", 1 + 0.1 * torch.rand(WIDTH))

    def forward(self, x, target):
        norm = self.norm
        scale = norm.weight * (norm.running_var + 1e-5).rsqrt()
        bias = norm.bias - norm.running_mean * scale
        x = self.conv(x) * scale.reshape(1, -1, 1, 1) + bias.reshape(1, -1, 1, 1)
        return F.cross_entropy(self.fc(F.silu(x).mean((2, 3))), target)


class ObservationScale(Module):
    """Running mean, variance and count of observations, as in reinforcement learning."""

    def __init__(self):
        super().__init__()
        self.register_buffer("mean", 0.3 * torch.randn(WIDTH))
        self.register_buffer("var", 1 + torch.rand(WIDTH))
        self.register_buffer("count", torch.tensor(120.0))
        self.fc = nn.Linear(WIDTH, CLASSES)

    def forward(self, x, target):
        return F.cross_entropy(self.fc((x - self.mean) / (self.var * self.count / (self.count - 1)).sqrt()), target)


class PixelMean(OnPictures):
    def __init__(self):
        super().__init__()
        self.register_buffer("px_mean", torch.tensor([0.485, 0.456, 0.406]).reshape(3, 1, 1))
        self.register_buffer("px_std", torch.tensor([0.229, 0.224, 0.225]).reshape(3, 1, 1), persistent=False)
        self.conv, self.fc = nn.Conv2d(3, WIDTH, 3), nn.Linear(WIDTH, CLASSES)

    def forward(self, x, target):
        return F.cross_entropy(self.fc(F.silu(self.conv((x - self.px_mean) / self.px_std)).mean((2, 3))), target)


# Losses

class ClassWeights(Module):
    rows = False  # the weights of the labels divide

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(WIDTH, CLASSES)
        self.loss = nn.CrossEntropyLoss(weight=torch.tensor([1.0, 2.0, 0.5, 1.5, 3.0]))

    def forward(self, x, target):
        return self.loss(self.fc(x), target)


class PositiveWeights(Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(WIDTH, CLASSES)
        self.loss = nn.BCEWithLogitsLoss(pos_weight=torch.tensor([1.0, 2.0, 0.5, 1.5, 3.0]))

    def batch(self):
        return super().batch() | {"target": torch.randint(0, 2, (BATCH, CLASSES)).float()}

    def forward(self, x, target):
        return self.loss(self.fc(x), target)


class Quantiles(Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(WIDTH, 3)
        self.register_buffer("levels", torch.tensor([0.1, 0.5, 0.9]))

    def batch(self):
        return super().batch() | {"target": torch.randn(BATCH, 1)}

    def forward(self, x, target):
        away = target - self.fc(x)
        return torch.maximum(self.levels * away, (self.levels - 1) * away).mean()


class Temperatures(Module):
    """A scalar buffer and a learnt scalar."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(WIDTH, CLASSES)
        self.register_buffer("temperature", torch.tensor(0.7))
        self.logit_scale = nn.Parameter(torch.tensor(1.1))

    def forward(self, x, target):
        return F.cross_entropy(self.fc(x) * self.logit_scale.exp() / self.temperature, target)


class StepCounter(Module):
    """Warms a second branch up by the number of steps, an integer."""

    def __init__(self):
        super().__init__()
        self.fc, self.more = nn.Linear(WIDTH, CLASSES), nn.Linear(WIDTH, CLASSES)
        self.register_buffer("step", torch.tensor(30))

    def forward(self, x, target):
        share = torch.clamp(self.step.float() / 100, max=1.0)
        return F.cross_entropy(self.fc(x) + share * self.more(x), target)


# Parameters that are easily missed

class EqualToParameter(Module):
    """A copy of the first weights, from which a penalty measures the distance."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(WIDTH, CLASSES)
        self.register_buffer("first", self.fc.weight.detach().clone())
        self.register_buffer("zeros", torch.zeros(CLASSES))
        nn.init.zeros_(self.fc.bias)

    def forward(self, x, target):
        away = (self.fc.weight - self.first).abs().sum() + (self.fc.bias - self.zeros - 0.01).abs().sum()
        return F.cross_entropy(self.fc(x), target) + away


class TiedParameters(Module):
    def __init__(self):
        super().__init__()
        self.embed, self.head = nn.Embedding(20, WIDTH), nn.Linear(WIDTH, 20, bias=False)
        self.head.weight = self.embed.weight
        self.register_buffer("scale", torch.tensor(math.sqrt(WIDTH)))

    def batch(self):
        return {"x": torch.randint(0, 20, (BATCH, LENGTH)), "target": torch.randint(0, 20, (BATCH,))}

    def forward(self, x, target):
        return F.cross_entropy(self.head(torch.tanh((self.embed(x) * self.scale).mean(1))), target)


class FrozenTeacher(Module):
    """A teacher of parameters without gradients, which the exporter writes as parameters."""

    def __init__(self):
        super().__init__()
        self.student = nn.Sequential(nn.Linear(WIDTH, 12), nn.Tanh(), nn.Linear(12, CLASSES))
        self.teacher = copy.deepcopy(self.student).requires_grad_(False)
        self.register_buffer("centre", 0.1 * torch.randn(CLASSES))

    def batch(self):
        return {"x": torch.randn(BATCH, WIDTH)}

    def forward(self, x):
        aim = ((self.teacher(x + 0.1) - self.centre) / 0.5).softmax(-1)
        return -(aim * self.student(x).log_softmax(-1)).sum(-1).mean()


class SpectralNorm(Module):
    """The vectors of the power iteration are buffers; the older function and the newer parametrisation."""

    def __init__(self):
        super().__init__()
        self.first = nn.utils.spectral_norm(nn.Linear(WIDTH, 12))
        self.second = nn.utils.parametrizations.spectral_norm(nn.Linear(12, CLASSES))
        self.eval()

    def forward(self, x, target):
        return F.cross_entropy(self.second(torch.tanh(self.first(x))), target)


class WeightNorm(Module):
    def __init__(self):
        super().__init__()
        self.first = nn.utils.weight_norm(nn.Linear(WIDTH, 12))
        self.second = nn.utils.parametrizations.weight_norm(nn.Linear(12, CLASSES))
        self.register_buffer("gain", torch.tensor([1.7]))

    def forward(self, x, target):
        return F.cross_entropy(self.second(torch.tanh(self.first(x) * self.gain)), target)


class SameNames(Module):
    """`scale` is a parameter of one part and a buffer of the other."""

    def __init__(self):
        super().__init__()
        self.learnt, self.fixed, self.fc = nn.Module(), nn.Module(), nn.Linear(WIDTH, CLASSES)
        self.learnt.scale = nn.Parameter(torch.ones(WIDTH))
        self.fixed.register_buffer("scale", torch.ones(WIDTH))

    def forward(self, x, target):
        return F.cross_entropy(self.fc(x * self.learnt.scale + self.fixed.scale), target)


MODULES = [
    RunningStatistics, InstanceStatistics, FrozenBatchNorm, ObservationScale, PixelMean, CausalMask, BooleanMask,
    LinearBiases, RelativePositions, RotaryFrequencies, RotaryTables, SinePositions, FillerBias, PositionNumbers,
    ClassWeights, PositiveWeights, Quantiles, Temperatures, StepCounter, Anchors, Codebook, FixedFilters,
    RandomFeatures, RadialBasis, DiffusionSchedule, Spectrum, Permutation, InitialState, DoubleTable, HalfTables,
    ByteTable, EqualToParameter, TiedParameters, FrozenTeacher, SpectralNorm, WeightNorm, SameNames]
