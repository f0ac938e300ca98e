# SPDX-License-Identifier: Apache-2.0
"""The three kinds of results that compare_detector.py compares."""
from dataclasses import dataclass


@dataclass(frozen=True)
class Found:
    config: str  # in configs/detection
    network: str  # for people
    kind: str  # of pycocotools' evaluation and of Lockstep's file of results; "": boxes only
    file: str
    limit: float  # how much lower Lockstep's AP may be
    same: float  # how much the AP of one network's weights may differ between the two programs


# The two programs paste masks and enlarge heatmaps by slightly different rules.
KINDS = {"boxes": Found("scenes_faster_rcnn_fpn", "Faster R-CNN", "", "", 0.04, 2e-3),
         "masks": Found("scenes_mask_rcnn_fpn", "Mask R-CNN", "segm", "segmentations", 0.03, 0.03),
         "keypoints": Found("scenes_keypoint_rcnn_fpn", "Keypoint R-CNN", "keypoints", "keypoints",
                            0.03, 0.03)}
BOXES = KINDS["boxes"]
