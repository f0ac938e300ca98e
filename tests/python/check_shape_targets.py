# SPDX-License-Identifier: Apache-2.0
"""Compares MaskTargets with pycocotools' drawing in the frames of random RoIs, and KeypointTargets with NumPy, by
Detectron's definitions: every pixel and every cell must be equal.

    check_shape_targets.py LOCKSTEP FOLDER [IMAGES]

Exit code 77: onnx or pycocotools is not installed.
"""
import os
import shutil
import subprocess
import sys

try:
    import numpy as np
    import onnx
    from onnx import TensorProto, helper
    from pycocotools import mask as masks
except ImportError as missing:
    print(f"skipped: {missing} (PyPI: onnx, pycocotools)")
    sys.exit(77)

OBJECTS, ROIS, KINDS = 6, 30, 5
TYPES = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.int64): TensorProto.INT64}


def run(lockstep, folder, operator, operands, attributes):
    """The result of one operator, computed by `lockstep run`."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(f"{folder}/in")
    value = lambda name, array: helper.make_tensor_value_info(name, TYPES[array.dtype], array.shape)
    node = helper.make_node(operator, list(operands), ["y"], domain="ai.lockstep", **attributes)
    graph = helper.make_graph([node], "case", [value(*each) for each in operands.items()],
                              [helper.make_tensor_value_info("y", TensorProto.INT64, None)])
    model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17),
                                                                  helper.make_opsetid("ai.lockstep", 1)])
    onnx.save(model, f"{folder}/model.onnx")
    for name, array in operands.items():
        np.save(f"{folder}/in/{name}.npy", array)
    subprocess.run([lockstep, "run", f"{folder}/model.onnx", "--inputs", f"{folder}/in", "--outputs",
                    f"{folder}/out"], check=True, capture_output=True)
    return np.load(f"{folder}/out/y.npy")


def star(random, centre, radius):
    """A polygon around a centre; some cross themselves, some have whole and repeated coordinates."""
    corners = random.integers(3, 30)
    angles = np.sort(random.uniform(0, 2 * np.pi, corners))
    if random.random() < 0.2:
        random.shuffle(angles)
    reach = random.uniform(0.2, 1, corners) * radius
    polygon = np.stack([centre[0] + reach * np.cos(angles), centre[1] + reach * np.sin(angles)], 1)
    if random.random() < 0.3:
        polygon = np.repeat(np.round(polygon), 2, 0)
    return polygon.astype(np.float32)


def drawn_in_frame(rings, roi, side):
    """Detectron's polys_to_mask_wrt_box with an inclusive box; odd rings are holes."""
    width, height = np.maximum(roi[2] - roi[0], np.float32(1)), np.maximum(roi[3] - roi[1], np.float32(1))
    mask = np.zeros((side, side), np.int64)
    for ring, polygon in rings:
        p = polygon.copy()
        p[:, 0] = (p[:, 0] - roi[0]) * np.float32(side) / width
        p[:, 1] = (p[:, 1] - roi[1]) * np.float32(side) / height
        inside = masks.decode(masks.frPyObjects([p.flatten().astype(np.float64)], side, side))[..., 0]
        mask[inside > 0] = 1 - ring % 2
    return mask


def cells(points, roi, size):
    """Detectron's keypoints_to_heatmap_labels with an inclusive box, where weight 0 is -1."""
    places = []
    for x, y, visibility in points:
        column = np.floor((x - roi[0]) * (np.float32(size) / np.maximum(roi[2] - roi[0], np.float32(1))))
        row = np.floor((y - roi[1]) * (np.float32(size) / np.maximum(roi[3] - roi[1], np.float32(1))))
        column = size - 1 if x == roi[2] else column
        row = size - 1 if y == roi[3] else row
        counts = visibility > 0 and 0 <= column < size and 0 <= row < size
        places.append(int(row * size + column) if counts else -1)
    return places


def scene(random, images):
    """RoIs near objects; the objects' rings [image][object] of (ring, polygon); their points."""
    rois = np.zeros((images, ROIS, 4), np.float32)
    matches = random.integers(-1, OBJECTS, (images, ROIS))
    points = np.zeros((images, OBJECTS, KINDS, 3), np.float32)
    rings = []
    for image in range(images):
        centres, radii = random.uniform(0, 400, (OBJECTS, 2)), np.exp(random.uniform(0.5, 5.5, OBJECTS))
        rings.append([])
        for n in range(OBJECTS):
            numbers = [[0], [0, 2], [0, 1], [0, 1, 2]][n % 4]
            rings[-1].append([(ring, star(random, centres[n], radii[n] / (1 + ring))) for ring in numbers])
            points[image, n, :, :2] = centres[n] + random.uniform(-1, 1, (KINDS, 2)) * radii[n]
            points[image, n, :, 2] = random.integers(0, 3, KINDS)
        for r in range(ROIS):
            n = max(matches[image, r], 0)
            reach = random.uniform(0.3, 1.3, 4) * radii[n]
            rois[image, r] = np.concatenate([centres[n] - reach[:2], centres[n] + reach[2:]])
        near = random.random(ROIS) < 0.3
        rois[image, near] = np.round(rois[image, near])
        # A RoI's last pixel is on a point.
        for r in range(0, ROIS, 5):
            point = points[image, max(matches[image, r], 0), 0, :2]
            rois[image, r, 2:] = np.maximum(np.round(point), np.floor(rois[image, r, :2])) + 1
            points[image, max(matches[image, r], 0), 0, :2] = np.round(point)
    rois[..., 2:] = np.maximum(rois[..., 2:], rois[..., :2] + 0.5)
    return rois, matches, rings, points


def main():
    lockstep, folder = sys.argv[1], sys.argv[2]
    images = int(sys.argv[3]) if len(sys.argv) > 3 else 40
    random = np.random.default_rng(7)
    rois, matches, rings, points = scene(random, images)
    inclusive = rois - np.float32([0, 0, 1, 1])
    most = max(sum(len(polygon) for each in of_image for _, polygon in each) for of_image in rings)
    vertices = np.zeros((images, most + 3, 2), np.float32)
    vertex_of = np.full((images, most + 3, 2), -1, np.int64)
    for image, of_image in enumerate(rings):
        at = 0
        for n in random.permutation(OBJECTS):
            for ring, polygon in of_image[n]:
                vertices[image, at:at + len(polygon)] = polygon
                vertex_of[image, at:at + len(polygon)] = n, ring
                at += len(polygon)
    wrong = set_pixels = counted = 0
    for side in (14, 28, 56):
        found = run(lockstep, folder, "MaskTargets",
                    {"rois": rois, "matches": matches, "vertices": vertices, "vertex_of": vertex_of},
                    {"resolution": side})
        for image in range(images):
            for r in range(ROIS):
                n = matches[image, r]
                expected = (np.full((side, side), -1) if n < 0 else
                            drawn_in_frame(rings[image][n], inclusive[image, r], side))
                wrong += np.count_nonzero(found[image, r] != expected)
                set_pixels += np.count_nonzero(expected == 1)
    for size in (7, 56):
        found = run(lockstep, folder, "KeypointTargets",
                    {"rois": rois, "matches": matches, "keypoints": points}, {"size": size})
        for image in range(images):
            for r in range(ROIS):
                n = matches[image, r]
                expected = [-1] * KINDS if n < 0 else cells(points[image, n], inclusive[image, r], size)
                wrong += np.count_nonzero(found[image, r] != expected)
                counted += np.count_nonzero(np.array(expected) >= 0)
    print(f"{images * ROIS} RoIs: {set_pixels} pixels set, {counted} points placed, {wrong} differ")
    return 0 if wrong == 0 and set_pixels > 0 and counted > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
