# SPDX-License-Identifier: Apache-2.0
"""Compares masks and points of an exported detector with `lockstep infer`, for check_exported.py.

The reader of an exported file turns masks and heatmaps into pixels and points by the Python code of
docs/detection.md. `scope` has the names of this code after it ran on a picture.
"""
import numpy as np
from pycocotools import mask as run_lengths

NEAR = 1e-3  # of a pixel's probability to the threshold, and between a heatmap's two best cells
POINT = 0.1  # pixels
EXCUSED = 1000  # one pixel or point in so many may differ, if it is near


class Excused:
    """Counts pixels and points, and the ones that differ in a way that rounding explains."""

    def __init__(self):
        self.all, self.near = {"pixels": 0, "points": 0}, {"pixels": 0, "points": 0}

    def add(self, kind, all_of_them, near):
        self.all[kind] += all_of_them
        self.near[kind] += near

    def complaints(self):
        return [f"{self.near[kind]} of {self.all[kind]} {kind} are not equal, though near"
                for kind in self.all if self.near[kind] > max(1, self.all[kind] // EXCUSED)]

    def text(self):
        return "".join(f", {self.all[kind]} {kind} ({self.near[kind]} excused)"
                       for kind in self.all if self.all[kind])


def pixels_at(scope, mask, box, threshold):
    usual = scope["rules"]["masks"]["threshold"]
    scope["rules"]["masks"]["threshold"] = threshold
    pixels = scope["mask_of"](mask, box)
    scope["rules"]["masks"]["threshold"] = usual
    return pixels


def mask_differs(scope, said, mask, box, excused):
    """Returns the reason, or ''. Every other pixel must be near the threshold."""
    coded = {"size": said["size"], "counts": said["counts"].encode()}
    ours = run_lengths.decode(coded).astype(bool)
    theirs = scope["mask_of"](mask, box)
    if ours.shape != theirs.shape:
        return f"the mask is {ours.shape}, ONNX Runtime's {theirs.shape}"
    threshold = scope["rules"]["masks"]["threshold"]
    surely, maybe = (pixels_at(scope, mask, box, threshold + by) for by in (NEAR, -NEAR))
    wrong = int((surely & ~ours | ours & ~maybe).sum())
    if wrong:
        return f"{wrong} of {ours.sum()} pixels of the mask differ"
    excused.add("pixels", int((ours | theirs).sum()), int((ours != theirs).sum()))
    return ""


def gap_of_best(scope, heatmap, box):
    """The difference of the two largest cells of a heatmap, resampled as points_of() does."""
    side = np.maximum(1, box[2:] - box[:2] - 1)
    wide, high = np.maximum(np.ceil(side),
                            scope["rules"]["keypoints"]["inference_min_size"]).astype(int)
    for axis, size in (0, high), (1, wide):
        heatmap = scope["resampled"](heatmap, axis, size, size / heatmap.shape[axis], cubic=True)
    best = np.sort(heatmap.reshape(-1))[-2:]
    return best[-1] - best[0] if len(best) == 2 else np.inf


def points_differ(scope, said, heatmaps, box, excused):
    ours = np.reshape(said, (-1, 3))
    theirs = scope["points_of"](heatmaps, box)
    if len(ours) != len(theirs) or not (ours[:, 2] == 1).all():
        return f"the points are {ours}, ONNX Runtime's {theirs}"
    far = np.abs(ours[:, :2] - theirs).max(1) > POINT
    for n in np.flatnonzero(far):
        if gap_of_best(scope, heatmaps[n], box) > NEAR:
            return f"point {n} is {ours[n, :2]}, ONNX Runtime's {theirs[n]}"
    excused.add("points", len(ours), int(far.sum()))
    return ""


def shapes_differ(scope, said, place, excused):
    """Compares the masks and points of `said`, an object of infer, with ONNX Runtime's at `place`. A
    last bit of the box can decide a rounding, so infer's own box is tried, too."""
    results, rules = scope["results"], scope["rules"]
    left, top, width, height = said["bbox"]
    boxes = [results["boxes"][0, place], np.float32([left, top, left + width, top + height])]
    why = ""
    for key, found, differs in (("segmentation", "masks", mask_differs),
                                ("keypoints", "heatmaps", points_differ)):
        has_points = "keypoints" in rules and said["class"] in rules["keypoints"]["names"]
        expected = found in results and (key == "segmentation" or has_points)
        if expected != (key in said):
            return f"infer says {'no ' * expected}{key} of a {said['class']}"
        if expected:
            reasons = [differs(scope, said[key], results[found][0, place], boxes[0], excused)]
            if reasons[0]:
                reasons.append(differs(scope, said[key], results[found][0, place], boxes[1], excused))
            why = why or (reasons[0] if all(reasons) else "")
    return why
