# SPDX-License-Identifier: Apache-2.0
"""Networks of pictures and films, as torchvision and timm build them."""
import timm
import torch
from timm.layers import BlurPool2d
from torch import nn
from torch.nn import functional as F
from torchvision import models
from torchvision.models import segmentation, video

from networks import UNet
from newcomer import Judged, Newcomer, Scored, classified, films, masks, pictures


def of_timm(name, size=64, **options):
    return classified(lambda: timm.create_model(name, num_classes=10, **options), size)


def rope_vit():
    return timm.create_model("vit_small_patch16_rope_224", img_size=64, embed_dim=96, depth=2, num_heads=3,
                             num_classes=10)


def small_maxvit():
    return models.maxvit.MaxVit(
        input_size=(64, 64), stem_channels=16, block_channels=[16, 32], block_layers=[2, 2], head_dim=16,
        stochastic_depth_prob=0.2, partition_size=4, num_classes=10)


class WithAuxiliary(nn.Module):
    """The loss of a network with auxiliary classifiers, at a third of the weight."""

    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, data, target):
        first, *others = self.net(data)
        return F.cross_entropy(first, target) + sum(0.3 * F.cross_entropy(o, target) for o in others)


def out_of(result):
    return result["out"]


def with_biases(net):
    """Gives 3D convolutions biases: without them, PyTorch 2.15 exports biases of a wrong shape."""
    for module in net.modules():
        if isinstance(module, nn.Conv3d) and module.bias is None:
            module.bias = nn.Parameter(torch.zeros(module.out_channels))
    return net


class SuperResolution(nn.Module):
    """Pictures of twice the size, by pixel shuffling."""

    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(3, 16, 5, padding=2), nn.Conv2d(16, 16, 3, padding=1)
        self.conv3, self.shuffle = nn.Conv2d(16, 12, 3, padding=1), nn.PixelShuffle(2)

    def forward(self, data):
        return self.shuffle(self.conv3(torch.tanh(self.conv2(torch.tanh(self.conv1(data))))))


class Unshuffled(nn.Module):
    """Unshuffles pixels, shuffles channels, and shuffles the pixels back."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(12, 12, 3, padding=1, groups=3)

    def forward(self, data):
        x = F.channel_shuffle(self.conv(F.pixel_unshuffle(data, 2)), 3)
        return F.pixel_shuffle(F.silu(x), 2)


class Resized(nn.Module):
    """Convolutions between pictures of other sizes."""

    def __init__(self, mode, **options):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 3, 3, padding=1)
        self.mode, self.options = mode, options

    def forward(self, data):
        x = F.relu(self.conv1(data))
        return self.conv2(F.interpolate(x, scale_factor=2.0, mode=self.mode, **self.options))


class Padded(nn.Module):
    """Convolutions of pictures that are continued at the border in three ways."""

    def __init__(self):
        super().__init__()
        self.convs = nn.ModuleList([nn.Conv2d(3, 3, 3, padding=1, padding_mode=mode)
                                    for mode in ("reflect", "replicate", "circular")])

    def forward(self, data):
        for conv in self.convs:
            data = torch.tanh(conv(data))
        return F.pad(data, (1, 1, 1, 1), mode="reflect")[:, :, 1:-1, 1:-1]


class Warped(nn.Module):
    """A spatial transformer: the picture is sampled where a network says."""

    def __init__(self):
        super().__init__()
        self.find, self.fc = nn.Linear(3 * 16 * 16, 6), nn.Linear(3 * 16 * 16, 10)

    def forward(self, data):
        turn = torch.tensor([[1.0, 0, 0], [0, 1, 0]], dtype=data.dtype)
        theta = turn + 0.1 * self.find(data.flatten(1)).reshape(-1, 2, 3)
        grid = F.affine_grid(theta, (data.shape[0], 3, 16, 16), align_corners=False)
        return self.fc(F.grid_sample(data, grid, align_corners=False).flatten(1))


def dice(scores, target):
    """One minus the overlap of masks."""
    shares = scores.softmax(1)
    wanted = F.one_hot(target, scores.shape[1]).permute(0, 3, 1, 2).to(scores.dtype)
    both, all_of = (shares * wanted).sum((2, 3)), (shares + wanted).sum((2, 3))
    return 1 - ((2 * both + 1) / (all_of + 1)).mean()


class Film(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv3d(3, 8, 3, padding=1), nn.Conv3d(8, 8, 3, stride=2)
        self.norm, self.fc = nn.BatchNorm3d(8), nn.Linear(8, 10)

    def forward(self, data):
        x = F.max_pool3d(F.relu(self.norm(self.conv1(data))), 2)
        return self.fc(F.adaptive_avg_pool3d(F.relu(self.conv2(x)), 1).flatten(1))


class Dropped(nn.Module):
    """Convolutions with a dropout between."""

    def __init__(self, drop):
        super().__init__()
        self.conv1, self.conv2, self.fc = nn.Conv2d(3, 8, 3), nn.Conv2d(8, 8, 3), nn.Linear(8, 10)
        self.drop = drop

    def forward(self, data):
        x = self.drop(F.relu(self.conv1(data)))
        return self.fc(self.drop(F.relu(self.conv2(x))).mean((2, 3)))


class Bytes(nn.Module):
    """Pictures as bytes, scaled by the network."""

    def __init__(self):
        super().__init__()
        self.conv, self.fc = nn.Conv2d(3, 8, 3, stride=2), nn.Linear(8, 10)

    def forward(self, data, target):
        x = (data.to(self.conv.weight.dtype) / 255 - 0.45) / 0.225
        return F.cross_entropy(self.fc(F.relu(self.conv(x)).mean((2, 3))), target)


def beside(model):
    model.net.drop.inplace = False


IN_PLACE = {"kept": beside,
            "lost": "PyTorch has no backward pass of dropout in place after a ReLU: the reference writes it beside"}


def bytes_of(rows):
    return {"data": torch.randint(0, 256, (rows, 3, 16, 16), dtype=torch.uint8),
            "target": torch.randint(0, 10, (rows,))}


def twice_as_large(rows):
    return {"data": torch.rand(rows, 3, 8, 8), "target": torch.rand(rows, 3, 16, 16)}


def as_large(rows):
    return {"data": torch.rand(rows, 3, 8, 8), "target": torch.rand(rows, 3, 8, 8)}


PICTURES = {
    "resnet18": classified(lambda: models.resnet18(num_classes=10)),
    "mobilenet_v2": classified(lambda: models.mobilenet_v2(num_classes=10)),
    "mobilenet_v3_small": classified(lambda: models.mobilenet_v3_small(num_classes=10)),
    "efficientnet_b0": classified(lambda: models.efficientnet_b0(num_classes=10)),
    "convnext_tiny": classified(lambda: models.convnext_tiny(num_classes=10)),
    "swin_t": classified(lambda: models.swin_t(num_classes=10), 112),
    "regnet_y_400mf": classified(lambda: models.regnet_y_400mf(num_classes=10)),
    "shufflenet": classified(lambda: models.shufflenet_v2_x1_0(num_classes=10)),
    "densenet121": classified(lambda: models.densenet121(num_classes=10)),
    "vit_b_16": classified(lambda: models.vit_b_16(image_size=64, num_classes=10)),
    "maxvit_t": classified(small_maxvit),
    "googlenet": Newcomer(lambda: WithAuxiliary(models.googlenet(num_classes=10, init_weights=False)), pictures(64)),
    "inception_v3": Newcomer(lambda: WithAuxiliary(models.inception_v3(num_classes=10, init_weights=False)),
                             pictures(299)),
    "fcn_resnet50": Newcomer(lambda: Scored(segmentation.fcn_resnet50(
        weights_backbone=None, num_classes=4), out_of), masks(48, 4)),
    "deeplabv3_mobilenet": Newcomer(lambda: Scored(segmentation.deeplabv3_mobilenet_v3_large(
        weights_backbone=None, num_classes=4), out_of), masks(64, 4)),
    "lraspp": Newcomer(lambda: Scored(segmentation.lraspp_mobilenet_v3_large(
        weights_backbone=None, num_classes=4), out_of), masks(64, 4)),
    "unet": Newcomer(lambda: Scored(UNet((8, 12, 16))), masks(32, 4)),
    "timm_resnet18d_blur_pool": of_timm("resnet18d", aa_layer=BlurPool2d),
    "timm_efficientformer_l1": of_timm("efficientformer_l1", 224),
    "timm_mixer_s32": of_timm("mixer_s32_224", 224),
    "timm_coatnet_pico": of_timm("coatnet_pico_rw_224", 224),
    "timm_convnextv2_atto": of_timm("convnextv2_atto"),
    "timm_eva02_tiny": of_timm("eva02_tiny_patch14_224", 56, img_size=56),
    "timm_vit_rope": classified(rope_vit),
    "timm_ghostnet": of_timm("ghostnet_100", 128),
    "timm_nfnet": of_timm("nfnet_l0"),
    "timm_levit": of_timm("levit_128s", 224),
    "r3d_18": Newcomer(lambda: Scored(video.r3d_18(num_classes=10)), films(8, 32)),
    "r3d_18_with_biases": Newcomer(lambda: Scored(with_biases(video.r3d_18(num_classes=10))), films(8, 32)),
    "conv3d": Newcomer(lambda: Scored(Film()), films(6, 12)),
    "pixelshuffle_sr": Newcomer(lambda: Judged(SuperResolution(), F.mse_loss), twice_as_large),
    "pixelshuffle": Newcomer(lambda: Judged(Unshuffled(), F.l1_loss), as_large),
    "bicubic": Newcomer(lambda: Judged(Resized("bicubic", align_corners=False), F.mse_loss), twice_as_large),
    "bilinear_aligned": Newcomer(lambda: Judged(Resized("bilinear", align_corners=True), F.mse_loss), twice_as_large),
    "reflect_pad": Newcomer(lambda: Judged(Padded(), F.mse_loss), as_large),
    "grid_sample": Newcomer(lambda: Scored(Warped()), pictures(16)),
    "dice": Newcomer(lambda: Judged(UNet((6, 8)), dice), masks(16, 4)),
    "dropout_in_place": Newcomer(lambda: Scored(Dropped(nn.Dropout(0.3, inplace=True))), pictures(12), **IN_PLACE),
    "dropout2d": Newcomer(lambda: Scored(Dropped(nn.Dropout2d(0.3))), pictures(12)),
    "uint8_input": Newcomer(Bytes, bytes_of),
}
