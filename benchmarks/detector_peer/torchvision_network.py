# SPDX-License-Identifier: Apache-2.0
"""torchvision's Faster, Mask or Keypoint R-CNN with the network that a Detectron YAML file describes
to Lockstep.

Written for ResNet18 with group norm, a feature pyramid and a box head of two layers; heads.py has
masks and keypoints.
"""
import json
import math
import re
from collections import OrderedDict

import torch
from torch import nn
from torchvision.models.detection.anchor_utils import AnchorGenerator
from torchvision.models.detection.faster_rcnn import FastRCNNPredictor, TwoMLPHead
from torchvision.models.resnet import BasicBlock
from torchvision.ops import FeaturePyramidNetwork, MultiScaleRoIAlign

from detector_peer import heads

STAGES = 4
EXPECTED = {("MODEL", "CONV_BODY"): "FPN.add_fpn_ResNet18_conv5_body",
            ("RESNETS", "TRANS_FUNC"): "basic_gn_transformation",
            ("FPN", "USE_GN"): True,
            ("FPN", "RPN_MAX_LEVEL"): 5,
            ("FAST_RCNN", "ROI_BOX_HEAD"): "fast_rcnn_heads.add_roi_2mlp_head",
            ("FAST_RCNN", "ROI_XFORM_METHOD"): "RoIAlign"}


class Backbone(nn.Module):
    """torchvision's blocks and pyramid; its ResNet has 64 channels at least."""

    def __init__(self, config):
        super().__init__()
        groups, epsilon = config["GROUP_NORM"]["NUM_GROUPS"], config["GROUP_NORM"]["EPSILON"]
        norm = lambda channels: nn.GroupNorm(groups, channels, epsilon)
        channels = config["RESNETS"]["STEM_OUT_CHANNELS"]
        widths = [config["RESNETS"]["RES2_OUT_CHANNELS"] << n for n in range(STAGES)]
        self.conv1 = nn.Conv2d(3, channels, 7, 2, 3, bias=False)
        self.bn1 = norm(channels)
        self.after = nn.Sequential(nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1))
        for n, width in enumerate(widths):
            stride, skip = 1 if n == 0 else 2, None
            if stride != 1 or channels != width:
                skip = nn.Sequential(nn.Conv2d(channels, width, 1, stride, bias=False), norm(width))
            first = BasicBlock(channels, width, stride, skip, norm_layer=norm)
            second = BasicBlock(width, width, norm_layer=norm)
            self.add_module(f"layer{n + 1}", nn.Sequential(first, second))
            channels = width
        self.out_channels = config["FPN"]["DIM"]
        self.fpn = FeaturePyramidNetwork(widths, self.out_channels, norm_layer=norm)
        self.layout = torch.contiguous_format

    def forward(self, x):
        x = self.after(self.bn1(self.conv1(x.contiguous(memory_format=self.layout))))
        stages = OrderedDict()
        for n in range(STAGES):
            x = stages[str(n)] = getattr(self, f"layer{n + 1}")(x)
        return self.fpn(stages)


class LastPixelRoIAlign(MultiScaleRoIAlign):
    """Lockstep's pooling: a RoI is pooled up to its last pixel, but its whole size decides its level."""
    EDGE = torch.tensor([0.0, 0, 1, 1])

    def forward(self, maps, boxes, sizes):
        if self.map_levels is None:
            super().forward(maps, boxes, sizes)  # makes map_levels
            by_size = self.map_levels
            self.map_levels = lambda last: by_size([box + self.EDGE for box in last])
        return super().forward(maps, [box - self.EDGE for box in boxes], sizes)


def base_anchors(stride, size, ratios):
    """The anchors of builders/detection/anchors.cc."""
    boxes = []
    for ratio in ratios:
        width = round(math.sqrt(stride * stride / ratio))
        height = round(width * ratio)
        centre, right, below = (0.5 * (side - 1) for side in
                                (stride, width * size / stride, height * size / stride))
        boxes.append([centre - right, centre - below, centre + right + 1, centre + below + 1])
    return torch.tensor(boxes)


def anchors_of(fpn):
    sizes = [fpn["RPN_ANCHOR_START_SIZE"] * 2 ** n for n in range(STAGES)]
    ratios = tuple(fpn["RPN_ASPECT_RATIOS"])
    anchors = AnchorGenerator(tuple((size,) for size in sizes), (ratios,) * STAGES)
    anchors.cell_anchors = [base_anchors(4 << n, size, ratios) for n, size in enumerate(sizes)]
    return anchors


def pooling(config, section, roi_align):
    """The pooling of RoIs for the head of a section."""
    fpn, head = config["FPN"], config[section]
    return roi_align([str(n) for n in range(STAGES)], head["ROI_XFORM_RESOLUTION"],
                     head["ROI_XFORM_SAMPLING_RATIO"], canonical_scale=fpn["ROI_CANONICAL_SCALE"],
                     canonical_level=fpn["ROI_CANONICAL_LEVEL"])


def detector(config, roi_align=MultiScaleRoIAlign):
    """A whole configuration, as `lockstep inspect --format config` prints it, to a network for
    images of 0 to 255 in the order blue, green, red."""
    for (section, key), value in (EXPECTED | heads.expected(config)).items():
        if config[section][key] != value:
            raise SystemExit(f"torchvision_network: {section}.{key} is {config[section][key]}, "
                             f"only {value} is written for torchvision")
    train, test, fpn, head = (config[name] for name in ("TRAIN", "TEST", "FPN", "FAST_RCNN"))
    hidden, side = head["MLP_HEAD_DIM"], head["ROI_XFORM_RESOLUTION"]
    network, more = heads.network(config, lambda section: pooling(config, section, roi_align))
    return network(
        Backbone(config), min_size=test["SCALE"], max_size=test["MAX_SIZE"],
        image_mean=config["PIXEL_MEANS"], image_std=[1, 1, 1], _skip_resize=True,
        rpn_anchor_generator=anchors_of(fpn),
        rpn_pre_nms_top_n_train=train["RPN_PRE_NMS_TOP_N"],
        rpn_pre_nms_top_n_test=test["RPN_PRE_NMS_TOP_N"],
        rpn_post_nms_top_n_train=train["RPN_POST_NMS_TOP_N"],
        rpn_post_nms_top_n_test=test["RPN_POST_NMS_TOP_N"],
        rpn_nms_thresh=train["RPN_NMS_THRESH"],
        rpn_fg_iou_thresh=train["RPN_POSITIVE_OVERLAP"],
        rpn_bg_iou_thresh=train["RPN_NEGATIVE_OVERLAP"],
        rpn_batch_size_per_image=train["RPN_BATCH_SIZE_PER_IM"],
        rpn_positive_fraction=train["RPN_FG_FRACTION"],
        box_roi_pool=pooling(config, "FAST_RCNN", roi_align),
        box_head=TwoMLPHead(fpn["DIM"] * side * side, hidden),
        box_predictor=FastRCNNPredictor(hidden, config["MODEL"]["NUM_CLASSES"]),
        box_score_thresh=test["SCORE_THRESH"], box_nms_thresh=test["NMS"],
        box_detections_per_img=test["DETECTIONS_PER_IM"],
        box_fg_iou_thresh=train["FG_THRESH"], box_bg_iou_thresh=train["BG_THRESH_HI"],
        box_batch_size_per_image=train["BATCH_SIZE_PER_IM"],
        box_positive_fraction=train["FG_FRACTION"],
        bbox_reg_weights=tuple(config["MODEL"]["BBOX_REG_WEIGHTS"]), **more)


NAMES = [(r"conv1", lambda m: ("backbone.conv1", "backbone.bn1")),
         (r"res(\d)_(\d)_branch2([ab])", lambda m: tuple(
             f"backbone.layer{int(m[1]) - 1}.{m[2]}.{kind}{'ab'.index(m[3]) + 1}"
             for kind in ("conv", "bn"))),
         (r"res(\d)_(\d)_branch1", lambda m: tuple(
             f"backbone.layer{int(m[1]) - 1}.{m[2]}.downsample.{n}" for n in (0, 1))),
         (r"fpn_(inner_)?res(\d)_\d_sum(?:_lateral)?", lambda m: tuple(
             f"backbone.fpn.{'inner' if m[1] else 'layer'}_blocks.{int(m[2]) - 2}.{n}"
             for n in (0, 1))),
         (r"conv_rpn_fpn2", lambda m: ("rpn.head.conv.0.0",)),
         (r"rpn_(cls_logits|bbox_pred)_fpn2", lambda m: (f"rpn.head.{m[1]}",)),
         (r"(fc[67])", lambda m: (f"roi_heads.box_head.{m[1]}",)),
         (r"(cls_score|bbox_pred)", lambda m: (f"roi_heads.box_predictor.{m[1]}",)),
         *heads.NAMES]


def torch_name(name):
    """torchvision's name of a parameter, from its name in Lockstep."""
    stem, norm, end = re.fullmatch(r"(.*?)(_gn)?_([wbs])", name).groups()
    for pattern, modules in NAMES:
        if found := re.fullmatch(pattern, stem):
            return f"{modules(found)[1 if norm else 0]}.{'bias' if end == 'b' else 'weight'}"
    raise SystemExit(f"torchvision_network: no parameter of torchvision is like '{name}'")


def read_weights(path):
    """Parameters of a checkpoint in the safetensors format, by torchvision's names."""
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        data = bytearray(file.read())
    weights = {}
    for name, tensor in header.items():
        if re.search(r"_[wbs]$", name):
            first, last = tensor["data_offsets"]
            values = torch.frombuffer(data, dtype=torch.float32, count=(last - first) // 4,
                                      offset=first)
            weights[torch_name(name)] = values.reshape(tensor["shape"]).clone()
    return weights


def parameter_groups(net, solver):
    """Biases, weights and normalisations differ in rate and decay, as in Detectron. A group's
    `factor` is for the rate; Adam's steps have none, since Lockstep's factor is for gradients then."""
    norms = {id(p) for module in net.modules() if isinstance(module, nn.GroupNorm)
             for p in module.parameters()}
    groups = {kind: [] for kind in ("norm", "bias", "weight")}
    for name, p in net.named_parameters():
        kind = "norm" if id(p) in norms else "bias" if name.endswith(".bias") else "weight"
        groups[kind].append(p)
    decays = {"norm": solver["WEIGHT_DECAY_GN"], "bias": 0, "weight": solver["WEIGHT_DECAY"]}
    return [{"params": params, "weight_decay": decays[kind],
             "factor": solver["BIAS_LR_FACTOR"] if kind == "bias" and solver["TYPE"] == "SGD" else 1}
            for kind, params in groups.items()]
