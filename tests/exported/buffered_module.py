# SPDX-License-Identifier: Apache-2.0
"""The base of small modules with buffers, which have a batch and a loss."""
import torch
from torch import nn

WIDTH, LENGTH, CLASSES, BATCH = 8, 6, 5, 4


class Module(nn.Module):
    rows = True

    def batch(self):
        return {"x": torch.randn(BATCH, WIDTH), "target": torch.randint(0, CLASSES, (BATCH,))}


class OnPictures(Module):
    def batch(self):
        return {"x": torch.rand(BATCH, 3, 8, 8), "target": torch.randint(0, CLASSES, (BATCH,))}


class OnTokens(Module):
    def batch(self):
        return {"x": torch.randn(BATCH, LENGTH, WIDTH), "target": torch.randint(0, CLASSES, (BATCH,))}
