# SPDX-License-Identifier: Apache-2.0
"""Networks on sequences, tokens and vectors for check_pytorch.py."""
import torch
from torch import nn
from torch.nn import functional as F

BATCH = 16


def first_state(state, x):
    """One state for all examples of a batch. Without an initial state, PyTorch 1.13 exports packed sequences
    with zeros of the traced batch size."""
    return state.expand(-1, x.shape[0], -1).contiguous()


class LstmClassifier(nn.Module):
    """Tokens of uneven lengths (0 is padding) through two layers in both directions, with trained initial
    states; classifies the last states."""

    def __init__(self):
        super().__init__()
        self.h, self.c = (nn.Parameter(torch.rand(4, 1, 12) - 0.5) for _ in range(2))
        self.words = nn.Embedding(30, 8)
        self.lstm, self.fc = nn.LSTM(8, 12, 2, bidirectional=True, batch_first=True), nn.Linear(24, 5)

    def forward(self, x):
        lengths = (x > 0).sum(1).cpu()
        packed = nn.utils.rnn.pack_padded_sequence(self.words(x), lengths, batch_first=True)
        _, (h, _) = self.lstm(packed, (first_state(self.h, x), first_state(self.c, x)))
        return self.fc(torch.cat([h[-2], h[-1]], 1))


class GruLanguageModel(nn.Module):
    """Predicts the next token at every position, with a trained initial state."""

    def __init__(self):
        super().__init__()
        self.words, self.first = nn.Embedding(20, 8), nn.Parameter(torch.rand(2, 1, 12) - 0.5)
        self.gru, self.fc = nn.GRU(8, 12, 2, batch_first=True), nn.Linear(12, 20)

    def forward(self, x):
        y, _ = self.gru(self.words(x), first_state(self.first, x))
        return self.fc(y).transpose(1, 2)


class Elman(nn.Module):
    """ReLU cells, time-major; both directions skip padding. The loss depends on every state."""

    def __init__(self):
        super().__init__()
        self.first, self.then = nn.Parameter(torch.rand(4, 1, 10) - 0.5), nn.Parameter(torch.rand(2, 1, 7))
        self.rnn = nn.RNN(6, 10, 2, nonlinearity="relu", bidirectional=True)
        self.gru, self.fc = nn.GRU(20, 7, bidirectional=True), nn.Linear(14, 5)

    def forward(self, x):
        packed = nn.utils.rnn.pack_padded_sequence(x[:, :, :6].transpose(0, 1), x[:, 0, 6].long().cpu())
        packed, _ = self.rnn(packed, first_state(self.first, x))
        packed, _ = self.gru(packed, first_state(self.then, x))
        y, _ = nn.utils.rnn.pad_packed_sequence(packed)
        return self.fc(torch.tanh(y).sum(0))


@torch.jit.script
def recurrence(x, a, b, steps: int):
    """PyTorch exports the loop and the branches as Loop, If and operators on sequences."""
    h = torch.zeros_like(x)
    seen = []
    for k in range(steps):
        h = torch.tanh(x @ a + h @ b)
        if k % 2 == 1:
            seen.append(h)
    if x.shape[1] == 6:
        h = h * 2
    else:
        h = h - x
    return h + torch.stack(seen, 0).sum(0)


class Looped(nn.Module):
    """A scripted loop over steps."""

    def __init__(self):
        super().__init__()
        self.a, self.b = (nn.Parameter(torch.rand(6, 6) - 0.5) for _ in range(2))
        self.fc = nn.Linear(6, 5)

    def forward(self, x):
        return self.fc(recurrence(x, self.a, self.b, 5))


class Bags(nn.Module):
    """The mean and the largest of the embeddings of each row of tokens."""

    def __init__(self):
        super().__init__()
        self.mean, self.most = nn.EmbeddingBag(30, 8, mode="mean"), nn.EmbeddingBag(30, 6, mode="max")
        self.fc = nn.Linear(14, 5)

    def forward(self, x):
        return self.fc(torch.cat([self.mean(x), self.most(x)], 1))


class Aligned(nn.Module):
    """CTC: the file has the sums over all alignments as log-sum-exps, with `never` for impossible states; PyTorch
    computes its own CTC loss. Most states of the first steps are impossible."""

    def __init__(self, never):
        super().__init__()
        self.never, self.fc = never, nn.Linear(6, 5)
        self.register_buffer("labels", torch.tensor([2, 1, 1, 4]))
        self.register_buffer("states", torch.tensor([0, 2, 0, 1, 0, 1, 0, 4, 0]))
        skips = [never if k in (0, 1) or k % 2 == 0 or k == 5 else 0.0 for k in range(9)]
        self.register_buffer("skips", torch.tensor(skips))
        self.register_buffer("start", torch.tensor([0.0] * 2 + [never] * 7))

    def forward(self, x):  # [N, 12, 6]
        logs = torch.log_softmax(self.fc(x), 2)
        if not torch.onnx.is_in_onnx_export():
            lengths = torch.full((x.shape[0],), 12), torch.full((x.shape[0],), 4)
            labels = self.labels.expand(x.shape[0], -1)
            return F.ctc_loss(logs.transpose(0, 1), labels, *lengths, reduction="none")[:, None]
        seen = logs.index_select(2, self.states)
        here = seen[:, 0] + self.start
        for step in range(1, 12):
            one = F.pad(here[:, :-1], (1, 0), value=self.never)
            two = F.pad(here[:, :-2], (2, 0), value=self.never) + self.skips
            here = torch.logsumexp(torch.stack([here, one, two]), 0) + seen[:, step]
        return -torch.logsumexp(here[:, -2:], 1, keepdim=True)


def uneven(longest):
    """Longest first, as packed sequences require."""
    return (longest - torch.arange(BATCH) * longest // BATCH).clamp(min=1)


def sentences(tokens, longest):
    lengths = uneven(longest)
    words = torch.randint(1, tokens, (BATCH, longest))
    return words * (torch.arange(longest) < lengths[:, None]), torch.randint(0, 5, (BATCH,))


def measured_sequences(longest):
    """The last of the first step's seven numbers is the length."""
    data = torch.rand(BATCH, longest, 7) * 2 - 1
    data[:, 0, 6] = uneven(longest)
    return data, torch.randint(0, 5, (BATCH,))
