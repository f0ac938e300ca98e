# SPDX-License-Identifier: Apache-2.0
"""Pictures with COCO annotations in the form of torchvision's detectors, and their score."""
import contextlib
import io

import numpy
import torch
from pycocotools import mask as run_lengths
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval
from torchvision.io import ImageReadMode, decode_image

import picture_order

SIGMA = 0.05  # of every point of a scene, as `lockstep scenes` writes


def quietly(call, *words):
    with contextlib.redirect_stdout(io.StringIO()):
        return call(*words)


def pairs_of(names):
    """The place that each point takes in a mirrored picture: left_wing and right_wing change places."""
    other = {"left_": "right_", "right_": "left_"}
    swapped = [next((there + name[len(here):] for here, there in other.items()
                     if name.startswith(here)), name) for name in names]
    return [names.index(name) if name in names else place for place, name in enumerate(swapped)]


def without_box(result):
    return {key: value for key, value in result.items() if key != "bbox"}


class Pictures:
    """All pictures of a folder in memory (blue, green, red), and their boxes without crowd regions;
    for "masks" and "keypoints" also these. Pictures to train on have an object and, for keypoints, a
    labelled point."""

    def __init__(self, folder, finds="boxes"):
        self.coco, self.finds = quietly(COCO, f"{folder}/annotations.json"), finds
        categories = self.coco.dataset["categories"]
        self.categories = [each["id"] for each in categories]
        self.with_points = [each["id"] for each in categories if each.get("keypoints")]
        self.points = next((each["keypoints"] for each in categories if each.get("keypoints")), [])
        self.swap = pairs_of(self.points)
        for each in self.coco.dataset["annotations"]:  # a crowd region has no points
            each.setdefault("num_keypoints", 0)
            each.setdefault("keypoints", [0.0, 0, 0] * len(self.points))
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
            if finds == "keypoints":
                self.targets[-1]["keypoints"] = torch.tensor(
                    [each["keypoints"] for each in objects]
                ).reshape(-1, len(self.points), 3)
        self.with_objects = [n for n, target in enumerate(self.targets) if len(target["labels"])
                             and (finds != "keypoints" or target["keypoints"][:, :, 2].any())]

    def image(self, n, mirrored=False):
        image = self.images[n].float()
        return image.flip(2) if mirrored else image

    def target(self, n, mirrored):
        target, width = dict(self.targets[n]), self.images[n].shape[2]
        if self.finds == "masks":
            masks = [self.coco.annToMask(each) for each in self.coco.imgToAnns[self.ids[n]]
                     if not each["iscrowd"]]
            target["masks"] = torch.from_numpy(numpy.stack(masks))
        if mirrored:
            left, top, right, bottom = target["boxes"].unbind(1)
            target["boxes"] = torch.stack([width - right, top, width - left, bottom], 1)
        if mirrored and self.finds == "masks":
            target["masks"] = target["masks"].flip(2)
        if mirrored and self.finds == "keypoints":
            points = target["keypoints"][:, self.swap].clone()
            points[:, :, 0] = torch.where(points[:, :, 2] > 0, width - points[:, :, 0], 0)
            target["keypoints"] = points
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
        results = [{"image_id": self.ids[n], "category_id": self.categories[label - 1], "bbox": box,
                    "score": score}
                   for box, label, score in zip(boxes.tolist(), found["labels"].tolist(),
                                                found["scores"].tolist())]
        return results, self.shapes(results, found)

    def shapes(self, results, found):
        """Masks or points of detections, as results in COCO's form."""
        if self.finds == "masks":
            bits = (found["masks"][:, 0] > 0.5).to(torch.uint8).numpy()
            coded = [run_lengths.encode(numpy.asfortranarray(mask)) for mask in bits]
            return [without_box(one) | {"segmentation": mask} for one, mask in zip(results, coded)]
        if self.finds == "keypoints":
            points = found["keypoints"].flatten(1).tolist()
            return [without_box(one) | {"keypoints": of} for one, of in zip(results, points)
                    if one["category_id"] in self.with_points]
        return []

    def score(self, results, kind="bbox"):
        """AP and AP50 by pycocotools."""
        if not results:
            return 0.0, 0.0
        evaluation = COCOeval(self.coco, quietly(self.coco.loadRes, results), kind)
        if kind == "keypoints":
            evaluation.params.catIds = self.with_points
            evaluation.params.kpt_oks_sigmas = numpy.full(len(self.points), SIGMA)
        for stage in (evaluation.evaluate, evaluation.accumulate, evaluation.summarize):
            quietly(stage)
        return evaluation.stats[0], evaluation.stats[1]
