# SPDX-License-Identifier: Apache-2.0
"""The record of a network that measure_newcomers.py exports and steps, and helpers to define one."""
import dataclasses
from typing import Callable

import torch
from torch import nn
from torch.nn import functional as F


@dataclasses.dataclass
class Newcomer:
    """`make` returns a module whose forward takes the batch by name and returns its loss."""

    make: Callable
    draw: Callable  # the number of rows -> the batch, by input
    rows: int = 4
    replicas: tuple = (1, 2)
    split: bool = True  # False: a batch that is no list of examples, as a graph is; on one replica
    only_steps: str = ""  # the reason why results are not compared
    kept: Callable = None  # makes the module compute as its export does, where the export loses something
    lost: str = ""  # the loss of the export, for the remark

    def __post_init__(self):
        if not self.split:
            self.replicas = (1,)


class Scored(nn.Module):
    """A network with the cross entropy of its scores inside."""

    def __init__(self, net, pick=lambda out: out):
        super().__init__()
        self.net, self.pick = net, pick

    def forward(self, data, target):
        return F.cross_entropy(self.pick(self.net(data)), target)


class Judged(nn.Module):
    """A network with a loss of its outputs and the targets inside."""

    def __init__(self, net, loss):
        super().__init__()
        self.net, self.loss = net, loss

    def forward(self, data, target):
        return self.loss(self.net(data), target)


def mlp(first, wide, last):
    return nn.Sequential(nn.Linear(first, wide), nn.ReLU(), nn.Linear(wide, wide), nn.Tanh(), nn.Linear(wide, last))


def pictures(size, classes=10, channels=3):
    return lambda rows: {"data": torch.rand(rows, channels, size, size) * 2 - 1,
                         "target": torch.randint(0, classes, (rows,))}


def masks(size, classes):
    return lambda rows: {"data": torch.rand(rows, 3, size, size) * 2 - 1,
                         "target": torch.randint(0, classes, (rows, size, size))}


def films(frames, size):
    return lambda rows: {"data": torch.rand(rows, 3, frames, size, size) * 2 - 1,
                         "target": torch.randint(0, 10, (rows,))}


def vectors(width, answers):
    return lambda rows: {"data": torch.randn(rows, width), "target": torch.randn(rows, answers)}


def words(vocabulary, length, classes=10):
    return lambda rows: {"data": torch.randint(0, vocabulary, (rows, length)),
                         "target": torch.randint(0, classes, (rows,))}


def classified(net, size=64, pick=lambda out: out, **more):
    """A network of pictures by its scores."""
    return Newcomer(lambda: Scored(net(), pick), pictures(size), **more)


RATES = ("dropout", "drop_prob", "attn_drop", "attention_dropout", "attn_drop_rate", "dropout_rate", "attn_dropout")


def without_draws(model):
    """Sets the rates of dropout and stochastic depth to 0."""
    for module in model.modules():
        if type(module).__name__ in ("StochasticDepth", "DropPath") or "Dropout" in type(module).__name__:
            for name in ("p", "drop_prob"):
                if hasattr(module, name):
                    setattr(module, name, 0.0)
        for name in RATES:
            if isinstance(getattr(module, name, None), float):
                setattr(module, name, 0.0)
        config = getattr(module, "config", None)
        for name in list(vars(config)) if config is not None else []:
            if ("dropout" in name or name.endswith("pdrop")) and isinstance(getattr(config, name), float):
                setattr(config, name, 0.0)
    return model
