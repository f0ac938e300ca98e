# SPDX-License-Identifier: Apache-2.0
"""Compares AnchorTargets and ProposalTargets with torchvision's box_iou, Matcher and BoxCoder; called by
check_torchvision.py. A check gets a Lockstep and returns the worst relative difference.

An image is a case. Corners are small integers, so both engines round overlaps in the same way.
"""
import os
import shutil

import numpy as np
import torch
from torch import nn
from torchvision.models.detection._utils import BoxCoder, Matcher
from torchvision.ops import box_iou

CASES, TOGETHER, STRIDE, CELLS, OBJECTS = 200, 20, 8, 9, 6


def corners(*shape):
    """Boxes with random corners in the square that the cells cover."""
    size = STRIDE * CELLS
    start = torch.randint(0, size - 2, (*shape, 2))
    extent = (torch.rand(*shape, 2) * (size - start - 1)).floor() + 1
    return torch.cat([start, start + extent], -1).float()


def node(name, outputs, attributes):
    """A module of one operator of domain ai.lockstep."""
    class Operator(torch.autograd.Function):
        @staticmethod
        def symbolic(g, *operands):
            return g.op(f"ai.lockstep::{name}", *operands, outputs=outputs, **attributes)

        @staticmethod
        def forward(ctx, *operands):
            return tuple(torch.zeros(1) for _ in range(outputs))

    class Module(nn.Module):
        def forward(self, *operands):
            return Operator.apply(*operands)
    return Module()


def run(lockstep, module, operands, outputs):
    shutil.rmtree(lockstep.folder, ignore_errors=True)
    os.makedirs(f"{lockstep.folder}/in")
    names = [f"operand{n}" for n in range(len(operands))]
    torch.onnx.export(module, tuple(operands), f"{lockstep.folder}/model.onnx", opset_version=13,
                      input_names=names, output_names=[f"y{n}" for n in range(outputs)],
                      custom_opsets={"ai.lockstep": 1}, do_constant_folding=False)
    for name, operand in zip(names, operands):
        np.save(f"{lockstep.folder}/in/{name}.npy", operand.numpy())
    found = lockstep.command("run")
    return [torch.from_numpy(found[f"y{n}"]) for n in range(outputs)]


def difference(found, expected):
    if found.shape != expected.shape:
        return float("inf")
    scale = max(1.0, expected.abs().max().item()) if expected.numel() else 1.0
    return (found - expected).abs().max().item() / scale if expected.numel() else 0.0


def truth_of(images):
    """Objects. The class of a row is its index plus 1, so a label identifies the match."""
    classes = torch.arange(1, OBJECTS + 1).repeat(images, 1)
    return corners(images, OBJECTS), classes, torch.zeros(images, OBJECTS, dtype=torch.int64)


def anchors_of(base):
    """All anchors of the single level, in the order of cells."""
    shifts = torch.arange(CELLS) * STRIDE
    y, x = torch.meshgrid(shifts, shifts, indexing="ij")
    shift = torch.stack([x, y, x, y], -1).reshape(-1, 4).float()
    return (base[:, None] + shift).reshape(-1, 4)


def matched(anchors, boxes, matcher):
    """The row that each anchor matches (-1 and -2 as in Matcher), and True where ties leave the row open in
    Matcher."""
    overlaps = box_iou(boxes, anchors)
    best = overlaps.max(0).values
    return matcher(overlaps), (overlaps == best).sum(0) > 1


def matcher_and_coder(lockstep):
    """Labels of all anchors by Matcher, including low-quality matches; their deltas by BoxCoder."""
    worst, coder = 0.0, BoxCoder((1.0, 1.0, 1.0, 1.0))
    for _ in range(CASES // TOGETHER):
        # The anchors cover the square. An object without any overlap has no best anchor in Lockstep, but all anchors in
        # Matcher.
        base = torch.cat([-torch.randint(0, 13, (3, 2)), torch.randint(8, 33, (3, 2))], 1).float()
        anchors = anchors_of(base)
        low = float(torch.rand(())) * 0.5
        high = low + float(torch.rand(())) * 0.4
        low, high = np.float32(low).item(), np.float32(high).item()
        boxes, classes, crowd = truth_of(TOGETHER)
        info, numbers = torch.ones(TOGETHER, 3), torch.arange(TOGETHER)
        module = node("AnchorTargets", 3, {
            "anchors_f": base.flatten().tolist(), "strides_i": [STRIDE], "heights_i": [CELLS],
            "widths_i": [CELLS], "positive_overlap_f": high, "negative_overlap_f": low,
            "straddle_f": -1.0, "sample_i": 0, "foreground_i": 0})
        labels, targets, counts = run(lockstep, module, (boxes, classes, crowd, info, numbers), 3)
        targets = targets.reshape(TOGETHER, 3, 4, -1).transpose(2, 3).reshape(TOGETHER, -1, 4)
        for image in range(TOGETHER):
            rows, several = matched(anchors, boxes[image], Matcher(high, low, True))
            mine = labels[image].flatten()
            # Matcher's "below low" is 0 here, and its "between" is -1. Rows are classes minus 1.
            expected = torch.where(rows == -1, 0, torch.where(rows == -2, -1, rows + 1))
            open_row = several & (rows >= 0) & (mine > 0)
            if not torch.equal(mine[~open_row], expected[~open_row]):
                return float("inf")
            objects = mine > 0
            wanted = boxes[image][mine[objects] - 1]
            worst = max(worst, difference(targets[image][objects],
                                          coder.encode_single(wanted, anchors[objects])))
            if targets[image][~objects].any():
                return float("inf")
        if counts.tolist() != [(labels > 0).sum().item(), (labels == 0).sum().item()]:
            return float("inf")
    return worst


def proposals_and_coder(lockstep):
    """Labels of proposals by box_iou and Matcher, deltas by BoxCoder with weights."""
    worst, weights, count = 0.0, (10.0, 10.0, 5.0, 5.0), 30
    coder, places = BoxCoder(weights), count + OBJECTS
    for _ in range(CASES // TOGETHER):
        boxes, classes, crowd = truth_of(TOGETHER)
        near = boxes[:, torch.arange(count // 2) % OBJECTS] + torch.randint(-2, 3, (4,)).float()
        near[..., 2:] = torch.maximum(near[..., 2:], near[..., :2] + 1)
        proposals = torch.cat([near, corners(TOGETHER, count - count // 2)], 1)
        sources = torch.arange(count).repeat(TOGETHER, 1)
        module = node("ProposalTargets", 4, {
            "sample_i": places, "foreground_i": places, "weights_f": list(weights)})
        rois, labels, targets, matches = run(
            lockstep, module,
            (proposals, sources, boxes, classes, crowd, torch.arange(TOGETHER)), 4)
        for image in range(TOGETHER):
            candidates = torch.cat([proposals[image], boxes[image]])
            rows, several = matched(candidates, boxes[image], Matcher(0.5, 0.5, False))
            order = torch.cat([(rows >= 0).nonzero(), (rows < 0).nonzero()]).flatten()
            if not torch.equal(rois[image], candidates[order]):
                return float("inf")
            rows, several, objects = rows[order], several[order], rows[order] >= 0
            mine = matches[image]
            if not torch.equal(mine[~several | ~objects], rows[~several | ~objects].clamp(min=-1)):
                return float("inf")
            if not torch.equal(labels[image], mine + 1):
                return float("inf")
            worst = max(worst, difference(
                targets[image][objects],
                coder.encode_single(boxes[image][mine[objects]], rois[image][objects])))
    return worst


CHECKS = {"anchor_targets": matcher_and_coder, "proposal_targets": proposals_and_coder}
