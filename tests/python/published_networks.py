# SPDX-License-Identifier: Apache-2.0
"""Networks with the parameter names that people publish weights under, in plain torch, with random
weights and statistics. Each returns the features that a detector reads from its body."""
import re

import torch
from torch import nn
from torch.nn import functional as F

MEAN, DEVIATION = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


class Block(nn.Module):
    """A block of torchvision's ResNet, with the stride in the 3x3 convolution."""

    def __init__(self, channels, inner, out, stride, groups, bottleneck):
        super().__init__()
        sizes = [(channels, inner, 1, 1, 1), (inner, inner, 3, stride, groups), (inner, out, 1, 1, 1)]
        if not bottleneck:
            sizes = [(channels, out, 3, stride, 1), (out, out, 3, 1, 1)]
        self.count = len(sizes)
        for i, (taken, given, kernel, step, group) in enumerate(sizes):
            conv = nn.Conv2d(taken, given, kernel, step, kernel // 2, groups=group, bias=False)
            self.add_module(f"conv{i + 1}", conv)
            self.add_module(f"bn{i + 1}", nn.BatchNorm2d(given))
        self.downsample = None
        if stride != 1 or channels != out:
            self.downsample = nn.Sequential(nn.Conv2d(channels, out, 1, stride, bias=False),
                                            nn.BatchNorm2d(out))

    def forward(self, x):
        y = x
        for i in range(1, self.count + 1):
            y = getattr(self, f"bn{i}")(getattr(self, f"conv{i}")(y))
            y = F.relu(y) if i < self.count else y
        return F.relu(y + (self.downsample(x) if self.downsample else x))


class ResNet(nn.Module):
    def __init__(self, blocks, stem=8, out=16, width=4, groups=1, bottleneck=True):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, stem, 7, 2, 3, bias=False), nn.BatchNorm2d(stem)
        channels = stem
        for stage, count in enumerate(blocks):
            layers, wide = [], 2 ** stage
            for i in range(count):
                stride = 2 if stage > 0 and i == 0 else 1
                layers.append(Block(channels, width * groups * wide, out * wide, stride, groups,
                                    bottleneck))
                channels = out * wide
            self.add_module(f"layer{stage + 1}", nn.Sequential(*layers))
        self.fc = nn.Linear(channels, 10)

    def features(self, x):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 3, 2, 1)
        found = []
        for stage in range(1, 5):
            x = getattr(self, f"layer{stage}")(x)
            found.append(x)
        return found


class Vgg16(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        layers, channels = [], 3
        for number in (1, 1, 0, 2, 2, 0, 4, 4, 4, 0, 8, 8, 8, 0, 8, 8, 8, 0):
            if number == 0:
                layers.append(nn.MaxPool2d(2, 2))
                continue
            layers += [nn.Conv2d(channels, number * width, 3, 1, 1), nn.ReLU()]
            channels = number * width
        self.features_ = nn.Sequential(*layers)

    def named(self):
        return {name.replace("features_", "features"): value
                for name, value in self.state_dict().items()}

    def features(self, x):
        return [self.features_[:-1](x)]  # the last pool is no part of a detector's body


def vgg16_of_detectron(weights, x):
    """conv5_3 by tensors with Detectron's names."""
    for block, count in enumerate((2, 2, 3, 3, 3), 1):
        for i in range(1, count + 1):
            name = f"conv{block}_{i}"
            x = F.relu(F.conv2d(x, weights[name + "_w"], weights[name + "_b"], padding=1))
        x = F.max_pool2d(x, 2, 2) if block < 5 else x
    return x


def randomised(network, seed):
    """Random statistics, and scales that keep the features of all stages of one size."""
    generator = torch.Generator().manual_seed(seed)

    def draw(like, low, high):
        return low + (high - low) * torch.rand(like.shape, generator=generator)

    for module in network.modules():
        if isinstance(module, nn.Conv2d):
            deviation = (2 / module.weight[0].numel()) ** 0.5
            module.weight.data = deviation * torch.randn(module.weight.shape, generator=generator)
            if module.bias is not None:
                module.bias.data = draw(module.bias, -0.1, 0.1)
        if isinstance(module, nn.BatchNorm2d):
            module.weight.data = draw(module.weight, 0.5, 1.2)
            module.bias.data = draw(module.bias, -0.2, 0.2)
            module.running_mean.data = draw(module.running_mean, -0.3, 0.3)
            module.running_var.data = draw(module.running_var, 0.5, 2)
    return network.eval()


def hugging_face_names(state):
    """The tensors of a ResNet under the names of Hugging Face's ResNet."""
    named = {}
    for name, value in state.items():
        name = re.sub(r"^conv1\.", "embedder.embedder.convolution.", name)
        name = re.sub(r"^bn1\.", "embedder.embedder.normalization.", name)
        name = re.sub(r"^layer(\d)\.(\d+)\.",
                      lambda m: f"encoder.stages.{int(m[1]) - 1}.layers.{m[2]}.", name)
        name = re.sub(r"\.conv(\d)\.", lambda m: f".layer.{int(m[1]) - 1}.convolution.", name)
        name = re.sub(r"\.bn(\d)\.", lambda m: f".layer.{int(m[1]) - 1}.normalization.", name)
        name = name.replace(".downsample.0.", ".shortcut.convolution.")
        name = name.replace(".downsample.1.", ".shortcut.normalization.")
        named["classifier.1." + name[3:] if name.startswith("fc.") else "resnet." + name] = value
    return named


def normalised(pixels):
    """Bytes [3, h, w] in the order red, green, blue, prepared for the network."""
    mean, deviation = (torch.tensor(v)[:, None, None] for v in (MEAN, DEVIATION))
    return ((torch.from_numpy(pixels).float() / 255 - mean) / deviation)[None]
