# SPDX-License-Identifier: Apache-2.0
"""GPT-2 as written by Hugging Face's transformers, trained on rows of tokens with the loss inside the file.

gpt2.onnx is exported by write_gpt2.py. `Gpt2` is the same network in plain PyTorch, because a test may
not need transformers; write_gpt2.py checks that both compute the same.
"""
import pathlib

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

FILE = pathlib.Path(__file__).parent / "gpt2.onnx"
WEIGHTS = "net.weights"  # the file's external data: all parameters in the order of named_parameters()
VOCABULARY, LENGTH, PLACES, WIDTH, HEADS, LAYERS = 200, 24, 32, 64, 4, 2


class Projection(nn.Module):
    """A linear layer with its weight the other way round, as transformers' Conv1D."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.empty(inputs, outputs)), nn.Parameter(torch.zeros(outputs))

    def forward(self, x):
        return x @ self.weight + self.bias


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.c_attn, self.c_proj = Projection(WIDTH, 3 * WIDTH), Projection(WIDTH, WIDTH)

    def forward(self, x):
        rows, length, _ = x.shape
        q, k, v = (part.reshape(rows, length, HEADS, -1).transpose(1, 2) for part in self.c_attn(x).chunk(3, -1))
        later = torch.full((length, length), float("-inf")).triu(1)
        weights = torch.softmax(q @ k.transpose(2, 3) / (WIDTH // HEADS) ** 0.5 + later, -1)
        return self.c_proj((weights @ v).transpose(1, 2).reshape(rows, length, WIDTH))


class Wide(nn.Module):
    def __init__(self):
        super().__init__()
        self.c_fc, self.c_proj = Projection(WIDTH, 4 * WIDTH), Projection(4 * WIDTH, WIDTH)

    def forward(self, x):
        return self.c_proj(F.gelu(self.c_fc(x), approximate="tanh"))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1, self.attn = nn.LayerNorm(WIDTH), Attention()
        self.ln_2, self.mlp = nn.LayerNorm(WIDTH), Wide()

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class Gpt2(nn.Module):
    """All parameters have the names of transformers' GPT2LMHeadModel, of which embedding and head are one."""

    def __init__(self):
        super().__init__()
        self.transformer = nn.Module()
        self.transformer.wpe = nn.Embedding(PLACES, WIDTH)
        self.transformer.h = nn.ModuleList(Block() for _ in range(LAYERS))
        self.transformer.ln_f = nn.LayerNorm(WIDTH)
        self.lm_head = nn.Linear(WIDTH, VOCABULARY, bias=False)
        for name, parameter in self.named_parameters():
            if parameter.dim() == 2:
                nn.init.normal_(parameter, std=0.1 if "c_proj" not in name else 0.05)

    def forward(self, input_ids, labels):
        places = torch.arange(input_ids.shape[1])
        x = F.embedding(input_ids, self.lm_head.weight) + self.transformer.wpe(places)
        for block in self.transformer.h:
            x = block(x)
        logits = self.lm_head(self.transformer.ln_f(x))
        loss = F.cross_entropy(logits[:, :-1].reshape(-1, VOCABULARY), labels[:, 1:].reshape(-1))
        return loss, logits


def rows_of_tokens(draws, count):
    """Mostly the one successor of each token."""
    following = np.random.default_rng(10).permutation(VOCABULARY)
    rows = np.empty((count, LENGTH), np.int64)
    rows[:, 0] = draws.integers(0, VOCABULARY, count)
    for i in range(1, LENGTH):
        stray = draws.random(count) < 0.1
        rows[:, i] = np.where(stray, draws.integers(0, VOCABULARY, count), following[rows[:, i - 1]])
    return {"tokens": rows}
