# SPDX-License-Identifier: Apache-2.0
"""The networks of Lockstep's benchmarks, as PyTorch modules."""
from torch import nn


class Block(nn.Module):
    """A residual block; `inner` channels between two 1x1 convolutions, or two 3x3 ones."""

    def __init__(self, channels, width, stride, bottleneck, groups, group_width):
        super().__init__()
        out = 4 * width if bottleneck else width
        inner = width * group_width // 64 * groups if bottleneck else width
        conv = lambda i, o, k, s=1, g=1: nn.Conv2d(i, o, k, s, k // 2, groups=g, bias=False)
        if bottleneck:
            layers = [conv(channels, inner, 1), nn.BatchNorm2d(inner), nn.ReLU(inplace=True),
                      conv(inner, inner, 3, stride, groups), nn.BatchNorm2d(inner),
                      nn.ReLU(inplace=True), conv(inner, out, 1), nn.BatchNorm2d(out)]
        else:
            layers = [conv(channels, inner, 3, stride), nn.BatchNorm2d(inner),
                      nn.ReLU(inplace=True), conv(inner, out, 3), nn.BatchNorm2d(out)]
        self.path = nn.Sequential(*layers)
        self.skip = None
        if stride != 1 or channels != out:
            self.skip = nn.Sequential(conv(channels, out, 1, stride), nn.BatchNorm2d(out))
        self.relu = nn.ReLU(inplace=True)
        self.out = out

    def forward(self, x):
        y = self.path(x)
        y += x if self.skip is None else self.skip(x)
        return self.relu(y)


class ResNet(nn.Module):
    def __init__(self, blocks, bottleneck, groups=1, group_width=64):
        super().__init__()
        layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True),
                  nn.MaxPool2d(3, 2, 1)]
        channels, width = 64, 64
        for stage, count in enumerate(blocks):
            for i in range(count):
                layers.append(Block(channels, width, 2 if stage and not i else 1, bottleneck,
                                    groups, group_width))
                channels = layers[-1].out
            width *= 2
        self.features, self.fc = nn.Sequential(*layers), nn.Linear(channels, 1000)

    def forward(self, x):
        return self.fc(self.features(x).mean((2, 3)))


def vgg16():
    layers, channels = [], 3
    for width in (64, 64, 0, 128, 128, 0, 256, 256, 256, 0, 512, 512, 512, 0, 512, 512, 512, 0):
        if width:
            layers += [nn.Conv2d(channels, width, 3, padding=1), nn.ReLU(inplace=True)]
            channels = width
        else:
            layers.append(nn.MaxPool2d(2))
    for i, o in ((25088, 4096), (4096, 4096)):
        layers += [nn.Flatten(), nn.Linear(i, o), nn.ReLU(inplace=True), nn.Dropout()]
    return nn.Sequential(*layers, nn.Linear(4096, 1000))


class Inverted(nn.Module):
    """MobileNetV2's block: widens, filters each channel by itself, narrows."""

    def __init__(self, channels, out, stride, expansion):
        super().__init__()
        wide = channels * expansion
        layers = [] if expansion == 1 else conv_bn_relu6(channels, wide, 1)
        layers += conv_bn_relu6(wide, wide, 3, stride, wide)
        layers += [nn.Conv2d(wide, out, 1, bias=False), nn.BatchNorm2d(out)]
        self.path, self.adds = nn.Sequential(*layers), stride == 1 and channels == out

    def forward(self, x):
        return x + self.path(x) if self.adds else self.path(x)


def conv_bn_relu6(channels, out, kernel, stride=1, groups=1):
    return [nn.Conv2d(channels, out, kernel, stride, kernel // 2, groups=groups, bias=False),
            nn.BatchNorm2d(out), nn.ReLU6(inplace=True)]


def mobilenet_v2():
    layers, channels = conv_bn_relu6(3, 32, 3, 2), 32
    for expansion, out, blocks, stride in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2),
                                           (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2),
                                           (6, 320, 1, 1)):
        for i in range(blocks):
            layers.append(Inverted(channels, out, 1 if i else stride, expansion))
            channels = out
    layers += conv_bn_relu6(channels, 1280, 1)
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.2),
                         nn.Linear(1280, 1000))


def lenet():
    return nn.Sequential(nn.Conv2d(1, 20, 5), nn.MaxPool2d(2), nn.Conv2d(20, 50, 5),
                         nn.MaxPool2d(2), nn.Flatten(), nn.Linear(800, 500), nn.ReLU(inplace=True),
                         nn.Linear(500, 10))


def mlp():
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 256), nn.ReLU(inplace=True),
                         nn.Linear(256, 128), nn.ReLU(inplace=True), nn.Linear(128, 10))


class Lstm(nn.Module):
    """The lstm of tools/bench/networks.cc."""

    def __init__(self):
        super().__init__()
        self.lstm, self.fc = nn.LSTM(512, 512, 2, batch_first=True), nn.Linear(512, 10)

    def forward(self, x):
        y, _ = self.lstm(x)
        return self.fc(y[:, -1])


def vit_b16():
    from torchvision import models  # only this network needs it
    return models.vit_b_16()


MODELS = {
    "lstm": Lstm,
    "mlp": mlp,
    "lenet": lenet,
    "mobilenet_v2": mobilenet_v2,
    "resnet18": lambda: ResNet((2, 2, 2, 2), False),
    "resnet34": lambda: ResNet((3, 4, 6, 3), False),
    "resnet50": lambda: ResNet((3, 4, 6, 3), True),
    "resnet101": lambda: ResNet((3, 4, 23, 3), True),
    "resnet152": lambda: ResNet((3, 8, 36, 3), True),
    "resnext50_32x4d": lambda: ResNet((3, 4, 6, 3), True, 32, 4),
    "vgg16": vgg16,
    "vit_b16": vit_b16,
}


def images_of(model):
    """The shape of an image and the number of classes, as in bench_network() of tools/bench."""
    if model == "lstm":
        return (64, 512), 10
    return ((1, 28, 28), 10) if model in ("mlp", "lenet") else ((3, 224, 224), 1000)
