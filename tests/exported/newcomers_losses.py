# SPDX-License-Identifier: Apache-2.0
"""Losses of many kinds, and other element types."""
import torch
from torch import nn
from torch.nn import functional as F

from newcomer import Judged, Newcomer, mlp, vectors


class TwoLosses(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.number, self.kind = mlp(8, 16, 16), nn.Linear(16, 1), nn.Linear(16, 3)

    def forward(self, data, number, kind):
        x = F.selu(self.body(data))
        return F.l1_loss(self.number(x), number) + 0.3 * F.cross_entropy(self.kind(x), kind)


class Contrastive(nn.Module):
    """Two views of each example should be near each other, and far from the others."""

    def __init__(self):
        super().__init__()
        self.net, self.heat = mlp(8, 16, 6), nn.Parameter(torch.tensor(1.0))

    def forward(self, left, right):
        a, b = F.normalize(self.net(left), dim=1), F.normalize(self.net(right), dim=1)
        scores = a @ b.T * self.heat.exp()
        own = torch.arange(left.shape[0])
        return (F.cross_entropy(scores, own) + F.cross_entropy(scores.T, own)) / 2


class Speech(nn.Module):
    """Connectionist temporal classification by PyTorch's loss."""

    def __init__(self):
        super().__init__()
        self.gru, self.fc = nn.GRU(6, 8, batch_first=True), nn.Linear(8, 5)

    def scores(self, data):
        return self.fc(self.gru(data)[0]).log_softmax(2)

    def forward(self, data, target):
        scores = self.scores(data).transpose(0, 1)
        rows = data.shape[0]
        return F.ctc_loss(scores, target, torch.full((rows,), 12), torch.full((rows,), 3))


class WrittenSpeech(Speech):
    """The same loss, written as sums over paths."""

    def forward(self, data, target):
        scores = self.scores(data)
        blank = torch.zeros_like(target[:, :1])
        path = torch.cat([part for i in range(3) for part in (blank, target[:, i:i + 1])] + [blank], 1)
        repeated = F.pad(path[:, 2:] == path[:, :-2], (2, 0), value=True)
        seen = scores.gather(2, path.unsqueeze(1).expand(-1, scores.shape[1], -1))
        never = -1e4
        now = torch.cat([seen[:, 0, :2], torch.full_like(seen[:, 0, 2:], never)], 1)
        for t in range(1, 12):
            one, two = F.pad(now, (1, 0), value=never)[:, :-1], F.pad(now, (2, 0), value=never)[:, :-2]
            now = torch.logsumexp(torch.stack([now, one, two.masked_fill(repeated, never)]), 0) + seen[:, t]
        return (-torch.logsumexp(now[:, -2:], 1) / 3).mean()


def speech(rows):
    return {"data": torch.randn(rows, 12, 6), "target": torch.randint(1, 5, (rows, 3))}


class Distilled(nn.Module):
    """A student that learns the shares of a frozen teacher."""

    def __init__(self):
        super().__init__()
        self.teacher, self.student = mlp(8, 16, 5).requires_grad_(False), mlp(8, 6, 5)

    def forward(self, data):
        with torch.no_grad():
            wanted = (self.teacher(data) / 2).softmax(1)
        return F.kl_div((self.student(data) / 2).log_softmax(1), wanted, reduction="batchmean") * 4


class Triplets(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = mlp(8, 16, 6)

    def forward(self, anchor, near, far):
        a, b, c = self.net(anchor), self.net(near), self.net(far)
        cosine = F.cosine_embedding_loss(a, b, torch.ones(anchor.shape[0], dtype=a.dtype))
        return F.triplet_margin_loss(a, b, c, margin=1.0) + cosine


class Weighted(nn.Module):
    """Cross entropy with weights of classes and smoothed labels, and a loss of pairs with weights."""

    def __init__(self):
        super().__init__()
        self.net = mlp(8, 16, 4)
        self.register_buffer("rare", torch.tensor([1.0, 2.0, 0.5, 3.0]))

    def forward(self, data, target):
        scores = self.net(data)
        wanted = F.one_hot(target, 4).to(scores.dtype)
        pairs = F.binary_cross_entropy_with_logits(scores, wanted, pos_weight=self.rare)
        return F.cross_entropy(scores, target, weight=self.rare) + pairs


class Smoothed(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = mlp(8, 16, 4)

    def forward(self, data, target):
        return F.cross_entropy(self.net(data), target, label_smoothing=0.1)


def kinds(rows):
    return {"data": torch.randn(rows, 8), "target": torch.randint(0, 4, (rows,))}


def in_type(kind):
    def draw(rows):
        return {name: value.to(kind) for name, value in vectors(8, 2)(rows).items()}

    return Newcomer(lambda: Judged(mlp(8, 16, 2), F.mse_loss).to(kind), draw)


def pairs(*names):
    return lambda rows: {name: torch.randn(rows, 8) for name in names}


LOSSES = {
    "two_losses": Newcomer(TwoLosses, lambda rows: {
        "data": torch.randn(rows, 8), "number": torch.randn(rows, 1), "kind": torch.randint(0, 3, (rows,))}),
    "contrastive": Newcomer(Contrastive, pairs("left", "right")),
    "ctc_speech": Newcomer(Speech, speech),
    "ctc_speech_written": Newcomer(WrittenSpeech, speech),
    "kl_distil": Newcomer(Distilled, lambda rows: {"data": torch.randn(rows, 8)}),
    "triplet_cosine": Newcomer(Triplets, pairs("anchor", "near", "far")),
    "class_weights": Newcomer(Weighted, kinds),
    "label_smoothing": Newcomer(Smoothed, kinds),
    "double_precision": in_type(torch.float64),
    "half_precision": in_type(torch.float16),
    "bfloat16_precision": in_type(torch.bfloat16),
}
