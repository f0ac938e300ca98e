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


MODELS = {
    "resnet18": lambda: ResNet((2, 2, 2, 2), False),
    "resnet34": lambda: ResNet((3, 4, 6, 3), False),
    "resnet50": lambda: ResNet((3, 4, 6, 3), True),
    "resnet101": lambda: ResNet((3, 4, 23, 3), True),
    "resnet152": lambda: ResNet((3, 8, 36, 3), True),
    "resnext50_32x4d": lambda: ResNet((3, 4, 6, 3), True, 32, 4),
    "vgg16": vgg16,
}
