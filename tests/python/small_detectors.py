# SPDX-License-Identifier: Apache-2.0
"""Small detectors of every kind, for checks that recompute training steps and predictions."""
import os
import shutil
import subprocess

import numpy as np

IMAGES, SIZE, PLACES, CLASSES = 2, 128, 6, 5

SMALL = f"""
MODEL: {{TYPE: generalized_rcnn, NUM_CLASSES: {CLASSES}}}
RESNETS: {{STEM_OUT_CHANNELS: 8, RES2_OUT_CHANNELS: 16, WIDTH_PER_GROUP: 4}}
TRAIN: {{IMS_PER_BATCH: {IMAGES}, BATCH_SIZE_PER_IM: 16, RPN_BATCH_SIZE_PER_IM: 32,
  RPN_PRE_NMS_TOP_N: 200, RPN_POST_NMS_TOP_N: 60, SCALES: [128], MAX_SIZE: 128}}
TEST: {{SCALE: 128, MAX_SIZE: 128, PROPOSAL_LIMIT: 40}}
SOLVER: {{BASE_LR: 0.01}}
GROUP_NORM: {{NUM_GROUPS: 4}}
"""
C4 = ["MODEL.CONV_BODY", "ResNet.add_ResNet50_conv4_body", "RPN.SIZES", "(16, 32, 64)",
      "FAST_RCNN.ROI_BOX_HEAD", "ResNet.add_ResNet_roi_conv5_head"]
ALIGN = ["FAST_RCNN.ROI_XFORM_METHOD", "RoIAlign", "FAST_RCNN.ROI_XFORM_SAMPLING_RATIO", "2"]
BASIC = ["MODEL.CONV_BODY", "FPN.add_fpn_ResNet18_conv5_body", "RESNETS.TRANS_FUNC",
         "basic_transformation", "FPN.FPN_ON", "True", "FPN.MULTILEVEL_RPN", "True", "FPN.DIM", "16"]
ROIS = ["FPN.MULTILEVEL_ROIS", "True", "FAST_RCNN.ROI_XFORM_RESOLUTION", "7",
        "FAST_RCNN.MLP_HEAD_DIM", "32", "FAST_RCNN.CONV_HEAD_DIM", "16",
        "FPN.ROI_CANONICAL_SCALE", "56"] + ALIGN
MLP = ["FAST_RCNN.ROI_BOX_HEAD", "fast_rcnn_heads.add_roi_2mlp_head"]
FILES = ["TRAIN.PROPOSAL_FILES", "('proposals.json',)", "TEST.PROPOSAL_FILES", "('proposals.json',)"]
FASTER, RPN = ["MODEL.FASTER_RCNN", "True"], ["MODEL.RPN_ONLY", "True"]
GN = ["RESNETS.TRANS_FUNC", "basic_gn_transformation", "RESNETS.STEM_FUNC", "basic_gn_stem",
      "RESNETS.SHORTCUT_FUNC", "basic_gn_shortcut", "FPN.USE_GN", "True", "TRAIN.FREEZE_AT", "0"]
RETINA = BASIC + ["MODEL.TYPE", "retinanet", "RETINANET.RETINANET_ON", "True", "FPN.RPN_MIN_LEVEL",
                  "3", "FPN.RPN_MAX_LEVEL", "7", "FPN.EXTRA_CONV_LEVELS", "True",
                  "FPN.COARSEST_STRIDE", "128", "RETINANET.NUM_CONVS", "2",
                  "TRAIN.RPN_STRADDLE_THRESH", "-1"]
VGG16 = ["MODEL.CONV_BODY", "VGG16.add_VGG16_conv5_body", "RPN.SIZES", "(16, 32, 64)",
         "FAST_RCNN.ROI_BOX_HEAD", "VGG16.add_VGG16_roi_fc_head", "VGG.CHANNEL_DIVISOR", "16"]
VGG_M = ["MODEL.CONV_BODY", "VGG_CNN_M_1024.add_VGG_CNN_M_1024_conv5_body", "FAST_RCNN.ROI_BOX_HEAD",
         "VGG_CNN_M_1024.add_VGG_CNN_M_1024_roi_fc_head", "VGG.CHANNEL_DIVISOR", "16"]
RFCN = ["MODEL.TYPE", "rfcn", "RESNETS.RES5_DILATION", "2", "RPN.SIZES", "(16, 32, 64)"]
MASKS = ["MODEL.MASK_ON", "True", "MRCNN.ROI_XFORM_RESOLUTION", "7", "MRCNN.RESOLUTION", "14",
         "MRCNN.ROI_XFORM_SAMPLING_RATIO", "2", "MRCNN.DIM_REDUCED", "8", "MRCNN.DILATION", "1",
         "MRCNN.CONV_INIT", "MSRAFill", "MRCNN.ROI_MASK_HEAD"]
POINTS = ["MODEL.KEYPOINTS_ON", "True", "KRCNN.ROI_XFORM_RESOLUTION", "7", "KRCNN.NUM_KEYPOINTS", "5",
          "KRCNN.ROI_XFORM_SAMPLING_RATIO", "2", "KRCNN.CONV_HEAD_DIM", "8",
          "KRCNN.NUM_STACKED_CONVS", "3", "KRCNN.UP_SCALE", "2", "KRCNN.HEATMAP_SIZE", "28",
          "KRCNN.CONV_INIT", "MSRAFill", "KRCNN.ROI_KEYPOINTS_HEAD"]
FCN = "mask_rcnn_heads.mask_rcnn_fcn_head_"
CONVS, STAGE_5 = ("keypoint_rcnn_heads.add_" + name for name in
                  ("roi_pose_head_v1convX", "ResNet_roi_conv5_head_for_keypoints"))
DECONV = ["KRCNN.USE_DECONV_OUTPUT", "True"]
DETECTORS = {
    "rpn_c4": C4 + RPN,
    "rpn_fpn": BASIC + RPN,
    "fast_c4": C4 + ALIGN + FILES,
    "fast_c4_pooled": C4 + FILES,
    "fast_fpn": BASIC + ROIS + MLP + FILES,
    "faster_c4": C4 + ALIGN + FASTER,
    "faster_c4_resnext": C4 + ALIGN + FASTER + ["RESNETS.NUM_GROUPS", "2", "RESNETS.STRIDE_1X1",
                                                "False", "TRAIN.FREEZE_AT", "3"],
    "faster_fpn": BASIC + ROIS + MLP + FASTER,
    "faster_fpn_agnostic": BASIC + ROIS + MLP + FASTER + ["MODEL.CLS_AGNOSTIC_BBOX_REG", "True"],
    "faster_fpn_gn": BASIC + ROIS + FASTER + GN + ["FAST_RCNN.ROI_BOX_HEAD",
                                                   "fast_rcnn_heads.add_roi_Xconv1fc_gn_head"],
    "mask_fpn": BASIC + ROIS + MLP + FASTER + MASKS + [FCN + "v1up4convs"],
    "mask_fpn_gn_agnostic": BASIC + ROIS + MLP + FASTER + GN + MASKS + [
        FCN + "v1up4convs_gn", "MRCNN.CLS_SPECIFIC_MASK", "False"],
    "mask_fpn_enlarged": BASIC + ROIS + MLP + FASTER + MASKS + [
        FCN + "v1up", "MRCNN.DILATION", "2", "MRCNN.UPSAMPLE_RATIO", "2", "MRCNN.RESOLUTION", "28",
        "MRCNN.WEIGHT_LOSS_MASK", "0.5"],
    "mask_fpn_linear": BASIC + ROIS + MLP + FASTER + MASKS + [
        FCN + "v1up", "MRCNN.USE_FC_OUTPUT", "True", "MRCNN.RESOLUTION", "9"],
    "mask_c4_shared": C4 + ALIGN + FASTER + MASKS + [FCN + "v0upshare",
                                                     "MRCNN.ROI_XFORM_RESOLUTION", "14"],
    "mask_c4": C4 + ALIGN + FILES + MASKS + [FCN + "v0up", "MRCNN.DILATION", "2"],
    "keypoint_fpn": BASIC + ROIS + MLP + FASTER + POINTS + [CONVS] + DECONV,
    "keypoint_c4": C4 + ALIGN + FASTER + POINTS + [
        STAGE_5, "KRCNN.USE_DECONV", "True", "KRCNN.DECONV_DIM", "8", "KRCNN.ROI_XFORM_RESOLUTION",
        "14", "KRCNN.LOSS_WEIGHT", "2", "KRCNN.NORMALIZE_BY_VISIBLE_KEYPOINTS", "False"],
    "mask_and_keypoint_fpn": BASIC + ROIS + MLP + FASTER + MASKS + [FCN + "v1up"] + POINTS + [
        CONVS, "KRCNN.HEATMAP_SIZE", "14"],
    "faster_vgg16": VGG16 + FASTER,
    "fast_vgg_m": VGG_M + FILES + ["TRAIN.FREEZE_AT", "0"],
    "rfcn": RFCN + FILES + ["MODEL.CONV_BODY", "ResNet.add_ResNet50_conv5_body"],
    "rfcn_reduced": RFCN + FASTER + [
        "MODEL.CONV_BODY", "ResNet.add_ResNet18_conv5_body", "RESNETS.TRANS_FUNC",
        "basic_transformation", "MODEL.CLS_AGNOSTIC_BBOX_REG", "True", "RFCN.PS_GRID_SIZE", "2",
        "RFCN.REDUCED_CHANNELS", "24"],
    "retinanet": RETINA,
    "retinanet_softmax": RETINA + ["RETINANET.SOFTMAX", "True"],
    "retinanet_shared": RETINA + ["RETINANET.SHARE_CLS_BBOX_TOWER", "True",
                                  "RETINANET.CLASS_SPECIFIC_BBOX", "True",
                                  "RETINANET.BBOX_REG_WEIGHT", "0.5"],
}
# Detectors with masks or heatmaps among their predictions.
SHAPE_DETECTORS = {name: words for name, words in DETECTORS.items()
                   if {"MODEL.MASK_ON", "MODEL.KEYPOINTS_ON"} & set(words)}


def options_of(words):
    return {key: value for key, value in zip(words[::2], words[1::2])}


def with_sizes(words):
    return words + ["IMAGE", f"{SIZE}x{SIZE}", "TRAIN.TRUE_BOXES", str(PLACES),
                    "TRAIN.PROPOSALS", "40"]


def write_tensors(folder, tensors):
    os.makedirs(folder, exist_ok=True)
    for name, tensor in tensors.items():
        np.save(os.path.join(folder, name + ".npy"), tensor)


def read_arrays(folder):
    return {name[:-4]: np.load(os.path.join(folder, name))
            for name in os.listdir(folder) if name.endswith(".npy")}


def initialised(program, folder, words, seed):
    """A new folder with config.yaml and params/; scales and offsets are not trivial."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    config = os.path.join(folder, "config.yaml")
    with open(config, "w") as out:
        out.write(SMALL)
    subprocess.run([program, "init", config, folder, *words], check=True)
    rng = np.random.RandomState(100 + seed)
    params = {}
    for key, value in read_arrays(os.path.join(folder, "params")).items():
        if key.endswith(("_bn_s", "_gn_s")):
            value = rng.uniform(0.6, 1.2, value.shape)
        elif key.endswith("_b"):
            value = value + rng.uniform(-0.2, 0.2, value.shape)
        params[key] = value.astype(np.float32)
    write_tensors(os.path.join(folder, "params"), params)
    return config, params


# Parts of the names of weights whose first values are too small to tell positions apart.
DISTINGUISHING = ("cls", "bbox", "fc", "mask", "kps_score_lowres")


def picture(words, seed):
    rng = np.random.RandomState(seed)
    feeds = {"data": rng.randn(1, 3, SIZE, SIZE).astype(np.float32),
             "im_info": np.float32([[SIZE - 8, SIZE, 1.6]])}
    o = options_of(words)
    if not {"MODEL.RPN_ONLY", "MODEL.FASTER_RCNN", "RETINANET.RETINANET_ON"} & set(o):
        low = rng.uniform(0, 40, (1, 40, 2))
        feeds["proposals"] = np.concatenate([low, low + rng.uniform(6, 30, low.shape)],
                                            2).astype(np.float32)
        feeds["proposals"][:, 35:] = 0  # empty rows
    return feeds


def predicted(lockstep, program, folder, words, seed, threshold="0.02"):
    """A picture, parameters that distinguish its positions, and the detections of `lockstep run`."""
    words = with_sizes(words) + ["TEST.SCORE_THRESH", threshold, "RETINANET.INFERENCE_TH", "0.001"]
    config, params = initialised(program, folder, words, seed)
    rng = np.random.RandomState(seed)
    for name in sorted(params):
        if name.endswith("_w") and any(of in name for of in DISTINGUISHING):
            params[name] = rng.normal(0, 1.5 / np.sqrt(params[name][0].size),
                                      params[name].shape).astype(np.float32)
        if name.startswith("retnet_cls_pred") and name.endswith("_b"):
            params[name] = np.full_like(params[name], -2)
    feeds = picture(words, seed)
    write_tensors(os.path.join(folder, "params"), params)
    write_tensors(os.path.join(folder, "in"), feeds)
    subprocess.run([program, "save", config, folder, *words], check=True)
    subprocess.run([lockstep, "run", os.path.join(folder, "step.onnx"), "--inputs",
                    os.path.join(folder, "in"), "--outputs", os.path.join(folder, "out")],
                   check=True, stdout=subprocess.DEVNULL)
    return feeds, params, read_arrays(os.path.join(folder, "out"))
