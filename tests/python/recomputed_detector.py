# SPDX-License-Identifier: Apache-2.0
"""A detector's forward pass and losses in PyTorch, from Lockstep's weights, feeds and samples, for
check_detector.py and check_predictions.py."""
import torch
from torch.nn import functional as F
from torchvision.ops import roi_align, roi_pool

from small_detectors import CLASSES, IMAGES, options_of


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

    def conv(self, x, name, stride=1, pad=0, groups=1, params=None, dilation=1):
        params = params or name
        return F.conv2d(x, self.p[params + "_w"], self.p.get(params + "_b"), stride, pad, dilation,
                        groups)

    def block(self, x, name, stride, dilation):
        groups = int(self.o.get("RESNETS.NUM_GROUPS", "1"))
        if name + "_branch2c_w" in self.p:
            first = stride if self.on("RESNETS.STRIDE_1X1", "True") else 1
            y = F.relu(self.norm(self.conv(x, name + "_branch2a", first), name + "_branch2a"))
            y = self.conv(y, name + "_branch2b", stride // first, dilation, groups, None, dilation)
            y = F.relu(self.norm(y, name + "_branch2b"))
            y = self.norm(self.conv(y, name + "_branch2c"), name + "_branch2c")
        else:
            y = self.conv(x, name + "_branch2a", stride, dilation, 1, None, dilation)
            y = F.relu(self.norm(y, name + "_branch2a"))
            y = self.conv(y, name + "_branch2b", 1, dilation, 1, None, dilation)
            y = self.norm(y, name + "_branch2b")
        if name + "_branch1_w" in self.p:
            x = self.norm(self.conv(x, name + "_branch1", stride), name + "_branch1")
        return F.relu(x + y)

    def stage(self, x, number, stride, dilation=1, prefix=""):
        block = 0
        while f"{prefix}res{number}_{block}_branch2a_w" in self.p:
            x = self.block(x, f"{prefix}res{number}_{block}", stride if block == 0 else 1, dilation)
            block += 1
        return x, f"{prefix}res{number}_{block - 1}_sum"

    def enlarged(self, x, name, stride, pad=0):
        return F.conv_transpose2d(x, self.p[name + "_w"], self.p[name + "_b"], stride, pad)

    def body(self, last):
        x = self.conv(self.f["data"], "conv1", 2, 3)
        if "conv1_gn_s" in self.p:
            x = F.group_norm(x, 4, self.p["conv1_gn_s"], self.p["conv1_gn_b"])
        else:
            x = x * self.p["res_conv1_bn_s"][:, None, None] + self.p["res_conv1_bn_b"][:, None, None]
        x = F.max_pool2d(F.relu(x), 3, 2, 1)
        sums = []
        for number in range(2, last + 1):
            dilation = int(self.o.get("RESNETS.RES5_DILATION", "1")) if number == 5 else 1
            x, name = self.stage(x, number, 1 if number == 2 or dilation > 1 else 2, dilation)
            sums.append((name, x))
        return sums

    def vgg16(self):
        x = self.f["data"]
        for stage in range(1, 6):
            x = x if stage == 1 else F.max_pool2d(x, 2)
            i = 1
            while f"conv{stage}_{i}_w" in self.p:
                x = F.relu(self.conv(x, f"conv{stage}_{i}", 1, 1))
                i += 1
        return x

    def vgg_m(self):
        x = self.f["data"]
        for stage in (1, 2):
            x = F.local_response_norm(F.relu(self.conv(x, f"conv{stage}", 2)), 5, 5e-4, 0.75, 2)
            x = F.max_pool2d(x, 3, 2)
        for stage in (3, 4, 5):
            x = F.relu(self.conv(x, f"conv{stage}", 1, 1))
        return x

    def top(self):
        """The only map of a body without a pyramid."""
        body = self.o["MODEL.CONV_BODY"]
        if body.startswith("VGG"):
            return self.vgg16() if body.startswith("VGG16") else self.vgg_m()
        return self.body(5 if "conv5" in body else 4)[-1][1]

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

    @staticmethod
    def aligned(levels, rois, size):
        """RoIs of a pyramid or of one map."""
        if len(levels) == 1:
            return roi_align(levels[0], rois, size, 1 / 16, 2, False)
        side = ((rois[:, 3] - rois[:, 1] + 1) * (rois[:, 4] - rois[:, 2] + 1)).sqrt()
        level = torch.floor(4 + torch.log2(side / 56 + 1e-6)).clamp(2, 5)
        x = torch.zeros(len(rois), levels[2].shape[1], size, size)
        for number in range(2, 6):
            at = level == number
            x[at] = roi_align(levels[number], rois[at], size, 2.0 ** -number, 2, False)
        return x

    def box_head(self, levels, rois):
        """Scores and deltas of each RoI."""
        size = int(self.o.get("FAST_RCNN.ROI_XFORM_RESOLUTION", "14"))
        if self.o.get("MODEL.TYPE") == "rfcn":
            return self.by_position(levels[0], rois)
        if len(levels) == 1:
            head = self.o["FAST_RCNN.ROI_BOX_HEAD"]
            size = 7 if head.startswith("VGG16") else 6 if head.startswith("VGG") else size
            pool = roi_align if "FAST_RCNN.ROI_XFORM_METHOD" in self.o else roi_pool
            args = (2, False) if pool is roi_align else ()
            x = pool(levels[0], rois, size, 1 / 16, *args)
            if "fc6_w" in self.p:
                x = F.relu(F.linear(x.flatten(1), self.p["fc6_w"], self.p["fc6_b"]))
                x = F.relu(F.linear(x, self.p["fc7_w"], self.p["fc7_b"]))
            else:
                x, _ = self.stage(x, 5, 2)
                x = x.mean((2, 3))
        else:
            x = self.aligned(levels, rois, size)
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

    def by_position(self, x, rois):
        """R-FCN: scores and deltas of each RoI, by Caffe2's rounding, with coordinates in doubles."""
        if "conv_dim_reduce_w" in self.p:
            x = F.relu(self.conv(x, "conv_dim_reduce"))
        grid = int(self.o.get("RFCN.PS_GRID_SIZE", "3"))
        whole = rois[:, 1:].double()
        whole = whole.sign() * (whole.abs() + 0.5).floor()
        start, end = whole[:, :2] / 16, (whole[:, 2:] + 1) / 16
        size = (end - start).clamp(min=0.1) / grid
        limit = torch.tensor([x.shape[3], x.shape[2]])

        def cells(rounded):
            return torch.minimum(rounded.clamp(min=0), limit).long().tolist()

        first = [cells((start + i * size).floor()) for i in range(grid)]
        last = [cells((start + (i + 1) * size).ceil()) for i in range(grid)]

        def pooled(name):
            maps = self.conv(x, name).reshape(len(x), -1, grid, grid, x.shape[2], x.shape[3])
            rows = []
            for r, image in enumerate(rois[:, 0].long().tolist()):
                total = 0
                for i in range(grid):
                    for j in range(grid):
                        cut = maps[image, :, i, j, first[i][r][1]:last[i][r][1],
                                   first[j][r][0]:last[j][r][0]]
                        total = total + (cut.mean((1, 2)) if cut.numel() else cut.sum((1, 2)))
                rows.append(total / grid ** 2)
            return torch.stack(rows)

        return pooled("conv_cls"), pooled("conv_bbox_pred")

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

    # ---- masks and keypoints
    def of_stage_5(self, x, section, prefix):
        size, dilation = (int(self.o.get(f"{section}.{key}", "1"))
                          for key in ("ROI_XFORM_RESOLUTION", "DILATION"))
        own = prefix if prefix + "res5_0_branch2a_w" in self.p else ""
        return self.stage(x, 5, max(1, size // 7), dilation if own else 1, own)[0]

    def mask_logits(self, levels, rois):
        """A map for each class, or one for all."""
        x = self.aligned(levels, rois, int(self.o["MRCNN.ROI_XFORM_RESOLUTION"]))
        name = "_mask_fcn" if "_mask_fcn1_w" in self.p else "_[mask]_fcn"
        dilation, i = int(self.o["MRCNN.DILATION"]), 1
        if name + "1_w" not in self.p:
            x = self.of_stage_5(x, "MRCNN", "_[mask]_")
        while f"{name}{i}_w" in self.p:
            x = self.conv(x, f"{name}{i}", 1, dilation, dilation=dilation)
            x = F.relu(self.norm(x, f"{name}{i}") if f"{name}{i}_gn_s" in self.p else x)
            i += 1
        x = F.relu(self.enlarged(x, "conv5_mask", 2))
        if self.on("MRCNN.USE_FC_OUTPUT"):
            side = int(self.o["MRCNN.RESOLUTION"])
            x = F.linear(x.flatten(1), self.p["mask_fcn_logits_w"], self.p["mask_fcn_logits_b"])
            return x.reshape(len(x), -1, side, side)
        x = self.conv(x, "mask_fcn_logits")
        ratio = int(self.o.get("MRCNN.UPSAMPLE_RATIO", "1"))
        return self.enlarged(x, "mask_fcn_logits_up", ratio, ratio // 2) if ratio > 1 else x

    def masks_of(self, levels, rois, classes):
        """The logits of each RoI's class."""
        logits = self.mask_logits(levels, rois)
        column = classes if logits.shape[1] > 1 else torch.zeros_like(classes)
        return logits[torch.arange(len(logits)), column]

    def heatmaps_of(self, levels, rois):
        x = self.aligned(levels, rois, int(self.o["KRCNN.ROI_XFORM_RESOLUTION"]))
        if "conv_fcn1_w" not in self.p:
            x = self.of_stage_5(x, "KRCNN", "_[pose]_")
        i = 1
        while f"conv_fcn{i}_w" in self.p:
            x = F.relu(self.conv(x, f"conv_fcn{i}", 1, 1))
            i += 1
        if self.on("KRCNN.USE_DECONV"):
            x = F.relu(self.enlarged(x, "kps_deconv", 2, 1))
        scale = int(self.o["KRCNN.UP_SCALE"])
        name = "kps_score_lowres" if scale > 1 else "kps_score"
        x = self.enlarged(x, name, 2, 1) if self.on("KRCNN.USE_DECONV_OUTPUT") else self.conv(x, name)
        return self.enlarged(x, "kps_score", scale, scale // 2) if scale > 1 else x

    def shapes(self, levels):
        """The losses of the objects among the RoIs."""
        if self.on("MODEL.MASK_ON"):
            targets = self.v["masks"]
            count = targets.shape[1]
            classes = self.v["roi_labels"][:, :count].reshape(-1).clamp(min=0)
            logits = self.masks_of(levels, self.rois(self.v["rois"][:, :count]), classes)
            targets = targets.reshape(logits.shape)
            here = targets >= 0
            loss = F.binary_cross_entropy_with_logits(logits[here], targets[here].to(logits.dtype))
            self.losses["loss_mask"] = float(self.o.get("MRCNN.WEIGHT_LOSS_MASK", "1")) * loss
        if self.on("MODEL.KEYPOINTS_ON"):
            cells = self.v["points"]
            maps = self.heatmaps_of(levels, self.rois(self.v["rois_with_points"]))
            rows, weight = maps.flatten(0, 1).flatten(1), float(self.o.get("KRCNN.LOSS_WEIGHT", "1"))
            by_visible = self.on("KRCNN.NORMALIZE_BY_VISIBLE_KEYPOINTS", "True")
            loss = F.cross_entropy(rows, cells.reshape(-1), ignore_index=-1,
                                   reduction="mean" if by_visible else "sum")
            if by_visible:
                self.losses["loss_kps"] = weight * loss
            else:
                self.losses["loss_kps_normalized"] = weight * loss / (IMAGES * 16 * 0.25 * 5)

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
                self.shapes(levels)
        else:
            top = self.top()
            if not self.uses_fed_proposals():
                self.rpn({"": top})
            if not self.on("MODEL.RPN_ONLY"):
                self.boxes([top])
                self.shapes([top])
        return sum(self.losses.values())

    def uses_fed_proposals(self):
        return not (self.on("MODEL.RPN_ONLY") or self.on("MODEL.FASTER_RCNN"))
