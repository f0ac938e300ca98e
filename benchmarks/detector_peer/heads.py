# SPDX-License-Identifier: Apache-2.0
"""Mask and keypoint heads of torchvision for a Detectron YAML file, and the names of their parameters."""
from torch import nn
from torchvision.models.detection import FasterRCNN, KeypointRCNN, MaskRCNN
from torchvision.models.detection.keypoint_rcnn import KeypointRCNNHeads
from torchvision.models.detection.mask_rcnn import MaskRCNNHeads, MaskRCNNPredictor

CONVS = 4  # of mask_rcnn_fcn_head_v1up4convs


class KeypointPredictor(nn.Module):
    """Heatmaps by two transposed convolutions; torchvision's predictor has one and enlarges its maps."""

    def __init__(self, channels, width, points):
        super().__init__()
        self.kps_deconv = nn.ConvTranspose2d(channels, width, 4, 2, 1)
        self.kps_score = nn.ConvTranspose2d(width, points, 4, 2, 1)

    def forward(self, x):
        maps = self.kps_score(self.kps_deconv(x).relu())
        return maps.contiguous()  # torchvision's loss takes views of the maps


def expected(config):
    """The only values that are written for torchvision."""
    if config["MODEL"]["MASK_ON"]:
        return {("MRCNN", "ROI_MASK_HEAD"): "mask_rcnn_heads.mask_rcnn_fcn_head_v1up4convs",
                ("MRCNN", "DILATION"): 1, ("MRCNN", "UPSAMPLE_RATIO"): 1,
                ("MRCNN", "USE_FC_OUTPUT"): False, ("MRCNN", "CLS_SPECIFIC_MASK"): True,
                ("MRCNN", "THRESH_BINARIZE"): 0.5}
    if config["MODEL"]["KEYPOINTS_ON"]:
        return {("KRCNN", "ROI_KEYPOINTS_HEAD"): "keypoint_rcnn_heads.add_roi_pose_head_v1convX",
                ("KRCNN", "CONV_HEAD_KERNEL"): 3, ("KRCNN", "DECONV_KERNEL"): 4,
                ("KRCNN", "USE_DECONV"): True, ("KRCNN", "USE_DECONV_OUTPUT"): True,
                ("KRCNN", "UP_SCALE"): 1, ("KRCNN", "NORMALIZE_BY_VISIBLE_KEYPOINTS"): True,
                ("KRCNN", "LOSS_WEIGHT"): 1}
    return {}


def network(config, pooling_of):
    """torchvision's class, and the arguments of its further head."""
    channels, classes = config["FPN"]["DIM"], config["MODEL"]["NUM_CLASSES"]
    if config["MODEL"]["MASK_ON"]:
        width = config["MRCNN"]["DIM_REDUCED"]
        return MaskRCNN, {"mask_roi_pool": pooling_of("MRCNN"),
                          "mask_head": MaskRCNNHeads(channels, (width,) * CONVS, 1),
                          "mask_predictor": MaskRCNNPredictor(width, width, classes)}
    if config["MODEL"]["KEYPOINTS_ON"]:
        head = config["KRCNN"]
        width = head["CONV_HEAD_DIM"]
        return KeypointRCNN, {
            "keypoint_roi_pool": pooling_of("KRCNN"),
            "keypoint_head": KeypointRCNNHeads(channels, (width,) * head["NUM_STACKED_CONVS"]),
            "keypoint_predictor": KeypointPredictor(width, head["DECONV_DIM"],
                                                    head["NUM_KEYPOINTS"])}
    return FasterRCNN, {}


NAMES = [(r"_\[mask\]_fcn(\d)", lambda m: (f"roi_heads.mask_head.{int(m[1]) - 1}.0",)),
         (r"conv5_mask|mask_fcn_logits", lambda m: (f"roi_heads.mask_predictor.{m[0]}",)),
         (r"conv_fcn(\d)", lambda m: (f"roi_heads.keypoint_head.{2 * (int(m[1]) - 1)}",)),
         (r"kps_deconv|kps_score", lambda m: (f"roi_heads.keypoint_predictor.{m[0]}",))]
