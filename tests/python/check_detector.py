# SPDX-License-Identifier: Apache-2.0
"""One training step of small detectors: PyTorch recomputes every loss and every trained gradient from
Lockstep's weights, feeds and samples (anchors, RoIs). Losses agree to 1e-4, gradients to 1e-3.

    check_detector.py DETECTOR_STEP FOLDER [NAME...]

Exit code 77: PyTorch or torchvision is not installed.
"""
import os
import subprocess
import sys

try:
    import numpy as np
    import torch
    from torch.nn import functional as F
    from torchvision.ops import roi_align, roi_pool
except ImportError as missing:
    print(f"skipped: {missing} (Debian: python3-torch, python3-torchvision)")
    sys.exit(77)

from small_detectors import (CLASSES, DETECTORS, IMAGES, PLACES, SIZE, initialised, options_of,
                             read_arrays, with_sizes, write_tensors)

LOSS_LIMIT, GRADIENT_LIMIT, DRAWS = 1e-4, 1e-3, 3


class Recomputed:
    """The forward pass by names of parameters, and the losses by Detectron's formulas."""

    def __init__(self, words, params, values, feeds):
        self.o, self.p, self.v, self.f = options_of(words), params, values, feeds
        self.losses = {}

    def on(self, key, default="False"):
        return self.o.get(key, default) == "True"

    # ---- layers
    def norm(self, x, name):
        p = self.p
        if name + "_gn_s" in p:
            return F.group_norm(x, 4, p[name + "_gn_s"], p[name + "_gn_b"])
        return x * p[name + "_bn_s"][:, None, None] + p[name + "_bn_b"][:, None, None]

    def conv(self, x, name, stride=1, pad=0, groups=1, params=None):
        params = params or name
        return F.conv2d(x, self.p[params + "_w"], self.p.get(params + "_b"), stride, pad, 1, groups)

    def block(self, x, name, stride):
        groups = int(self.o.get("RESNETS.NUM_GROUPS", "1"))
        if name + "_branch2c_w" in self.p:
            first = stride if self.on("RESNETS.STRIDE_1X1", "True") else 1
            y = F.relu(self.norm(self.conv(x, name + "_branch2a", first), name + "_branch2a"))
            y = self.conv(y, name + "_branch2b", stride // first, 1, groups)
            y = F.relu(self.norm(y, name + "_branch2b"))
            y = self.norm(self.conv(y, name + "_branch2c"), name + "_branch2c")
        else:
            y = F.relu(self.norm(self.conv(x, name + "_branch2a", stride, 1), name + "_branch2a"))
            y = self.norm(self.conv(y, name + "_branch2b", 1, 1), name + "_branch2b")
        if name + "_branch1_w" in self.p:
            x = self.norm(self.conv(x, name + "_branch1", stride), name + "_branch1")
        return F.relu(x + y)

    def stage(self, x, number, stride):
        block = 0
        while f"res{number}_{block}_branch2a_w" in self.p:
            x = self.block(x, f"res{number}_{block}", stride if block == 0 else 1)
            block += 1
        return x, f"res{number}_{block - 1}_sum"

    def body(self, last):
        x = self.conv(self.f["data"], "conv1", 2, 3)
        if "conv1_gn_s" in self.p:
            x = F.group_norm(x, 4, self.p["conv1_gn_s"], self.p["conv1_gn_b"])
        else:
            x = x * self.p["res_conv1_bn_s"][:, None, None] + self.p["res_conv1_bn_b"][:, None, None]
        x = F.max_pool2d(F.relu(x), 3, 2, 1)
        sums = []
        for number in range(2, last + 1):
            x, name = self.stage(x, number, 1 if number == 2 else 2)
            sums.append((name, x))
        return sums

    def pyramid(self):
        def conv(x, name, pad=0):
            y = self.conv(x, name, 1, pad)
            return self.norm(y, name) if name + "_gn_s" in self.p else y

        sums = self.body(5)
        first = 3 if self.on("RETINANET.RETINANET_ON") else 2
        used = sums[first - 2:]
        inner = [conv(used[-1][1], "fpn_inner_" + used[-1][0])]
        for name, x in reversed(used[:-1]):
            lateral = conv(x, f"fpn_inner_{name}_lateral")
            inner.append(lateral + F.interpolate(inner[-1], scale_factor=2, mode="nearest"))
        levels = {5 - i: conv(x, "fpn_" + name, 1)
                  for i, (x, (name, _)) in enumerate(zip(inner, reversed(used)))}
        if self.on("FPN.EXTRA_CONV_LEVELS"):
            levels[6] = self.conv(sums[-1][1], "fpn_6", 2, 1)
            levels[7] = self.conv(F.relu(levels[6]), "fpn_7", 2, 1)
        else:
            levels[6] = levels[5][:, :, ::2, ::2]
        return levels

    # ---- losses
    @staticmethod
    def smooth_l1(x, beta):
        return torch.where(x.abs() < beta, 0.5 * x * x / beta, x.abs() - 0.5 * beta)

    def rpn_head(self, suffix, x, first):
        """Logits and deltas of a level; all levels use the first level's parameters."""
        hidden = F.relu(self.conv(x, "conv_rpn" + suffix, 1, 1, params="conv_rpn" + first))
        return (self.conv(hidden, "", params="rpn_cls_logits" + first),
                self.conv(hidden, "", params="rpn_bbox_pred" + first))

    def rpn(self, levels):
        """levels: {suffix: feature map}"""
        first = next(iter(levels))
        labels = [self.v[f"labels{i}"] for i in range(len(levels))]
        examples = sum((label >= 0).sum(1) for label in labels).clamp(min=1).float()
        for i, (suffix, x) in enumerate(levels.items()):
            logits, deltas = self.rpn_head(suffix, x, first)
            places, targets = self.v[f"places{i}"], self.v[f"targets{i}"]
            count, cells = logits.shape[1], logits.shape[2] * logits.shape[3]
            deltas = deltas.reshape(IMAGES, count, 4, cells).permute(0, 1, 3, 2)
            deltas = deltas.reshape(IMAGES, count * cells, 4)
            cls = bbox = 0
            for image in range(IMAGES):
                here = labels[i][image] >= 0
                at, label = places[image][here], labels[i][image][here]
                cls = cls + F.binary_cross_entropy_with_logits(
                    logits[image].reshape(-1)[at], label.float(), reduction="sum")
                fg = label == 1
                distance = self.smooth_l1(deltas[image][at[fg]] - targets[image][here][fg], 1 / 9)
                bbox = bbox + distance.sum() / examples[image] / IMAGES
            share = IMAGES * 32 if suffix else examples.sum()
            self.losses["loss_rpn_cls" + suffix] = cls / share
            self.losses["loss_rpn_bbox" + suffix] = bbox

    def rois(self, boxes):
        """Detectron's anchors: inclusive, in the scaled image."""
        boxes = boxes.clone()
        boxes[..., 2:] -= 1
        boxes = boxes * self.f["im_info"][:, 2][:, None, None]
        image = torch.arange(len(boxes)).repeat_interleave(boxes.shape[1]).float()
        return torch.cat([image[:, None], boxes.reshape(-1, 4)], 1)

    def box_head(self, levels, rois):
        """Scores and deltas of each RoI."""
        size = int(self.o.get("FAST_RCNN.ROI_XFORM_RESOLUTION", "14"))
        if len(levels) == 1:
            pool = roi_align if "FAST_RCNN.ROI_XFORM_METHOD" in self.o else roi_pool
            args = (2, False) if pool is roi_align else ()
            x = pool(levels[0], rois, size, 1 / 16, *args)
            x, _ = self.stage(x, 5, 2)
            x = x.mean((2, 3))
        else:
            side = ((rois[:, 3] - rois[:, 1] + 1) * (rois[:, 4] - rois[:, 2] + 1)).sqrt()
            level = torch.floor(4 + torch.log2(side / 56 + 1e-6)).clamp(2, 5)
            x = torch.zeros(len(rois), 16, size, size)
            for number in range(2, 6):
                at = level == number
                x[at] = roi_align(levels[number], rois[at], size, 2.0 ** -number, 2, False)
            i = 1
            while f"head_conv{i}_w" in self.p:
                x = self.conv(x, f"head_conv{i}", 1, 1)
                x = F.relu(self.norm(x, f"head_conv{i}") if f"head_conv{i}_gn_s" in self.p else x)
                i += 1
            x = F.relu(F.linear(x.flatten(1), self.p["fc6_w"], self.p["fc6_b"]))
            if "fc7_w" in self.p:
                x = F.relu(F.linear(x, self.p["fc7_w"], self.p["fc7_b"]))
        return (F.linear(x, self.p["cls_score_w"], self.p["cls_score_b"]),
                F.linear(x, self.p["bbox_pred_w"], self.p["bbox_pred_b"]))

    def boxes(self, levels):
        labels = self.v["roi_labels"].reshape(-1)
        scores, deltas = self.box_head(levels, self.rois(self.v["rois"]))
        self.losses["loss_cls"] = F.cross_entropy(scores, labels, ignore_index=-1)
        targets = self.v["roi_targets"].reshape(-1, 4)
        bbox = 0
        for row in (labels > 0).nonzero()[:, 0]:
            column = 1 if self.on("MODEL.CLS_AGNOSTIC_BBOX_REG") else labels[row]
            own = deltas[row, 4 * column:4 * column + 4]
            bbox = bbox + self.smooth_l1(own - targets[row], 1).sum()
        self.losses["loss_bbox"] = bbox / max(1, int((labels >= 0).sum()))

    def retinanet_head(self, x):
        """Logits and deltas of a level."""
        def tower(of):
            y = x
            for n in range(2):
                y = F.relu(self.conv(y, "", 1, 1, params=f"retnet_{of}_conv_n{n}_fpn3"))
            return y

        of_classes = tower("cls")
        of_boxes = of_classes if self.on("RETINANET.SHARE_CLS_BBOX_TOWER") else tower("bbox")
        return (self.conv(of_classes, "", 1, 1, params="retnet_cls_pred_fpn3"),
                self.conv(of_boxes, "", 1, 1, params="retnet_bbox_pred_fpn3"))

    def retinanet(self, levels):
        kinds, objects = CLASSES - 1, max(1, int(self.v["counts"][0]))
        for i, number in enumerate(range(3, 8)):
            suffix = f"_fpn{number}"
            logits, deltas = self.retinanet_head(levels[number])
            labels, targets = self.v[f"labels{i}"], self.v[f"targets{i}"]
            anchors, cells = labels.shape[1], labels.shape[2] * labels.shape[3]
            label = labels.reshape(IMAGES, anchors, cells)
            logits = logits.reshape(IMAGES, anchors, -1, cells).permute(0, 1, 3, 2)
            counted = logits[label >= 0]
            truth = label[label >= 0]
            if self.on("RETINANET.SOFTMAX"):
                log_p = F.log_softmax(counted, 1).gather(1, truth[:, None])[:, 0]
                alpha = torch.where(truth > 0, 0.25, 0.75)
                loss = -(alpha * (1 - log_p.exp()) ** 2 * log_p).sum()
            else:
                hot = F.one_hot(truth, kinds + 1)[:, 1:].float()
                p = torch.sigmoid(counted)
                entropy = F.binary_cross_entropy_with_logits(counted, hot, reduction="none")
                miss = torch.where(hot > 0, 1 - p, p)
                loss = (torch.where(hot > 0, 0.25, 0.75) * miss ** 2 * entropy).sum()
            self.losses["fl" + suffix] = loss / objects
            wide = kinds if self.on("RETINANET.CLASS_SPECIFIC_BBOX") else 1
            deltas = deltas.reshape(IMAGES, anchors, wide, 4, cells).permute(0, 1, 4, 2, 3)
            wanted = targets.reshape(IMAGES, anchors, 4, cells).permute(0, 1, 3, 2)
            fg = label > 0
            column = (label[fg] - 1) if wide > 1 else torch.zeros_like(label[fg])
            own = deltas[fg][torch.arange(len(column)), column]
            weight = float(self.o.get("RETINANET.BBOX_REG_WEIGHT", "1"))
            self.losses["retnet_loss_bbox" + suffix] = (
                weight * self.smooth_l1(own - wanted[fg], 0.11).sum() / objects)

    def run(self):
        if self.on("RETINANET.RETINANET_ON"):
            self.retinanet(self.pyramid())
        elif self.on("FPN.FPN_ON"):
            levels = self.pyramid()
            if not self.uses_fed_proposals():
                self.rpn({f"_fpn{number}": levels[number] for number in range(2, 7)})
            if not self.on("MODEL.RPN_ONLY"):
                self.boxes(levels)
        else:
            top = self.body(4)[-1][1]
            if not self.uses_fed_proposals():
                self.rpn({"": top})
            if not self.on("MODEL.RPN_ONLY"):
                self.boxes([top])
        return sum(self.losses.values())

    def uses_fed_proposals(self):
        return not (self.on("MODEL.RPN_ONLY") or self.on("MODEL.FASTER_RCNN"))


def feeds_of(words, seed):
    rng = np.random.RandomState(seed)
    boxes = np.zeros((IMAGES, PLACES, 4), np.float32)
    classes, crowd = (np.zeros((IMAGES, PLACES), np.int64) for _ in range(2))
    scale = np.float32([1.0, 1.6])
    for image in range(IMAGES):
        limit = (SIZE - 8) / scale[image]
        for row in range(4):
            low = rng.uniform(0, 0.6 * limit, 2)
            high = low + rng.uniform(0.2 * limit, 0.4 * limit, 2)
            boxes[image, row] = [*low, *high]
            classes[image, row] = 1 + rng.randint(CLASSES - 1)
        crowd[image, 3] = 1
    feeds = {
        "data": rng.randn(IMAGES, 3, SIZE, SIZE).astype(np.float32),
        "im_info": np.float32([[SIZE - 8, SIZE, scale[0]], [SIZE, SIZE - 8, scale[1]]]),
        "image_number": np.int64([7, 3]), "gt_boxes": boxes, "gt_classes": classes,
        "gt_crowd": crowd,
    }
    one_stage = "RETINANET.RETINANET_ON" in words
    if not one_stage and "MODEL.RPN_ONLY" not in words and "MODEL.FASTER_RCNN" not in words:
        low = rng.uniform(0, 50, (IMAGES, 40, 2))
        proposals = np.concatenate([low, low + rng.uniform(8, 40, low.shape)], 2)
        # Some proposals are near the objects, so that there is foreground. The last rows are empty.
        proposals[:, :9] = boxes[:, :3].repeat(3, 1) + rng.uniform(-2, 2, (IMAGES, 9, 4))
        proposals[:, 35:] = 0
        feeds["proposals"] = proposals.astype(np.float32)
    return feeds


def fetches_of(words):
    """Lockstep's names of sampled values -> the names used here."""
    o = options_of(words)
    fetches = {}
    if "RETINANET.RETINANET_ON" in o:
        for level in range(5):
            fetches[f"labels{level}"] = "retnet_targets" + (f"_{2 * level}" if level else "")
            fetches[f"targets{level}"] = f"retnet_targets_{2 * level + 1}"
        fetches["counts"] = "retnet_targets_10"
        return fetches
    if "MODEL.RPN_ONLY" in o or "MODEL.FASTER_RCNN" in o:
        for level in range(5 if "FPN.FPN_ON" in o else 1):
            for i, what in enumerate(("places", "labels", "targets")):
                number = 3 * level + i
                fetches[f"{what}{level}"] = "rpn_targets" + (f"_{number}" if number else "")
    if "MODEL.RPN_ONLY" not in o:
        fetches.update({"rois": "rois", "roi_labels": "rois_1", "roi_targets": "rois_2"})
    return fetches


def read_tensors(folder):
    return {name: torch.from_numpy(array) for name, array in read_arrays(folder).items()}


def relative(ours, theirs):
    size = max(float(theirs.abs().max()), 1e-6)
    return float((ours - theirs).abs().max()) / size


def check(program, folder, name, words):
    """Rounding may decide if a ReLU's operand near 0 is on or off, which changes gradients a lot. Another
    draw avoids this case, whereas a wrong gradient is wrong with every draw."""
    for seed in range(4, 4 + DRAWS):
        bad = differences(program, folder, name, words, seed)
        if not bad:
            return True
    return False


def differences(program, folder, name, words, seed):
    words = with_sizes(words)
    feeds, fetches = feeds_of(words, seed), fetches_of(words)
    config, params = initialised(program, folder, words, seed)
    write_tensors(os.path.join(folder, "feeds"), feeds)
    subprocess.run([program, "step", config, folder, *words, "--fetch", *fetches.values()],
                   check=True)
    fetched = read_tensors(os.path.join(folder, "fetched"))
    values = {key: fetched[ours] for key, ours in fetches.items()}
    ours = read_tensors(os.path.join(folder, "losses"))
    gradients = read_tensors(os.path.join(folder, "gradients"))
    tensors = {key: torch.from_numpy(value).requires_grad_() for key, value in params.items()}
    theirs = Recomputed(words, tensors, values,
                        {key: torch.from_numpy(value) for key, value in feeds.items()})
    theirs.run().backward()
    bad = []
    if set(ours) != set(theirs.losses):
        bad.append(f"losses {sorted(set(ours) ^ set(theirs.losses))} are on one side only")
    worst = {"loss": 0.0, "gradient": 0.0}
    for key, loss in theirs.losses.items():
        loss = torch.as_tensor(loss).detach()
        difference = abs(float(ours[key]) - float(loss)) / max(abs(float(loss)), 1e-3)
        worst["loss"] = max(worst["loss"], difference)
        if not difference <= LOSS_LIMIT:
            bad.append(f"{key}: {float(ours[key])}, PyTorch {float(loss)}")
    for key, gradient in gradients.items():
        difference = relative(gradient, tensors[key].grad)
        worst["gradient"] = max(worst["gradient"], difference)
        if not difference <= GRADIENT_LIMIT:
            bad.append(f"{key}_grad: off by {difference:.2g}")
    objects = sum(int((value > 0).sum()) for key, value in values.items() if "labels" in key)
    if objects == 0:
        bad.append("nothing was sampled as an object: the check would be empty")
    print(f"{name}: {len(ours)} losses to {worst['loss']:.1e}, {len(gradients)} gradients to "
          f"{worst['gradient']:.1e}, {objects} samples of objects"
          + "".join("\n  " + line for line in bad[:10]), flush=True)
    return bad


def main():
    program, folder, names = sys.argv[1], sys.argv[2], sys.argv[3:] or list(DETECTORS)
    right = [check(program, os.path.join(folder, name), name, DETECTORS[name]) for name in names]
    print(f"{sum(right)} of {len(right)} detectors agree with PyTorch")
    return 0 if all(right) else 1


if __name__ == "__main__":
    sys.exit(main())
