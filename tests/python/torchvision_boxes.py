# SPDX-License-Identifier: Apache-2.0
"""Compares BoxSuppression and the focal losses with torchvision's; called by check_torchvision.py. A check
gets a Lockstep and returns the worst relative difference, infinity if the number of boxes differs.
"""
import os
import shutil

import numpy as np
import torch
from torch import nn
from torchvision import ops

CASES, TOGETHER = 200, 20


class Suppression(torch.autograd.Function):
    @staticmethod
    def symbolic(g, boxes, scores, threshold, capacity):
        return g.op("ai.lockstep::BoxSuppression", boxes, scores, outputs=2,
                    threshold_f=threshold, capacity_i=capacity)

    @staticmethod
    def forward(ctx, boxes, scores, threshold, capacity):
        return torch.zeros(1, dtype=torch.int64), torch.zeros(1, dtype=torch.int64)


class SigmoidFocal(torch.autograd.Function):
    @staticmethod
    def symbolic(g, logits, labels, objects, classes, alpha, gamma):
        return g.op("ai.lockstep::SigmoidFocalLoss", logits, labels, objects, classes_i=classes,
                    alpha_f=alpha, gamma_f=gamma)

    @staticmethod
    def forward(ctx, logits, labels, objects, classes, alpha, gamma):
        return logits.sum()


def export(lockstep, module, operands, results):
    """Writes the model and its inputs, for lockstep.command()."""
    shutil.rmtree(lockstep.folder, ignore_errors=True)
    os.makedirs(f"{lockstep.folder}/in")
    names = [f"operand{n}" for n in range(len(operands))]
    torch.onnx.export(module, tuple(operands), f"{lockstep.folder}/model.onnx", opset_version=13,
                      input_names=names, output_names=results, custom_opsets={"ai.lockstep": 1},
                      do_constant_folding=False, training=torch.onnx.TrainingMode.PRESERVE)
    for name, operand in zip(names, operands):
        np.save(f"{lockstep.folder}/in/{name}.npy", operand.numpy())


class Suppressions(nn.Module):
    """Pairs of boxes [1, N, 4] and scores [1, N]."""

    def __init__(self, thresholds, capacities):
        super().__init__()
        self.attributes = list(zip(thresholds, capacities))

    def forward(self, *operands):
        results = []
        for n, attributes in enumerate(self.attributes):
            results += Suppression.apply(operands[2 * n], operands[2 * n + 1], *attributes)
        return tuple(results)


def nms(lockstep):
    worst = 0.0
    for _ in range(CASES // TOGETHER):
        operands, thresholds, capacities, expected = [], [], [], []
        for _ in range(TOGETHER):
            count = int(torch.randint(1, 150, ()))
            start = torch.rand(count, 2) * 100
            boxes = torch.cat([start, start + torch.rand(count, 2) * 60], 1)
            if torch.rand(()) < 0.5:  # whole numbers give equal coordinates and equal overlaps
                boxes = boxes.round()
            # Distinct scores, since torchvision's sort leaves the order of equal scores open.
            scores = (torch.randperm(count) + 1).float() / count
            # Thresholds that are exact in float32, since torchvision compares in double.
            threshold = int(torch.randint(0, 17, ())) / 16
            kept = ops.nms(boxes, scores, threshold)
            operands += [boxes[None], scores[None]]
            thresholds.append(threshold)
            capacities.append(int(torch.randint(1, count + 10, ())))
            expected.append(kept[:capacities[-1]])
        names = [f"{what}{n}" for n in range(TOGETHER) for what in ("indices", "count")]
        export(lockstep, Suppressions(thresholds, capacities), operands, names)
        found = lockstep.command("run")
        for n, kept in enumerate(expected):
            indices, count = found[f"indices{n}"][0], int(found[f"count{n}"][0])
            same = (count == len(kept) and (indices[:count] == kept.numpy()).all()
                    and len(indices) == capacities[n] and (indices[count:] == -1).all())
            worst = max(worst, 0.0 if same else float("inf"))
    return worst


class FocalLosses(nn.Module):
    """A parameter of logits for each case, the loss of each case, and the sum of the losses."""

    def __init__(self, logits, attributes):
        super().__init__()
        self.attributes = attributes
        for n, x in enumerate(logits):
            self.register_parameter(f"x{n}", nn.Parameter(x))

    def forward(self, *operands):
        losses = [SigmoidFocal.apply(getattr(self, f"x{n}"), operands[2 * n], operands[2 * n + 1],
                                     *attributes)
                  for n, attributes in enumerate(self.attributes)]
        return sum(losses[1:], losses[0]), *losses


def theirs(x, labels, objects, classes, alpha, gamma):
    """torchvision's loss of one-hot targets, over the anchors that count."""
    images, anchors, height, width = labels.shape
    logits = x.reshape(images, anchors, classes, height, width)
    of_class = torch.arange(1, classes + 1).reshape(1, 1, classes, 1, 1)
    targets = (labels[:, :, None] == of_class).float()
    each = ops.sigmoid_focal_loss(logits, targets, alpha, gamma, reduction="none")
    return (each * (labels >= 0)[:, :, None]).sum() / max(1.0, objects.item())


def sigmoid_focal_loss(lockstep):
    worst = 0.0
    for _ in range(CASES // TOGETHER):
        operands, logits, attributes = [], [], []
        for _ in range(TOGETHER):
            images, anchors, classes, height, width = (int(torch.randint(1, 6, ()))
                                                       for _ in range(5))
            logits.append(torch.randn(images, anchors * classes, height, width) * 4)
            labels = torch.randint(-1, classes + 1, (images, anchors, height, width))
            operands += [labels, (labels > 0).sum().float()]
            gamma = (0.0, 0.5, 1.0, 2.0, 3.0)[int(torch.randint(0, 5, ()))]
            attributes.append((classes, float(torch.rand(())), gamma))
        module = FocalLosses(logits, attributes)
        export(lockstep, module, operands, ["loss"] + [f"y{n}" for n in range(TOGETHER)])
        found = lockstep.command("run")
        found.update(lockstep.command("step", "--loss", "loss"))
        for n, each in enumerate(attributes):
            # In double, since torchvision's float32 loses precision for confident predictions.
            x = logits[n].double().requires_grad_()
            y = theirs(x, operands[2 * n], operands[2 * n + 1], *each)
            y.backward()
            for mine, other in ((found[f"y{n}"], y.detach()), (found[f"x{n}_grad"], x.grad)):
                off = np.abs(mine - other.numpy()).max() / max(1.0, other.abs().max().item())
                worst = max(worst, float(off) if mine.shape == tuple(other.shape) else float("inf"))
    return worst


CHECKS = {"nms": nms, "sigmoid_focal_loss": sigmoid_focal_loss}
