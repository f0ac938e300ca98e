# SPDX-License-Identifier: Apache-2.0
"""Pictures with COCO annotations in the form of torchvision's detectors, and their score."""
import contextlib
import io

import torch
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval
from torchvision.io import ImageReadMode, decode_image

import picture_order


def quietly(call, *words):
    with contextlib.redirect_stdout(io.StringIO()):
        return call(*words)


class Pictures:
    """All pictures of a folder in memory (blue, green, red), and their boxes without crowd regions."""

    def __init__(self, folder):
        self.coco = quietly(COCO, f"{folder}/annotations.json")
        self.categories = [each["id"] for each in self.coco.dataset["categories"]]
        self.ids, self.images, self.targets = [], [], []
        for image in self.coco.dataset["images"]:
            pixels = decode_image(f"{folder}/images/{image['file_name']}", ImageReadMode.RGB)
            self.ids.append(image["id"])
            self.images.append(pixels.flip(0))
            objects = [each for each in self.coco.imgToAnns[image["id"]] if not each["iscrowd"]]
            boxes = torch.tensor([each["bbox"] for each in objects]).reshape(-1, 4)
            boxes[:, 2:] += boxes[:, :2]
            labels = [1 + self.categories.index(each["category_id"]) for each in objects]
            self.targets.append({"boxes": boxes, "labels": torch.tensor(labels, dtype=torch.int64)})
        self.with_objects = [n for n, target in enumerate(self.targets) if len(target["labels"])]

    def image(self, n, mirrored=False):
        image = self.images[n].float()
        return image.flip(2) if mirrored else image

    def target(self, n, mirrored):
        target = dict(self.targets[n])
        if mirrored:
            width = self.images[n].shape[2]
            left, top, right, bottom = target["boxes"].unbind(1)
            target["boxes"] = torch.stack([width - right, top, width - left, bottom], 1)
        return target

    def steps(self, batch, mirrored, seed):
        """Yields images and targets of each step; pictures without an object are left out."""
        for entries in picture_order.steps(len(self.with_objects), batch, mirrored, seed):
            places = [(self.with_objects[n], mirror) for n, mirror in entries]
            yield [self.image(*place) for place in places], [self.target(*place) for place in places]

    def results(self, n, found):
        """The detections of torchvision's detector in picture n, in COCO's form."""
        boxes = found["boxes"].clone()
        boxes[:, 2:] -= boxes[:, :2]
        return [{"image_id": self.ids[n], "category_id": self.categories[label - 1], "bbox": box,
                 "score": score}
                for box, label, score in zip(boxes.tolist(), found["labels"].tolist(),
                                             found["scores"].tolist())]

    def score(self, results):
        """AP and AP50 by pycocotools."""
        if not results:
            return 0.0, 0.0
        evaluation = COCOeval(self.coco, quietly(self.coco.loadRes, results), "bbox")
        for stage in (evaluation.evaluate, evaluation.accumulate, evaluation.summarize):
            quietly(stage)
        return evaluation.stats[0], evaluation.stats[1]
