# SPDX-License-Identifier: Apache-2.0
"""Small detectors on one picture: PyTorch recomputes boxes, scores, classes and count from their weights,
by Detectron's formulas for anchors, decoding, clipping, suppression, thresholds and limits, and the masks
and heatmaps of these boxes.

    check_predictions.py LOCKSTEP DETECTOR_STEP FOLDER [NAME...]

Exit code 77: PyTorch or torchvision is not installed.
"""
import math
import os
import sys

try:
    import numpy as np
    import torch
    from torchvision.ops import nms
except ImportError as missing:
    print(f"skipped: {missing} (Debian: python3-torch, python3-torchvision)")
    sys.exit(77)

from recomputed_detector import Recomputed
from small_detectors import CLASSES, DETECTORS, predicted

LIMIT, DRAWS = 1e-4, 3
RATIOS, SCORE, LEAST = (0.5, 1, 2), 0.02, 0.001  # the keys' defaults, and the values of predicted()
EDGE = torch.tensor([0.0, 0.0, 1.0, 1.0])  # from the last pixel inside a box to its end


def cell_anchors(stride, sizes, ratios=RATIOS):
    """The anchors of one cell: inclusive corners, rounded as in Detectron."""
    anchors, centre = [], (stride - 1) / 2
    for ratio in ratios:
        width = round(math.sqrt(stride * stride / ratio))
        height = round(width * ratio)
        for size in sizes:
            w, h = width * size / stride, height * size / stride
            anchors.append([centre - (w - 1) / 2, centre - (h - 1) / 2,
                            centre + (w - 1) / 2, centre + (h - 1) / 2])
    return torch.tensor(anchors)


def all_anchors(cell, stride, height, width):
    """[anchor, y, x, 4], with exclusive ends."""
    y, x = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
    moved = torch.stack([x, y, x, y], 2) * stride
    return cell[:, None, None] + moved[None] + EDGE


def decoded(boxes, deltas, weights=(1.0, 1.0, 1.0, 1.0)):
    size, low = boxes[..., 2:] - boxes[..., :2], boxes[..., :2]
    deltas = deltas / torch.tensor(weights)
    centre = low + size / 2 + deltas[..., :2] * size
    reach = torch.exp(deltas[..., 2:].clamp(max=math.log(1000 / 16))) * size / 2
    return torch.cat([centre - reach, centre + reach], -1)


def clipped(boxes, height, width):
    limit = torch.tensor([width, height, width, height]) - (1 - EDGE)
    return torch.minimum(torch.maximum(boxes, EDGE), limit)


def best_first(scores, most):
    return torch.sort(scores, descending=True, stable=True)[1][:most]


class Predicted(Recomputed):
    def __init__(self, words, params, feeds):
        super().__init__(words, params, {}, feeds)
        self.height, self.width, self.scale = (float(x) for x in feeds["im_info"][0])

    def to_picture(self, boxes):
        return (boxes - EDGE) / self.scale + EDGE

    # ---- proposals, in the picture
    def proposals_of(self, suffix, x, first, stride, sizes):
        logits, deltas = self.rpn_head(suffix, x, first)
        anchors = all_anchors(cell_anchors(stride, sizes), stride, *x.shape[2:])
        deltas = deltas.reshape(len(anchors), 4, *x.shape[2:]).permute(0, 2, 3, 1)
        boxes = clipped(decoded(anchors, deltas), self.height, self.width).reshape(-1, 4)
        scores = logits.reshape(-1)
        order = best_first(scores, 12000)
        kept = order[nms(boxes[order], scores[order], 0.7)[:2000]]
        return boxes[kept], scores[kept]

    def proposals(self, levels):
        if isinstance(levels, dict):
            of = [self.proposals_of(f"_fpn{n}", levels[n], "_fpn2", 2 ** n, [32 * 2 ** (n - 2)])
                  for n in range(2, 7)]
        else:
            of = [self.proposals_of("", levels[0], "", 16, [16, 32, 64])]
        boxes, scores = (torch.cat(parts) for parts in zip(*of))
        order = best_first(scores, 2000)
        return self.to_picture(boxes[order]), scores[order]

    # ---- results
    def results(self, boxes, scores, classes):
        """The detections of all classes, best first; `boxes` are in picture coordinates."""
        height, width = round(self.height / self.scale), round(self.width / self.scale)
        boxes, kept = clipped(boxes, height, width), []
        for number in range(1, CLASSES):
            here = (classes == number).nonzero()[:, 0]
            kept.append(here[nms(boxes[here], scores[here], 0.3)])
        kept = torch.cat(kept)
        kept = kept[best_first(scores[kept], 100)]
        return {"boxes": boxes[kept], "scores": scores[kept], "classes": classes[kept]}

    def of_rois(self, levels, rois):
        scores, deltas = self.box_head(levels, self.rois(rois[None]))
        prob = torch.softmax(scores, 1)
        agnostic = self.on("MODEL.CLS_AGNOSTIC_BBOX_REG")
        columns = deltas[:, 4:8][:, None].expand(-1, CLASSES, -1) if agnostic else (
            deltas.reshape(len(rois), CLASSES, 4))
        boxes = decoded(rois[:, None], columns, (10.0, 10.0, 5.0, 5.0))
        classes = torch.arange(CLASSES).expand(len(rois), -1)
        good = (prob > SCORE) & (classes > 0)
        return self.results(boxes[good], prob[good], classes[good])

    def of_anchors(self, levels):
        found, kinds = [], CLASSES - 1
        for number in range(3, 8):
            x, stride = levels[number], 2 ** number
            logits, deltas = self.retinanet_head(x)
            cell = torch.cat([cell_anchors(stride, [stride * 4 * 2 ** (octave / 3)], [ratio])
                              for octave in range(3) for ratio in RATIOS])
            count, size = len(cell), x.shape[2:]
            if self.on("RETINANET.SOFTMAX"):
                prob = torch.softmax(logits.reshape(count, kinds + 1, *size), 1)[:, 1:]
            else:
                prob = torch.sigmoid(logits.reshape(count, kinds, *size))
            wide = kinds if self.on("RETINANET.CLASS_SPECIFIC_BBOX") else 1
            deltas = deltas.reshape(count, wide, 4, *size).permute(0, 1, 3, 4, 2)
            anchors = all_anchors(cell, stride, *size)[:, None]
            boxes = decoded(anchors, deltas).expand(-1, kinds, -1, -1, -1)
            classes = torch.arange(1, CLASSES)[None, :, None, None].expand(prob.shape)
            scores = prob.reshape(-1)
            order = best_first(scores, 1000)
            order = order[scores[order] > (0 if number == 7 else LEAST)]
            found.append((boxes.reshape(-1, 4)[order], scores[order], classes.reshape(-1)[order]))
        boxes, scores, classes = (torch.cat(parts) for parts in zip(*found))
        return self.results(self.to_picture(boxes), scores, classes)

    def shapes_of(self, boxes, classes):
        """Masks and heatmaps of the boxes that Lockstep found."""
        levels = self.pyramid() if self.on("FPN.FPN_ON") else [self.top()]
        rois, shapes = self.rois(boxes[None]), {}
        if self.on("MODEL.MASK_ON"):
            shapes["masks"] = torch.sigmoid(self.masks_of(levels, rois, classes))
        if self.on("MODEL.KEYPOINTS_ON"):
            shapes["heatmaps"] = self.heatmaps_of(levels, rois)
        return shapes

    def run(self):
        pyramid = self.on("FPN.FPN_ON")
        levels = self.pyramid() if pyramid else [self.top()]
        if self.on("RETINANET.RETINANET_ON"):
            return self.of_anchors(levels)
        if self.uses_fed_proposals():
            rois = self.f["proposals"][0]
            rois = rois[(rois[:, 2:] > rois[:, :2]).all(1)]
        else:
            rois, logits = self.proposals(levels)
        if self.on("MODEL.RPN_ONLY"):
            return {"boxes": rois, "scores": torch.sigmoid(logits)}
        return self.of_rois(levels, rois)


def differences(ours, theirs):
    count = int(ours["count"][0])
    bad = [] if count == len(theirs["boxes"]) else [f"{count} boxes, PyTorch {len(theirs['boxes'])}"]
    if count < 3:
        bad.append("hardly anything was found: the check would be empty")
    for name, other in theirs.items() if not bad else ():
        mine, other = ours[name][0, :count], other.numpy()
        if name == "classes":
            if not np.array_equal(mine, other):
                bad.append(f"classes: {mine[:20]}, PyTorch {other[:20]}")
        elif not np.allclose(mine, other, LIMIT, LIMIT * (100 if name == "boxes" else 1)):
            bad.append(f"{name}: off by {np.abs(mine - other).max():.2g}")
    return bad


def check(lockstep, program, folder, name):
    """Rounding may swap two almost equal scores; another picture avoids this case."""
    for seed in range(1, 1 + DRAWS):
        feeds, params, ours = predicted(lockstep, program, folder, DETECTORS[name], seed)
        as_tensors = lambda arrays: {key: torch.from_numpy(a) for key, a in arrays.items()}
        with torch.no_grad():
            recomputed = Predicted(DETECTORS[name], as_tensors(params), as_tensors(feeds))
            theirs = recomputed.run()
            if {"masks", "heatmaps"} & set(ours):
                count = int(ours["count"][0])
                theirs.update(recomputed.shapes_of(*(torch.from_numpy(ours[key][0, :count])
                                                     for key in ("boxes", "classes"))))
        bad = differences(ours, theirs)
        print(f"{name}: {int(ours['count'][0])} boxes" + "".join("\n  " + line for line in bad),
              flush=True)
        if not bad:
            return True
    return False


def main():
    lockstep, program, folder = sys.argv[1:4]
    names = sys.argv[4:] or list(DETECTORS)
    right = [check(lockstep, program, os.path.join(folder, name), name) for name in names]
    print(f"{sum(right)} of {len(right)} detectors predict as PyTorch does")
    return 0 if all(right) else 1


if __name__ == "__main__":
    sys.exit(main())
