#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Steps of torchvision's Faster R-CNN R-50-FPN, in a process of its own, for resnet50.py.

    stepping.py FOLDER BATCH --image N --threads N [--compiled whole|body] [--contiguous]

Reads numbers of steps from its input, and answers each with a line of JSON. Frozen as by
TRAIN.FREEZE_AT 2: the stem and the first stage. As in Detectron, batch norms are frozen, too.
"""
import argparse
import json
import os
import resource
import sys
import time

BEGAN = time.perf_counter()
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import torch
from torch.nn.functional import interpolate
from torchvision.models import resnet50
from torchvision.models.detection import FasterRCNN
from torchvision.models.detection.backbone_utils import _resnet_fpn_extractor
from torchvision.ops.misc import FrozenBatchNorm2d

from detector_peer.pictures import Pictures

TRAINED_STAGES = 3
CLASSES = 81


def network(image):
    """Detectron's numbers of proposals and of RoIs, which configs/detection has."""
    body = resnet50(weights=None, norm_layer=FrozenBatchNorm2d)
    return FasterRCNN(_resnet_fpn_extractor(body, TRAINED_STAGES), CLASSES, min_size=image,
                      max_size=image, _skip_resize=True, rpn_pre_nms_top_n_train=2000,
                      rpn_post_nms_top_n_train=2000, rpn_batch_size_per_image=256,
                      box_batch_size_per_image=512)


class Steps:
    def __init__(self, args):
        self.net = network(args.image).train()
        self.net.backbone.body.load_state_dict(torch.load(f"{args.folder}/body.pt"), strict=False)
        layout = torch.contiguous_format if args.contiguous else torch.channels_last
        self.net.to(memory_format=layout)
        if args.compiled == "body":
            self.net.backbone = torch.compile(self.net.backbone)
        self.forward = torch.compile(self.net) if args.compiled == "whole" else self.net
        trained = [each for each in self.net.parameters() if each.requires_grad]
        self.optimizer = torch.optim.SGD(trained, 1e-4, 0.9, weight_decay=1e-4)
        self.batches = self.batches_of(args)

    def batches_of(self, args):
        """Pictures enlarged to the side of the network's, with values from 0 to 1, as it expects."""
        pictures = Pictures(f"{args.folder}/pictures")
        for images, targets in pictures.steps(args.batch, False, 1):
            factor = args.image / images[0].shape[1]
            images = [interpolate(each[None].flip(1) / 255, size=(args.image, args.image),
                                  mode="bilinear")[0] for each in images]
            yield images, [each | {"boxes": each["boxes"] * factor} for each in targets]

    def step(self):
        images, targets = next(self.batches)
        start = time.perf_counter()
        self.optimizer.zero_grad(set_to_none=True)
        loss = sum(self.forward(images, targets).values())
        loss.backward()
        self.optimizer.step()
        if not torch.isfinite(loss):
            sys.exit(f"stepping: the loss is {loss.item()}")
        return time.perf_counter() - start


def say(**what):
    print(json.dumps(what), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("batch", type=int)
    parser.add_argument("--image", type=int, required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--compiled", choices=["whole", "body"])
    parser.add_argument("--contiguous", action="store_true")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(1)
    steps = Steps(args)
    for _ in range(2):  # PyTorch and its compiler prepare themselves
        steps.step()
    say(first=time.perf_counter() - BEGAN)
    for line in sys.stdin:
        seconds = [steps.step() for _ in range(int(line))]
        say(seconds=seconds, most_bytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)


main()
