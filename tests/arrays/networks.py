# SPDX-License-Identifier: Apache-2.0
"""Small networks of different kinds, each with its data, its loss in PyTorch and its configuration.

A network is a function that returns a Task. `forward` computes the network's outputs, which `lockstep`
reads from the exported file; `loss` computes PyTorch's loss of a minibatch.
"""
import dataclasses
import pathlib
from typing import Callable

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

import gpt2


@dataclasses.dataclass
class Task:
    net: nn.Module
    inputs: list  # names of the arrays that the network takes
    outputs: list
    loss: Callable  # of the outputs (a tuple) and the minibatch (arrays by name)
    config: str
    train: dict  # arrays by name
    test: dict
    batch: int = 16
    steps: int = 40
    csv: bool = False
    lengths: dict = dataclasses.field(default_factory=dict)  # of ragged arrays, by split
    replicas: tuple = (1, 2)
    padding: dict = dataclasses.field(default_factory=dict)
    whole: bool = False
    rate: float = 0.05
    seeds: int = 1  # runs whose mean is compared, of a network that draws random numbers
    adam: bool = False
    sources: dict = dataclasses.field(default_factory=dict)  # the array of an input, if it has another name
    stored: pathlib.Path = None  # a file without weights, instead of an export


def regression():
    """A table of numbers with column names: mean square error, given in the configuration."""
    draws = np.random.default_rng(1)

    def data(count):
        x = draws.normal(size=(count, 5)).astype(np.float32)
        y = (x[:, :1] * 2 - x[:, 1:2] * x[:, 2:3] + 0.5).astype(np.float32)
        return {"x": x, "price": y}

    net = nn.Sequential(nn.Linear(5, 24), nn.LayerNorm(24), nn.GELU(), nn.Linear(24, 1))
    return Task(net, ["x"], ["out"], lambda out, batch: F.mse_loss(out[0], batch["price"]),
                "MODEL: {LOSS: {mse: [out, price]}}\n"
                "DATA: {COLUMNS: {x: [a, b, c, d, e], price: price}}\n"
                "TEST: {METRICS: {r2: [out, price], mean_error: [out, price]}}\n",
                data(160), data(50), csv=True)


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.lstm = nn.Embedding(12, 10), nn.LSTM(10, 16, batch_first=True)
        self.out = nn.Linear(16, 5)

    def forward(self, words):
        return self.out(self.lstm(self.embed(words))[0])


def tagger():
    """A tag for each word of uneven sentences; the padding has no tag."""
    draws = np.random.default_rng(2)

    def data(count):
        lengths = draws.integers(3, 12, count)
        words = [draws.integers(0, 12, n) for n in lengths]
        tags = [(w + (np.insert(w[:-1], 0, 0) > 5)) % 5 for w in words]  # the word before counts, too
        return {"words": np.concatenate(words), "tags": np.concatenate(tags)}, lengths

    train, of_train = data(160)
    test, of_test = data(40)
    return Task(Tagger(), ["words"], ["scores"],
                lambda out, batch: F.cross_entropy(out[0].transpose(1, 2), batch["tags"]),
                "MODEL: {LOSS: {cross_entropy: [scores, tags]}}\n"
                "DATA: {BUCKETS: [6, 12], PADDING: {tags: -100}}\n"
                "TEST: {METRICS: {accuracy: [scores, tags], perplexity: [scores, tags]}}\n",
                train, test, lengths={"train": of_train, "test": of_test}, padding={"tags": -100},
                steps=60, rate=0.02, adam=True)


class SmallUNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.down = nn.Conv2d(1, 8, 3, padding=1), nn.Conv2d(8, 16, 3, padding=1)
        self.up, self.last = nn.ConvTranspose2d(16, 8, 2, 2), nn.Conv2d(16, 3, 3, padding=1)

    def forward(self, image):
        fine = F.relu(self.first(image))
        coarse = F.relu(self.down(F.max_pool2d(fine, 2)))
        return self.last(torch.cat([fine, F.relu(self.up(coarse))], 1))


def segmentation():
    """Discs and squares with a class for each pixel; the border does not count."""
    draws = np.random.default_rng(3)
    rows, columns = np.mgrid[0:16, 0:16]

    def data(count):
        masks = np.zeros((count, 16, 16), np.uint8)
        for mask in masks:
            y, x, size = draws.integers(4, 12), draws.integers(4, 12), draws.integers(2, 5)
            far = np.abs(rows - y), np.abs(columns - x)
            is_disc = draws.integers(2)
            mask[np.hypot(*far) < size if is_disc else np.maximum(*far) < size] = 1 + is_disc
        images = (masks > 0)[:, None] + 0.2 * draws.normal(size=(count, 1, 16, 16))
        masks[:, 0] = 255
        return {"image": images.astype(np.float32), "mask": masks}

    return Task(SmallUNet(), ["image"], ["scores"],
                lambda out, batch: F.cross_entropy(out[0], batch["mask"].long(), ignore_index=255),
                "MODEL: {LOSS: {cross_entropy: {of: scores, to: mask, ignore: 255}}}\n"
                "TEST: {METRICS: {iou: {of: scores, to: mask, ignore: 255}}}\n", data(96), data(32))


class SmallGpt(nn.Module):
    """A transformer that predicts the next token, with its loss in the network."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(17, 24)
        self.place = nn.Parameter(torch.randn(12, 24) * 0.1)
        self.norm, self.query = nn.LayerNorm(24), nn.Linear(24, 72)
        self.mix, self.wide, self.narrow = nn.Linear(24, 24), nn.Linear(24, 48), nn.Linear(48, 24)
        self.register_buffer("hidden", torch.full((12, 12), -1e4).triu(1))

    def forward(self, tokens, following):
        x = self.embed(tokens) + self.place
        q, k, v = self.query(self.norm(x)).reshape(-1, 12, 3, 2, 12).permute(2, 0, 3, 1, 4)
        weights = torch.softmax(q @ k.transpose(2, 3) / 12**0.5 + self.hidden, -1)
        x = x + self.mix((weights @ v).transpose(1, 2).reshape(-1, 12, 24))
        x = x + self.narrow(F.gelu(self.wide(x)))
        scores = x @ self.embed.weight.T
        return F.cross_entropy(scores.reshape(-1, 17), following.reshape(-1)), scores


def language():
    draws = np.random.default_rng(4)

    def data(count):
        first, step = draws.integers(0, 17, (count, 1)), draws.integers(1, 4, (count, 1))
        rows = (first + step * np.arange(13)) % 17
        return {"tokens": rows[:, :-1], "following": rows[:, 1:]}

    return Task(SmallGpt(), ["tokens", "following"], ["loss", "scores"], lambda out, batch: out[0],
                "MODEL: {LOSS: loss, FREEZE: [hidden]}\n"
                "TEST: {METRICS: {accuracy: [scores, following], top3: [scores, following]}}\n",
                data(160), data(48))


class GraphNetwork(nn.Module):
    """Messages along edges, summed at their ends: the example is a whole graph."""

    def __init__(self):
        super().__init__()
        self.send, self.keep, self.out = nn.Linear(4, 16), nn.Linear(4, 16), nn.Linear(16, 1)

    def forward(self, nodes, edges):
        messages = self.send(nodes)[edges[0]]
        place = edges[1].unsqueeze(1).expand_as(messages)
        sums = torch.zeros_like(self.keep(nodes)).scatter_add(0, place, messages)
        return self.out(torch.relu(sums + self.keep(nodes))).mean(0)


def graphs():
    draws = np.random.default_rng(5)

    def data(count):
        nodes = draws.normal(size=(count, 9, 4)).astype(np.float32)
        edges = draws.integers(0, 9, (count, 2, 14))
        sums = np.stack([n[e[0]].sum(0) for n, e in zip(nodes, edges)])
        y = 0.2 * sums[:, :1] + 0.2 * draws.normal(size=(count, 1))
        return {"nodes": nodes, "edges": edges, "y": y.astype(np.float32)}

    return Task(GraphNetwork(), ["nodes", "edges"], ["out"],
                lambda out, batch: F.huber_loss(out[0], batch["y"], delta=0.5),
                "MODEL: {LOSS: {huber: {of: out, to: y, delta: 0.5}}}\nDATA: {WHOLE: true}\n",
                data(60), data(20), batch=1, steps=120, replicas=(1,), whole=True, rate=0.01)


class Multi(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(6, 16)
        self.is_even, self.sizes = nn.Linear(16, 1), nn.Linear(16, 2)

    def forward(self, x):
        x = torch.tanh(self.body(x))
        return torch.sigmoid(self.is_even(x)), self.sizes(x)


def several_losses():
    """Two weighted losses, one with a mask, on probabilities and on sizes; labels are bytes."""
    draws = np.random.default_rng(6)

    def data(count):
        x = draws.normal(size=(count, 6)).astype(np.float32)
        return {"x": x, "even": (x[:, :1] > x[:, 1:2]), "sizes": np.abs(x[:, 2:4]),
                "known": (x[:, 4] > 0).astype(np.float32)}

    def loss(out, batch):
        error = (out[1] - batch["sizes"]).abs() * batch["known"][:, None]
        return (0.7 * F.binary_cross_entropy(out[0], batch["even"].float())
                + 0.3 * error.sum() / (2 * batch["known"].sum()))

    return Task(Multi(), ["x"], ["even_share", "size"], loss,
                "MODEL: {LOSS: [{bce: {of: even_share, to: even, weight: 0.7}},\n"
                "  {l1: {of: size, to: sizes, weight: 0.3, mask: known}}]}\n"
                "TEST: {METRICS: {mean_error: {of: size, to: sizes, mask: known}}}\n",
                data(160), data(40))


class SetPredictor(nn.Module):
    """Queries attend to a picture and predict boxes; the loss matches boxes and targets both ways, as DETR's
    does with its assignment."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(1, 12, 4, 4), nn.ReLU(), nn.Conv2d(12, 24, 1))
        self.queries = nn.Parameter(torch.randn(6, 24))
        self.attend, self.norm = nn.MultiheadAttention(24, 2, batch_first=True), nn.LayerNorm(24)
        self.boxes = nn.Sequential(nn.Linear(24, 32), nn.ReLU(), nn.Linear(32, 4), nn.Sigmoid())

    def forward(self, image, targets):
        places = self.body(image).flatten(2).transpose(1, 2)
        asked = self.queries.unsqueeze(0) + places.mean(1, keepdim=True)
        found = self.boxes(self.norm(asked + self.attend(asked, places, places)[0]))
        away = (found.unsqueeze(2) - targets.unsqueeze(1)).abs().sum(3)
        return torch.amin(away, 1).mean() + 0.5 * torch.amin(away, 2).mean(), found


def set_prediction():
    draws = np.random.default_rng(8)
    rows, columns = np.mgrid[0:16, 0:16] / 16

    def data(count):
        targets = draws.uniform(0.1, 0.5, (count, 3, 4)).astype(np.float32)
        y, x, height, width = (targets[:, :, i, None, None] for i in range(4))
        inside = (rows >= y) & (rows < y + height) & (columns >= x) & (columns < x + width)
        return {"image": inside.sum(1, keepdims=True).astype(np.float32), "targets": targets}

    return Task(SetPredictor(), ["image", "targets"], ["loss", "found"], lambda out, batch: out[0],
                "MODEL: {LOSS: loss}\n", data(96), data(32), steps=60, rate=0.005, adam=True)


class SmallVae(nn.Module):
    """A variational autoencoder, which draws its noise itself."""

    def __init__(self):
        super().__init__()
        self.inner, self.mean, self.spread = nn.Linear(10, 24), nn.Linear(24, 3), nn.Linear(24, 3)
        self.outer = nn.Sequential(nn.Linear(3, 24), nn.Tanh(), nn.Linear(24, 10))

    def forward(self, x):
        inner = torch.tanh(self.inner(x))
        mean, spread = self.mean(inner), self.spread(inner)
        again = self.outer(mean + torch.exp(0.5 * spread) * torch.randn_like(mean))
        divergence = -0.5 * (1 + spread - mean * mean - spread.exp()).sum(1).mean()
        return (again - x).pow(2).sum(1).mean() + 0.1 * divergence, again


def variational():
    draws = np.random.default_rng(9)
    mix = 0.4 * draws.normal(size=(2, 10))

    def data(count):
        return {"x": (draws.normal(size=(count, 2)) @ mix).astype(np.float32)}

    return Task(SmallVae(), ["x"], ["loss", "again"], lambda out, batch: out[0],
                "MODEL: {LOSS: loss}\n", data(320), data(160), batch=32, steps=400, rate=0.005, seeds=5)


def gpt2_of_transformers():
    """GPT-2 of Hugging Face's transformers, from a file of PyTorch's newer exporter."""
    draws = np.random.default_rng(10)
    return Task(gpt2.Gpt2(), ["input_ids", "labels"], ["loss", "logits"], lambda out, batch: out[0],
                "MODEL: {LOSS: loss}\nDATA: {SOURCES: {input_ids: tokens, labels: tokens}}\n",
                gpt2.rows_of_tokens(draws, 320), gpt2.rows_of_tokens(draws, 64), steps=60, rate=0.003,
                adam=True, sources={"input_ids": "tokens", "labels": "tokens"}, stored=gpt2.FILE)


TASKS = [regression, tagger, segmentation, language, graphs, several_losses, set_prediction, variational,
         gpt2_of_transformers]
