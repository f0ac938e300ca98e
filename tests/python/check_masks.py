# SPDX-License-Identifier: Apache-2.0
"""Compares masks as run lengths with pycocotools, byte for byte: polygons drawn, bitmaps, areas, boxes, unions and
intersections, overlaps, and the masks of annotations. Compares mirrored masks with mirrored bitmaps.

    check_masks.py COCO_MASKS FOLDER [POLYGONS]

Exit code 77: pycocotools is not installed.
"""
import contextlib
import io
import json
import os
import shutil
import subprocess
import sys

try:
    import numpy as np
    from pycocotools import mask as coco_mask
    from pycocotools.coco import COCO
except ImportError as missing:
    print(f"skipped: {missing} (PyPI: pycocotools)")
    sys.exit(77)

IN_A_CASE = 10


def polygon(random, height, width, n):
    """Within the picture or far outside, on pixels' edges, with decimals as in COCO, with repeated points."""
    points = random.uniform(0, 1, (int(random.integers(3, 15)), 2)) * [width, height]
    kind = n % 8
    if kind == 0:
        points = random.uniform(-0.5, 1.5, points.shape) * [width, height]
    elif kind == 1:
        points = np.round(points)
    elif kind == 2:
        points = np.round(points, 2)
    elif kind == 3:
        points = np.round(points, 1)  # five times these are the halves at which pycocotools rounds
    elif kind == 4:
        points = np.clip(np.round(1.3 * points), 0, [width, height])
    elif kind == 5:
        points = points * random.choice([10, 1000]) - max(height, width)
    elif kind == 6:
        points[1], points[-1] = points[0], points[0]
    elif kind == 7:  # a star around a centre, as most objects are
        angles = np.sort(random.uniform(0, 2 * np.pi, len(points)))
        radii = random.uniform(0.2, 0.6, (len(points), 1)) * [width, height]
        points = np.stack([np.cos(angles), np.sin(angles)], 1) * radii + [width / 2, height / 2]
    return points.ravel().tolist()


def bitmap(random, height, width, n):
    kind = n % 8
    rows, columns = np.mgrid[:height, :width]
    if kind == 0:
        return np.full((height, width), n // 8 % 2, np.uint8)
    if kind == 1:
        return ((rows + columns) % 2).astype(np.uint8)
    if kind == 2:
        return ((rows % 2 == 0) | (columns % 2 == 0)).astype(np.uint8)  # holes of one pixel
    if kind == 3:
        return ((rows == 0) | (columns == 0) | (rows == height - 1) | (columns == width - 1)).astype(np.uint8)
    if kind == 4:
        radius = random.uniform(1, max(height, width))
        return (np.hypot(rows - height / 2, columns - width / 3) < radius).astype(np.uint8)
    return (random.random((height, width)) < random.random()).astype(np.uint8)


def size_of(random, n):
    most = 4 if n % 9 == 0 else 70
    return [int(side) for side in random.integers(1, most, 2)]


def cases_of(random, count):
    cases = []
    for n in range(0, count, IN_A_CASE):
        height, width = size_of(random, n // IN_A_CASE)
        bitmaps = [bitmap(random, height, width, n + i) for i in range(IN_A_CASE)]
        cases.append({"size": [height, width],
                      "polygons": [polygon(random, height, width, n + i) for i in range(IN_A_CASE)],
                      "bitmaps": ["".join(map(str, each.ravel())) for each in bitmaps],
                      "crowd": random.integers(0, 2, IN_A_CASE).tolist()})
    return cases


def annotations(random, count):
    """Objects of several polygons, run lengths as lists and strings, crowds of both."""
    truth = {"images": [], "categories": [{"id": 1, "name": "thing"}], "annotations": []}
    for n in range(count):
        height, width = size_of(random, n)
        truth["images"].append({"id": n, "file_name": f"{n}.jpg", "height": height, "width": width})
        pixels = np.asfortranarray(bitmap(random, height, width, n))
        runs = np.diff(np.flatnonzero(np.diff(pixels.ravel("F"), prepend=0, append=2)), prepend=0)
        text = coco_mask.encode(pixels)["counts"].decode()
        for shape in ([polygon(random, height, width, n + i) for i in range(1 + n % 3)],
                      {"size": [height, width], "counts": runs.tolist()}, {"size": [height, width], "counts": text}):
            truth["annotations"].append({"id": len(truth["annotations"]) + 1, "image_id": n, "category_id": 1,
                                         "bbox": [0, 0, 1, 1], "area": 1, "iscrowd": n % 2, "segmentation": shape})
    return truth


def expect(ours, theirs, what):
    if ours != theirs:
        sys.exit(f"{what}: {str(ours)[:300]}\npycocotools says {str(theirs)[:300]}")


def strings(masks):
    return [each["counts"].decode() for each in masks]


def compare_case(ours, case, n):
    height, width = case["size"]
    drawn = [coco_mask.frPyObjects([each], height, width)[0] for each in case["polygons"]]
    for i, (text, theirs) in enumerate(zip(ours["polygons"], strings(drawn), strict=True)):
        expect(text, theirs, f"case {n}, polygon {i} of {height} x {width}: {case['polygons'][i]}")
    pixels = [np.array(list(each), np.uint8).reshape(height, width) for each in case["bitmaps"]]
    masks = [coco_mask.encode(np.asfortranarray(each)) for each in pixels]
    of = ours["bitmaps"]
    expect(of["masks"], strings(masks), f"case {n}, masks")
    expect(of["bitmaps"], case["bitmaps"], f"case {n}, bitmaps")
    expect(of["rings"], strings(masks), f"case {n}, rings")
    expect(of["areas"], coco_mask.area(masks).tolist(), f"case {n}, areas")
    expect(of["boxes"], coco_mask.toBbox(masks).tolist(), f"case {n}, boxes")
    expect(of["joined"], coco_mask.merge(masks)["counts"].decode(), f"case {n}, union")
    expect(of["common"], coco_mask.merge(masks, intersect=True)["counts"].decode(), f"case {n}, intersection")
    expect(of["overlaps"], coco_mask.iou(masks, masks, case["crowd"]).ravel().tolist(), f"case {n}, overlaps")
    mirrored = [coco_mask.encode(np.asfortranarray(each[:, ::-1])) for each in pixels]
    expect(of["mirrored"], strings(mirrored), f"case {n}, mirrored")


def main():
    program, folder, *rest = sys.argv[1:]
    count = int(rest[0]) if rest else 2000
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    random = np.random.default_rng(5)
    cases, truth = cases_of(random, count), annotations(random, count // 10)
    for name, content in ("cases", cases), ("truth", truth):
        with open(f"{folder}/{name}.json", "w") as file:
            json.dump(content, file)
    subprocess.run([program, folder], check=True)
    with open(f"{folder}/masks.json") as file:
        ours = json.load(file)
    for n, (each, case) in enumerate(zip(ours["cases"], cases, strict=True)):
        compare_case(each, case, n)
    with contextlib.redirect_stdout(io.StringIO()):
        data = COCO(f"{folder}/truth.json")
    for each in truth["annotations"]:
        theirs = data.annToRLE(each)["counts"]
        theirs = theirs.decode() if isinstance(theirs, bytes) else theirs
        expect(ours["objects"][str(each["id"])], [theirs, theirs], f"annotation {each['id']}")
    print(f"{count} polygons, {count} masks, {len(truth['annotations'])} annotations: the same bytes")
    shutil.rmtree(folder)


main()
