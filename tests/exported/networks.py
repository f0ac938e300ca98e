# SPDX-License-Identifier: Apache-2.0
"""Sixteen common networks, each in full size and small enough for a file of 200 KB.

The small networks are the same classes with fewer and narrower layers. Dropout and stochastic depth
are 0, so that a step can be compared with PyTorch's.
"""
import functools

import torch
from torch import nn
from torch.nn import functional as F
from torchvision import models
from torchvision.models import convnext, efficientnet, mobilenetv3, regnet, squeezenet
from torchvision.models.googlenet import BasicConv2d, Inception
from torchvision.ops import StochasticDepth


class WithLoss(nn.Module):
    """A network and its loss in one graph, so that the file has both."""

    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, data, target):
        return F.cross_entropy(self.net(data), target)


def perturbed(model):
    """Makes all parameters different, since exporters merge equal parameters, such as initial biases."""
    with torch.no_grad():
        for p in model.parameters():
            p.add_(torch.randn_like(p) * 0.02)
        for name, value in model.named_buffers():
            if name.endswith("running_mean"):
                value.uniform_(-0.1, 0.1)
            if name.endswith("running_var"):
                value.uniform_(0.8, 1.2)
    return model


class SmallResNet(nn.Module):
    """ResNet's stem and blocks; torchvision's class has fixed widths."""

    def __init__(self, widths=(8, 12)):
        super().__init__()
        first = widths[0]
        self.conv1 = nn.Conv2d(3, first, 7, 2, 3, bias=False)
        self.bn1, self.relu, self.maxpool = nn.BatchNorm2d(first), nn.ReLU(), nn.MaxPool2d(3, 2, 1)
        blocks, inputs = [], first
        for width in widths:
            down = None
            if width != inputs:
                down = nn.Sequential(nn.Conv2d(inputs, width, 1, 2, bias=False), nn.BatchNorm2d(width))
            blocks.append(models.resnet.BasicBlock(inputs, width, 2 if down else 1, down))
            inputs = width
        self.layers, self.fc = nn.Sequential(*blocks), nn.Linear(inputs, 10)

    def forward(self, x):
        x = self.layers(self.maxpool(self.relu(self.bn1(self.conv1(x)))))
        return self.fc(torch.flatten(F.adaptive_avg_pool2d(x, (1, 1)), 1))


class SmallGoogLeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = BasicConv2d(3, 8, kernel_size=7, stride=2, padding=3)
        self.maxpool1 = nn.MaxPool2d(3, stride=2, ceil_mode=True)
        self.inception3a = Inception(8, 4, 4, 6, 2, 4, 4)
        self.maxpool2 = nn.MaxPool2d(3, stride=2, ceil_mode=True)
        self.inception4a = Inception(18, 4, 4, 6, 2, 4, 4)
        self.fc = nn.Linear(18, 10)

    def forward(self, x):
        x = self.inception3a(self.maxpool1(self.conv1(x)))
        x = F.adaptive_avg_pool2d(self.inception4a(self.maxpool2(x)), (1, 1))
        return self.fc(F.dropout(torch.flatten(x, 1), 0.0, self.training))


class SmallSqueezeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 8, 3, 2), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, ceil_mode=True),
            squeezenet.Fire(8, 4, 6, 6), squeezenet.Fire(12, 4, 6, 6))
        self.classifier = nn.Sequential(
            nn.Dropout(0.0), nn.Conv2d(12, 10, 1), nn.ReLU(inplace=True), nn.AdaptiveAvgPool2d((1, 1)))

    def forward(self, x):
        return torch.flatten(self.classifier(self.features(x)), 1)


class UNet(nn.Module):
    """Two convolutions per level, down by max pooling, up by transposed convolutions; a class for every
    pixel."""

    def __init__(self, widths, classes=4):
        super().__init__()
        self.down, self.up, self.meet = nn.ModuleList(), nn.ModuleList(), nn.ModuleList()
        inputs = 3
        for width in widths:
            self.down.append(self.twice(inputs, width))
            inputs = width
        for width in reversed(widths[:-1]):
            self.up.append(nn.ConvTranspose2d(inputs, width, 2, 2))
            self.meet.append(self.twice(2 * width, width))
            inputs = width
        self.out = nn.Conv2d(inputs, classes, 1)

    @staticmethod
    def twice(inputs, width):
        return nn.Sequential(*[layer for source in (inputs, width) for layer in (
            nn.Conv2d(source, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU())])

    def forward(self, x):
        kept = []
        for i, down in enumerate(self.down):
            x = down(x if i == 0 else F.max_pool2d(x, 2))
            kept.append(x)
        kept.pop()
        for up, meet in zip(self.up, self.meet):
            x = meet(torch.cat([kept.pop(), up(x)], 1))
        return self.out(x)


class Encoder(nn.Module):
    """nn.TransformerEncoderLayer over embedded tokens."""

    def __init__(self, tokens, width, heads, wide):
        super().__init__()
        self.embedding = nn.Embedding(tokens, width)
        self.layer = nn.TransformerEncoderLayer(width, heads, wide, dropout=0.0, batch_first=True)
        self.fc = nn.Linear(width, 10)

    def forward(self, x):
        return self.fc(self.layer(self.embedding(x)).mean(1))


class LstmClassifier(nn.Module):
    """Two layers in both directions over embedded tokens; classifies the last states."""

    def __init__(self, tokens, width, hidden):
        super().__init__()
        self.embedding = nn.Embedding(tokens, width)
        self.lstm = nn.LSTM(width, hidden, 2, bidirectional=True, batch_first=True)
        self.fc = nn.Linear(2 * hidden, 10)

    def forward(self, x):
        _, (h, _) = self.lstm(self.embedding(x))
        return self.fc(torch.cat([h[-2], h[-1]], 1))


class GruLanguageModel(nn.Module):
    """Scores of the next token at every position."""

    def __init__(self, tokens, width, hidden):
        super().__init__()
        self.embedding = nn.Embedding(tokens, width)
        self.gru = nn.GRU(width, hidden, 2, batch_first=True)
        self.fc = nn.Linear(hidden, tokens)

    def forward(self, x):
        return self.fc(self.gru(self.embedding(x))[0]).transpose(1, 2)


class MixerBlock(nn.Module):
    def __init__(self, tokens, width, wide_tokens, wide):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.tokens = nn.Sequential(nn.Linear(tokens, wide_tokens), nn.GELU(), nn.Linear(wide_tokens, tokens))
        self.channels = nn.Sequential(nn.Linear(width, wide), nn.GELU(), nn.Linear(wide, width))

    def forward(self, x):
        x = x + self.tokens(self.norm1(x).transpose(1, 2)).transpose(1, 2)
        return x + self.channels(self.norm2(x))


class Mixer(nn.Module):
    def __init__(self, size, patch, width, wide_tokens, wide, depth):
        super().__init__()
        tokens = (size // patch) ** 2
        self.patches = nn.Conv2d(3, width, patch, patch)
        self.blocks = nn.Sequential(*[MixerBlock(tokens, width, wide_tokens, wide) for _ in range(depth)])
        self.norm, self.fc = nn.LayerNorm(width), nn.Linear(width, 10)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        return self.fc(self.norm(self.blocks(x)).mean(1))


def small_mobilenet():
    conf = functools.partial(mobilenetv3.InvertedResidualConfig, width_mult=1.0)
    return models.MobileNetV3(
        [conf(8, 3, 8, 8, True, "RE", 2, 1), conf(8, 5, 16, 12, True, "HS", 2, 1),
         conf(12, 3, 16, 12, False, "HS", 1, 1)], last_channel=24, num_classes=10, dropout=0.0)


def small_efficientnet():
    conf = functools.partial(efficientnet.MBConvConfig, width_mult=1.0, depth_mult=1.0)
    return models.EfficientNet(
        [conf(1, 3, 1, 8, 8, 1), conf(4, 3, 2, 8, 12, 2)], dropout=0.0, stochastic_depth_prob=0.0,
        num_classes=10, last_channel=24)


def small_regnet():
    params = regnet.BlockParams([1, 2], [16, 24], [8, 8], [1.0, 1.0], [2, 2], se_ratio=0.25)
    return models.RegNet(params, num_classes=10, stem_width=8)


def small_convnext():
    return models.ConvNeXt(
        [convnext.CNBlockConfig(8, 16, 1), convnext.CNBlockConfig(16, None, 1)],
        stochastic_depth_prob=0.0, layer_scale=0.5, num_classes=10)


def small_swin():
    return models.SwinTransformer(
        [2, 2], embed_dim=8, depths=[2, 2], num_heads=[2, 4], window_size=[4, 4], dropout=0.0,
        stochastic_depth_prob=0.0, num_classes=10)


def small_vit():
    return models.VisionTransformer(32, 8, 2, 4, 16, 32, num_classes=10)


def full_mobilenet():
    return models.mobilenet_v3_small(dropout=0.0)


def full_densenet():
    return models.densenet121()


def full_googlenet():
    net = models.googlenet(aux_logits=False, init_weights=False)
    net.dropout.p = 0.0
    return net


def full_swin():
    net = models.swin_t()
    for module in net.modules():
        if isinstance(module, StochasticDepth):
            module.p = 0.0
    return net


def full_efficientnet():
    return models.efficientnet_b0(dropout=0.0, stochastic_depth_prob=0.0)


def picture(size, batch):
    return torch.rand(batch, 3, size, size) * 2 - 1, torch.randint(0, 10, (batch,))


def pixels(size, batch):
    return torch.rand(batch, 3, size, size) * 2 - 1, torch.randint(0, 4, (batch, size, size))


def tokens(vocabulary, length, batch):
    return torch.randint(0, vocabulary, (batch, length)), torch.randint(0, 10, (batch,))


def text(vocabulary, length, batch):
    """Sentences, and the sentences shifted by one token."""
    words = torch.randint(0, vocabulary, (batch, length + 1))
    return words[:, :-1].contiguous(), words[:, 1:].contiguous()


def of_pictures(name, full, small, full_size=224, small_size=32, draw=picture):
    return name, {"full": (full, functools.partial(draw, full_size)),
                  "small": (small, functools.partial(draw, small_size))}


NETWORKS = dict([
    of_pictures("ResNet-18", models.resnet18, SmallResNet),
    of_pictures("MobileNetV3-S", full_mobilenet, small_mobilenet),
    of_pictures("EfficientNet-B0", full_efficientnet, small_efficientnet),
    of_pictures("ShuffleNetV2", models.shufflenet_v2_x1_0,
                lambda: models.ShuffleNetV2([2, 2, 2], [8, 16, 24, 32, 48], num_classes=10), 224, 64),
    of_pictures("DenseNet-121", full_densenet,
                lambda: models.DenseNet(4, (2, 2), 8, bn_size=2, num_classes=10), 224, 96),
    of_pictures("RegNetY-400MF", models.regnet_y_400mf, small_regnet),
    of_pictures("GoogLeNet", full_googlenet, SmallGoogLeNet),
    of_pictures("SqueezeNet", lambda: models.squeezenet1_1(dropout=0.0), SmallSqueezeNet),
    of_pictures("ConvNeXt-T", lambda: models.convnext_tiny(stochastic_depth_prob=0.0), small_convnext),
    of_pictures("Swin-T", full_swin, small_swin),
    of_pictures("ViT", models.vit_b_16, small_vit),
    of_pictures("UNet", lambda: UNet((32, 64, 128, 256)), lambda: UNet((6, 8, 10)), 64, 16, pixels),
    ("TransformerEncoderLayer", {
        "full": (lambda: Encoder(1000, 512, 8, 2048), functools.partial(tokens, 1000, 64)),
        "small": (lambda: Encoder(30, 16, 4, 32), functools.partial(tokens, 30, 7))}),
    ("LSTM-classifier", {
        "full": (lambda: LstmClassifier(1000, 128, 256), functools.partial(tokens, 1000, 64)),
        "small": (lambda: LstmClassifier(20, 6, 8), functools.partial(tokens, 20, 7))}),
    ("GRU-language-model", {
        "full": (lambda: GruLanguageModel(1000, 128, 256), functools.partial(text, 1000, 64)),
        "small": (lambda: GruLanguageModel(12, 6, 8), functools.partial(text, 12, 7))}),
    of_pictures("MLP-Mixer", lambda: Mixer(224, 16, 512, 256, 2048, 8), lambda: Mixer(16, 4, 16, 8, 32, 2),
                224, 16),
])
