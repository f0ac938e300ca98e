# SPDX-License-Identifier: Apache-2.0
"""The networks of check_pytorch.py: a module, a minibatch and the opset of the file."""
import torch
from torch import nn
from torch.nn import functional as F

from step_sequences import (BATCH, Aligned, Bags, Elman, GruLanguageModel, Looped, LstmClassifier, measured_sequences,
                            sentences)


class Residual(nn.Module):
    """Two residual blocks, the second with a projection; batch norm in training mode."""

    def __init__(self):
        super().__init__()
        self.stem, self.stem_bn = nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8)
        self.a, self.a_bn = nn.Conv2d(8, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8)
        self.b, self.b_bn = nn.Conv2d(8, 16, 3, 2, padding=1, bias=False), nn.BatchNorm2d(16)
        self.down, self.down_bn = nn.Conv2d(8, 16, 1, 2, bias=False), nn.BatchNorm2d(16)
        self.fc = nn.Linear(16, 5)

    def forward(self, x):
        x = F.relu(self.stem_bn(self.stem(x)))
        x = F.relu(x + self.a_bn(self.a(x)))
        x = F.relu(self.b_bn(self.b(x)) + self.down_bn(self.down(x)))
        return self.fc(F.adaptive_avg_pool2d(x, 1).flatten(1))


class SharedWeights(nn.Module):
    """One convolution used three times, one linear layer tied to itself transposed."""

    def __init__(self):
        super().__init__()
        self.conv, self.first = nn.Conv2d(6, 6, 3, padding=1), nn.Conv2d(3, 6, 1)
        self.tied, self.fc = nn.Linear(6, 6, bias=False), nn.Linear(6, 5)

    def forward(self, x):
        x = self.first(x)
        for _ in range(3):
            x = torch.tanh(self.conv(x))
        x = x.mean((2, 3))
        return self.fc(torch.sigmoid(self.tied(x)) @ self.tied.weight)


class Grouped(nn.Module):
    """Grouped, depthwise and dilated convolutions, ReLU6 and HardSwish, average pooling."""

    def __init__(self):
        super().__init__()
        self.a = nn.Conv2d(4, 8, 3, padding=1, groups=2)
        self.b = nn.Conv2d(8, 8, 3, padding=2, dilation=2, groups=8)
        self.c = nn.Conv2d(8, 12, 1, groups=4)
        self.fc = nn.Linear(12, 5)

    def forward(self, x):
        x = F.avg_pool2d(F.relu6(3 * self.a(x)), 2)
        x = F.hardswish(self.b(x))
        return self.fc(F.leaky_relu(self.c(x), 0.2).amax((2, 3)))


class Inverted(nn.Module):
    """MobileNetV2's blocks: ReLU6 after batch norms in training mode; values reach 6."""

    def __init__(self):
        super().__init__()
        def conv(i, o, k, s=1, g=1):
            return nn.Sequential(nn.Conv2d(i, o, k, s, k // 2, groups=g, bias=False),
                                 nn.BatchNorm2d(o))
        self.stem, self.widen, self.deep = conv(3, 8, 3), conv(8, 16, 1), conv(16, 16, 3, g=16)
        self.narrow, self.stride, self.out = conv(16, 8, 1), conv(8, 8, 3, 2, 8), conv(8, 24, 1)
        self.fc = nn.Linear(24, 5)
        for name, scale in self.named_parameters():
            if name.endswith("1.weight"):
                nn.init.constant_(scale, 4)

    def forward(self, x):
        x = F.relu6(self.stem(x))
        x = x + self.narrow(F.relu6(self.deep(F.relu6(self.widen(x)))))
        x = F.relu6(self.out(F.relu6(self.stride(x))))
        return self.fc(F.adaptive_avg_pool2d(x, 1).flatten(1))


class AutoEncoder(nn.Module):
    """Down by strides, up by transposed convolutions; regression."""

    def __init__(self):
        super().__init__()
        self.down1, self.down2 = nn.Conv2d(3, 6, 3, 2, 1), nn.Conv2d(6, 8, 3, 2, 1)
        self.up1 = nn.ConvTranspose2d(8, 6, 4, 2, 1)
        self.up2 = nn.ConvTranspose2d(6, 3, 3, 2, 1, output_padding=1, groups=3)

    def forward(self, x):
        x = F.elu(self.down2(F.elu(self.down1(x))))
        return self.up2(F.softplus(self.up1(x)))


class Attention(nn.Module):
    """Layer norm, multi-head attention written out, GELU: a transformer block over patches."""

    def __init__(self):
        super().__init__()
        self.patch, self.norm1, self.norm2 = nn.Conv2d(3, 16, 4, 4), nn.LayerNorm(16), nn.LayerNorm(16)
        self.qkv, self.out = nn.Linear(16, 48), nn.Linear(16, 16)
        self.wide, self.narrow, self.fc = nn.Linear(16, 32), nn.Linear(32, 16), nn.Linear(16, 5)

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2)
        q, k, v = self.qkv(self.norm1(x)).chunk(3, 2)
        heads = lambda t: t.reshape(t.shape[0], t.shape[1], 4, 4).transpose(1, 2)
        weights = torch.softmax(heads(q) @ heads(k).transpose(2, 3) / 2.0, -1)
        x = x + self.out((weights @ heads(v)).transpose(1, 2).reshape(x.shape))
        x = x + self.narrow(F.gelu(self.wide(self.norm2(x))))
        return self.fc(x.mean(1))


class Branches(nn.Module):
    """Inception: branches of different depth joined by a Concat, max pooling.

    No bias before batch norm, here and elsewhere: its gradient is zero up to rounding.
    """

    def __init__(self):
        super().__init__()
        self.a, self.b1 = nn.Conv2d(3, 4, 1, bias=False), nn.Conv2d(3, 4, 1)
        self.b2 = nn.Conv2d(4, 6, 3, padding=1, bias=False)
        self.c, self.bn = nn.Conv2d(3, 2, 5, padding=2, bias=False), nn.BatchNorm2d(12)
        self.fc = nn.Linear(12, 5)

    def forward(self, x):
        x = torch.cat([self.a(F.max_pool2d(x, 3, 1, 1)), self.b2(F.relu(self.b1(x))), self.c(x)], 1)
        return self.fc(F.max_pool2d(F.relu(self.bn(x)), 4).mean((2, 3)))


class FrozenNorm(nn.Module):
    """Batch norm with given statistics (eval), trained group norm and instance norm."""

    def __init__(self):
        super().__init__()
        self.a, self.bn = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.b, self.gn = nn.Conv2d(8, 8, 3, padding=1), nn.GroupNorm(4, 8)
        self.c, self.inn = nn.Conv2d(8, 6, 3), nn.InstanceNorm2d(6, affine=True)
        self.fc = nn.Linear(6, 5)
        self.bn.running_mean.uniform_(-0.5, 0.5)
        self.bn.running_var.uniform_(0.5, 2)

    def train(self, mode=True):
        super().train(mode)
        self.bn.eval()
        return self

    def forward(self, x):
        x = F.relu(self.gn(self.b(F.relu(self.bn(self.a(x))))))
        x = self.inn(self.c(x))
        return self.fc((x * torch.sigmoid(x)).mean((2, 3)))


class Unet(nn.Module):
    """Down, up by Resize (linear and nearest), skip connections; a label for every pixel."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Conv2d(3, 6, 3, padding=1), nn.Conv2d(6, 8, 3, padding=1)
        self.mid, self.mid_bn = nn.Conv2d(8, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8)
        self.up, self.out = nn.Conv2d(16, 6, 3, padding=1), nn.Conv2d(12, 4, 1)

    def forward(self, x):
        a = F.relu(self.a(x))
        b = F.relu(self.b(F.max_pool2d(a, 2)))
        m = F.relu(self.mid_bn(self.mid(F.max_pool2d(b, 2))))
        m = F.interpolate(m, scale_factor=2.0, mode="bilinear", align_corners=False)
        u = F.relu(self.up(torch.cat([m, b], 1)))
        return self.out(torch.cat([F.interpolate(u, scale_factor=2.0, mode="nearest"), a], 1))


class Odd(nn.Module):
    """Rare operators: PReLU, SELU, padding by reflection, strided slices, where,
    gather by constant indices, expand, pow, sqrt, log-sum-exp, dropout of ratio 0."""

    def __init__(self):
        super().__init__()
        self.conv, self.act = nn.Conv2d(3, 8, 3, 2), nn.PReLU(8)
        self.scale, self.fc = nn.Parameter(torch.rand(1, 8, 1, 1)), nn.Linear(24, 5)
        self.register_buffer("pick", torch.tensor([5, 0, 3, 3]))

    def forward(self, x):
        x = self.act(self.conv(F.pad(x, (1, 1, 1, 1), mode="reflect"))) * self.scale.expand(-1, -1, 8, 8)
        x = torch.where(x > 0.5, torch.sqrt(x.abs() + 0.1), F.selu(x[:, :, :, :]))
        a = x[:, :, ::2, 1:].pow(2.0).mean((2, 3))
        b = torch.logsumexp(x.flatten(2), 2)
        c = x.index_select(1, self.pick).amax((2, 3))
        d = torch.min(a, b)[:, :4] - torch.exp(-torch.abs(c))
        return self.fc(torch.cat([a, b, c, F.dropout(d, 0.0, self.training)], 1))


class Tiled(nn.Module):
    """Repeats along every kind of axis: a picture's axes with a symbolic batch, a parameter repeated once per
    example, and the batch axis."""

    def __init__(self):
        super().__init__()
        self.conv, self.place = nn.Conv2d(3, 4, 3, padding=1), nn.Parameter(torch.rand(1, 1, 4, 4) - 0.5)
        self.token, self.pair = nn.Parameter(torch.rand(1, 8, 1, 1) - 0.5), nn.Parameter(torch.rand(2, 1, 16))
        self.fc = nn.Linear(16, 5)

    def forward(self, x):
        x = torch.tanh(self.conv(x)).repeat(1, 2, 1, 1) + self.place.repeat(1, 8, 2, 2)
        x = torch.cat([x, self.token.repeat(x.shape[0], 1, 8, 8)], 1)
        twice = x.mean((2, 3)).repeat(2, 1).reshape(2, -1, 16)
        return self.fc(torch.sigmoid(twice * self.pair).sum(0))


class Padded(nn.Module):
    """Reflected and replicated edges, one of them of a parameter; negative pads; a blur that halves the picture; pixels
    shuffled both ways."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, padding=2, padding_mode="reflect")
        self.second = nn.Conv2d(8, 8, 3, padding=1, padding_mode="replicate")
        self.up, self.down = nn.Conv2d(8, 12, 1), nn.Conv2d(12, 6, 1)
        line = torch.tensor([1.0, 2.0, 1.0])
        self.register_buffer("blur", (line[:, None] * line / 16).expand(8, 1, 3, 3).clone())
        self.edge, self.fc = nn.Parameter(torch.rand(1, 6, 2, 3)), nn.Linear(6, 5)

    def forward(self, x):
        x = torch.tanh(self.first(x))
        x = F.conv2d(F.pad(x, (1, 1, 1, 1), mode="reflect"), self.blur, stride=2, groups=8)
        x = torch.tanh(self.second(x))
        x = F.pad(F.pixel_shuffle(self.up(x), 2), (-1, 1, 0, 1), mode="replicate")[:, :, :-1]
        x = self.down(F.pixel_unshuffle(x, 2))
        x = x + F.pad(self.edge, (2, 0, 1, 2), mode="replicate")
        return self.fc(torch.sin(3 * x).mean((2, 3)))


class Wrapped(nn.Module):
    """Circular padding. PyTorch 1.13 exports it with wrong rows, so the file gets replicated edges of opset 14, which
    as_circular() changes to mode wrap of opset 19."""

    def __init__(self):
        super().__init__()
        self.conv, self.next, self.fc = nn.Conv2d(3, 4, 1), nn.Conv2d(4, 4, 3), nn.Linear(16, 5)

    def forward(self, x):
        mode = "replicate" if torch.onnx.is_in_onnx_export() else "circular"
        x = torch.tanh(self.next(F.pad(torch.tanh(self.conv(x)), (2, 1, 0, 3), mode=mode)))
        return self.fc(torch.sin(9 * x[:, :, ::4, ::4]).flatten(1))


def as_circular(path):
    with open(path, "rb") as file:
        data = file.read()
    opset, mode = b"B\x02\x10\x0e", b"edge"
    assert data.count(mode) == 1 and data.endswith(opset), path
    with open(path, "wb") as file:
        file.write(data.replace(mode, b"wrap")[:-1] + b"\x13")


class Einsums(nn.Module):
    """Attention and linear layers as sums over letters: batches, diagonals, ellipses, three operands, several
    letters summed at once."""

    def __init__(self):
        super().__init__()
        draw = lambda *shape: nn.Parameter(torch.randn(*shape) / 4)
        self.query, self.key, self.value = draw(6, 2, 4), draw(6, 2, 4), draw(6, 2, 4)
        self.join, self.scale = draw(2, 4, 6), draw(6, 6)
        self.left, self.right, self.fc = draw(6, 3), draw(3, 8, 2), draw(8, 2, 5)

    def forward(self, x):  # [N, 8, 6]
        q, k = torch.einsum("btc,chd->bthd", x, self.query), torch.einsum("...c,chd->...hd", x, self.key)
        v = torch.einsum("btc,chd->bhtd", x, self.value)
        weights = torch.softmax(torch.einsum("bqhd,bkhd->bhqk", q, k) / 2, -1)
        x = x + torch.einsum("bhqk,bhkd,hdc->bqc", weights, v, self.join)
        x = x * torch.einsum("cc->c", self.scale) + torch.einsum("bic,bjc->bi", x, x)[:, :, None]
        x = torch.tanh(torch.einsum("btc,cr,rts->bts", x, self.left, self.right))
        return torch.einsum("bts,tsy->by", x, self.fc)


class Sampled(nn.Module):
    """Images and volumes read at places that are data, parameters and results of layers, in every mode and padding;
    some places are outside."""

    def __init__(self):
        super().__init__()
        self.conv, self.place = nn.Conv2d(3, 4, 3, padding=1), nn.Conv2d(3, 2, 3, 2, padding=1)
        self.grid = nn.Parameter(torch.rand(1, 5, 6, 2) * 2.6 - 1.3)
        self.deep, self.fc = nn.Parameter(torch.rand(1, 4, 3, 2, 3) * 2.4 - 1.2), nn.Linear(16, 5)

    def forward(self, x):
        y, means = torch.tanh(self.conv(x)), []
        grid = self.grid + 0.4 * torch.tanh(self.place(x)).permute(0, 2, 3, 1).mean((1, 2), keepdim=True)
        for mode, padding, corners in (("bilinear", "zeros", False), ("bilinear", "border", True),
                                       ("bilinear", "reflection", False), ("bicubic", "zeros", True),
                                       ("bicubic", "reflection", True), ("bicubic", "border", False),
                                       ("nearest", "reflection", True), ("nearest", "zeros", False)):
            means.append(F.grid_sample(y, grid, mode, padding, corners)[:, :1].mean((2, 3)))
        volume, deep = y.reshape(-1, 2, 2, 8, 8), self.deep.expand(x.shape[0], -1, -1, -1, -1)
        for padding, corners in (("zeros", True), ("border", False), ("reflection", True), ("reflection", False)):
            means.append(F.grid_sample(volume, deep, "bilinear", padding, corners).mean((2, 3, 4)))
        return self.fc(torch.sin(9 * torch.cat(means, 1)))


class Hundred(nn.Module):
    """A hundred convolutions in residual blocks; CELU, since one of this many ReLUs is always near 0."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, padding=1)
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.Conv2d(8, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.CELU(),
                          nn.Conv2d(8, 8, 3, padding=1)) for _ in range(50))
        self.fc = nn.Linear(8, 5)

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = x + 0.2 * block(x)
        return self.fc(x.mean((2, 3)))


class Standardised(nn.Module):
    """Convolutions whose weights are standardised by a batch norm, as in NFNets, and a usual batch norm."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 8, 3, padding=1)
        self.gain, self.bn, self.fc = nn.Parameter(torch.rand(8) + 0.5), nn.BatchNorm2d(8), nn.Linear(8, 5)

    def standard(self, conv, x):
        w = conv.weight
        w = F.batch_norm(w.reshape(1, 8, -1), None, None, weight=self.gain, training=True, momentum=0.0)
        return F.conv2d(x, w.reshape_as(conv.weight), conv.bias, padding=1)

    def forward(self, x):
        x = F.silu(self.bn(self.standard(self.a, x)))
        return self.fc(F.silu(self.standard(self.b, x)).mean((2, 3)))


def classify(*shape):
    return torch.rand(BATCH, *shape) * 2 - 1, torch.randint(0, 5, (BATCH,))


NETWORKS = {
    "residual": (Residual, lambda: classify(3, 16, 16), 14),
    "shared_weights": (SharedWeights, lambda: classify(3, 8, 8), 13),
    "grouped": (Grouped, lambda: classify(4, 12, 12), 14),
    "inverted": (Inverted, lambda: classify(3, 16, 16), 14),
    "auto_encoder": (AutoEncoder, lambda: (torch.rand(BATCH, 3, 16, 16), torch.rand(BATCH, 3, 16, 16)), 11),
    "attention": (Attention, lambda: classify(3, 16, 16), 14),
    "branches": (Branches, lambda: classify(3, 8, 8), 12),
    "frozen_norm": (FrozenNorm, lambda: classify(3, 8, 8), 15),
    "unet": (Unet, lambda: (torch.rand(BATCH, 3, 16, 16), torch.randint(0, 4, (BATCH, 16, 16))), 13),
    "aligned": (lambda: Aligned(float("-inf")), lambda: (torch.rand(BATCH, 12, 6) * 4 - 2, torch.rand(BATCH, 1)), 13),
    "aligned_by_large_numbers": (
        lambda: Aligned(-1e4), lambda: (torch.rand(BATCH, 12, 6) * 4 - 2, torch.rand(BATCH, 1)), 13),
    "odd": (Odd, lambda: classify(3, 16, 16), 14),
    "tiled": (Tiled, lambda: classify(3, 8, 8), 14),
    "padded": (Padded, lambda: classify(3, 8, 8), 14),
    "wrapped": (Wrapped, lambda: classify(3, 6, 6), 14),
    "einsums": (Einsums, lambda: classify(8, 6), 12),
    "sampled": (Sampled, lambda: classify(3, 8, 8), 16),
    "hundred_layers": (Hundred, lambda: classify(3, 8, 8), 14),
    "mlp_deep": (
        lambda: nn.Sequential(nn.Flatten(), *[m for _ in range(12) for m in (nn.Linear(48, 48, bias=False), nn.BatchNorm1d(48), nn.CELU())], nn.Linear(48, 5)),
        lambda: classify(3, 4, 4), 14),
    "lstm_classifier": (LstmClassifier, lambda: sentences(30, 9), 13),
    "gru_language_model": (
        GruLanguageModel,
        lambda: (torch.randint(0, 20, (BATCH, 7)), torch.randint(0, 20, (BATCH, 7))), 14),
    "elman": (Elman, lambda: measured_sequences(6), 15),
    "standardised": (Standardised, lambda: classify(3, 8, 8), 15),
    "looped": (Looped, lambda: classify(6), 14),
    "bags": (Bags, lambda: (torch.randint(0, 30, (BATCH, 7)), torch.randint(0, 5, (BATCH,))), 12),
}
