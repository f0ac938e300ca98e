# SPDX-License-Identifier: Apache-2.0
"""One training step of small detectors: PyTorch recomputes every loss and every trained gradient from
Lockstep's weights, feeds and samples (anchors, RoIs, and the targets of masks and keypoints). Losses
agree to 1e-4, gradients to 1e-3, of networks with masks or keypoints to 1e-6 and 1e-5.

    check_detector.py DETECTOR_STEP FOLDER [NAME...]

Exit code 77: PyTorch or torchvision is not installed.
"""
import os
import subprocess
import sys

try:
    import numpy as np
    import torch

    from recomputed_detector import Recomputed
except ImportError as missing:
    print(f"skipped: {missing} (Debian: python3-torch, python3-torchvision)")
    sys.exit(77)

from small_detectors import (CLASSES, DETECTORS, IMAGES, PLACES, SIZE, initialised, options_of,
                             read_arrays, with_sizes, write_tensors)

DRAWS = 3
VERTICES, POINT_COUNT = 8192, 5  # TRAIN.VERTICES and KRCNN.NUM_KEYPOINTS


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
    if "MODEL.MASK_ON" in words:
        feeds["gt_vertices"], feeds["gt_vertex_of"] = outlines_in(boxes)
    if "MODEL.KEYPOINTS_ON" in words:
        points = boxes[:, :, None, :2] + (boxes[..., 2:] - boxes[..., :2])[:, :, None] * rng.uniform(
            -0.1, 1.1, (IMAGES, PLACES, POINT_COUNT, 2))
        seen = rng.randint(0, 3, (IMAGES, PLACES, POINT_COUNT, 1)) * (classes > 0)[..., None, None]
        feeds["gt_keypoints"] = np.concatenate([points * (seen > 0), seen], 3).astype(np.float32)
    one_stage = "RETINANET.RETINANET_ON" in words
    if not one_stage and "MODEL.RPN_ONLY" not in words and "MODEL.FASTER_RCNN" not in words:
        low = rng.uniform(0, 50, (IMAGES, 40, 2))
        proposals = np.concatenate([low, low + rng.uniform(8, 40, low.shape)], 2)
        # Some proposals are near the objects, so that there is foreground. The last rows are empty.
        proposals[:, :9] = boxes[:, :3].repeat(3, 1) + rng.uniform(-2, 2, (IMAGES, 9, 4))
        proposals[:, 35:] = 0
        feeds["proposals"] = proposals.astype(np.float32)
    return feeds


def outlines_in(boxes):
    """A triangle with a hole for each box: vertices, and the object and ring of each vertex."""
    vertices = np.zeros((IMAGES, VERTICES, 2), np.float32)
    vertex_of = np.full((IMAGES, VERTICES, 2), -1, np.int64)
    corners = np.float32([[0.05, 0], [1, 0.3], [0.4, 0.95]])
    for image in range(IMAGES):
        rings = [(row, ring) for row in range(PLACES) if boxes[image, row].any() for ring in (0, 1)]
        for i, (row, ring) in enumerate(rings):
            low, high = boxes[image, row, :2], boxes[image, row, 2:]
            inner = corners if ring == 0 else 0.45 + 0.3 * (corners - 0.45)
            vertices[image, 3 * i:3 * i + 3] = low + inner * (high - low)
            vertex_of[image, 3 * i:3 * i + 3] = row, ring
    return vertices, vertex_of


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
    if "MODEL.MASK_ON" in o:
        fetches["masks"] = "masks_int32"
    if "MODEL.KEYPOINTS_ON" in o:
        fetches.update({"rois_with_points": "rois_with_points", "points": "keypoint_locations"})
    return fetches


def limits_of(words):
    """Of losses and of gradients, relative to the largest number."""
    return (1e-6, 1e-5) if {"MODEL.MASK_ON", "MODEL.KEYPOINTS_ON"} & set(words) else (1e-4, 1e-3)


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
    loss_limit, gradient_limit = limits_of(words)
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
        if not difference <= loss_limit:
            bad.append(f"{key}: {float(ours[key])}, PyTorch {float(loss)}")
    for key, gradient in gradients.items():
        difference = relative(gradient, tensors[key].grad)
        worst["gradient"] = max(worst["gradient"], difference)
        if not difference <= gradient_limit:
            bad.append(f"{key}_grad: off by {difference:.2g}")
    objects = sum(int((value > 0).sum()) for key, value in values.items() if "labels" in key)
    if objects == 0:
        bad.append("nothing was sampled as an object: the check would be empty")
    for key in {"masks", "points"} & set(values):
        if int((values[key] > 0).sum()) < 5:
            bad.append(f"the targets of {key} are almost empty: the check would be empty")
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
