# SPDX-License-Identifier: Apache-2.0
"""Random and hostile sets of masks and of keypoints for check_coco.py: annotations and results."""
import copy

import numpy as np
from pycocotools import mask as runs

NAMED = {5: ["tip", "left_wing", "right_wing", "left_end", "right_end"], 17: [f"point {i}" for i in range(17)]}
COCO_SIGMAS = np.array([.26, .25, .25, .35, .35, .79, .79, .72, .72, .62, .62, 1.07, 1.07, .87, .87, .89, .89]) / 10


def short(values):
    """As COCO writes coordinates. The tenths are at the borders of the grid on which polygons are drawn."""
    return np.round(values, 1 if len(values) % 4 else 2).tolist()


def single(values):
    """Numbers of single precision, which keypoints of results have."""
    return np.asarray(values, np.float32).astype(float).tolist()


def empty_truth(random, images, categories, least, most):
    """Ids are neither dense nor in order."""
    return {"annotations": [],
            "images": [{"id": int(i), "file_name": f"{i}.jpg", "height": int(random.integers(least, most)),
                        "width": int(random.integers(least, most))}
                       for i in random.permutation(np.arange(3, 3 + 7 * images, 7))],
            "categories": [{"id": int(c), "name": f"class {c}"}
                           for c in random.permutation(np.arange(2, 2 + 3 * categories, 3))]}


def add(truth, image, category, random, crowds, **more):
    truth["annotations"].append({"id": len(truth["annotations"]) + 1, "image_id": image["id"],
                                 "category_id": category["id"], "iscrowd": int(random.random() < crowds), **more})


def star(random, height, width):
    """A polygon that may leave the picture and cross itself."""
    corners = int(random.integers(3, 12))
    angles = random.uniform(0, 2 * np.pi, corners)
    angles = angles if random.random() < 0.1 else np.sort(angles)
    radii = random.uniform(0.3, 1, corners) * random.uniform(0.05, 0.6) * min(height, width)
    x, y = random.uniform(-0.1, 1.1) * width, random.uniform(-0.1, 1.1) * height
    return short(np.stack([x + radii * np.cos(angles), y + radii * np.sin(angles)], 1).ravel())


def drawn(polygons, height, width):
    return runs.decode(runs.merge(runs.frPyObjects(polygons, height, width)))


def counts_of(bitmap):
    """Run lengths as a list, column by column."""
    flat = np.concatenate([[0], bitmap.ravel(order="F"), [0]])
    edges = np.flatnonzero(np.diff(flat))
    return np.diff(np.concatenate([[0], edges, [bitmap.size]])).tolist()[:len(edges) + (flat[-2] == 0)]


def string_of(bitmap):
    encoded = runs.encode(np.asfortranarray(bitmap.astype(np.uint8)))
    return {"size": encoded["size"], "counts": encoded["counts"].decode()}


def mask_truth(random, images, categories, objects, crowds=0.15, empty=0.03, least=20, most=160):
    truth = empty_truth(random, images, categories, least, most)
    bitmaps = []
    for image in truth["images"]:
        size = image["height"], image["width"]
        for _ in range(random.integers(0, objects + 1)):
            polygons = [star(random, *size) for _ in range(random.integers(1, 4))]
            bitmap, form = drawn(polygons, *size), random.integers(3)
            if form > 0:  # run lengths, with a hole
                bitmap = bitmap * (1 - drawn([star(random, *size)], *size))
                bitmap = bitmap * 0 if random.random() < empty else bitmap
            rows, columns = np.flatnonzero(bitmap.any(1)), np.flatnonzero(bitmap.any(0))
            box = [0, 0, 0, 0] if not rows.size else [columns[0], rows[0], columns[-1] + 1 - columns[0],
                                                      rows[-1] + 1 - rows[0]]
            segmentation = (polygons, {"size": list(size), "counts": counts_of(bitmap)}, string_of(bitmap))[form]
            add(truth, image, random.choice(truth["categories"]), random, crowds, segmentation=segmentation,
                bbox=[float(each) for each in box], area=float(bitmap.sum() * random.uniform(0.8, 1.2)))
            bitmaps.append(bitmap)
    return truth, bitmaps


def moved(random, bitmap):
    """The mask at another place, or a part of it, or more."""
    place = random.integers(-4, 5, 2) if random.random() < 0.7 else (0, 0)
    moved = np.roll(bitmap, place, (0, 1))
    if random.random() < 0.3:
        moved = moved * (random.random(moved.shape) < random.uniform(0.4, 1))
    if random.random() < 0.2:
        moved = moved | drawn([star(random, *moved.shape)], *moved.shape)
    return moved


def mask_results(random, truth, bitmaps, most, scores=None):
    results = []
    for image in truth["images"]:
        near = [i for i, each in enumerate(truth["annotations"]) if each["image_id"] == image["id"]]
        for _ in range(random.integers(0, most + 1)):
            category = random.choice(truth["categories"])["id"]
            if near and random.random() < 0.8:
                target = random.choice(near)
                bitmap = moved(random, bitmaps[target])
                category = category if random.random() < 0.1 else truth["annotations"][target]["category_id"]
            else:
                bitmap = drawn([star(random, image["height"], image["width"])], image["height"], image["width"])
                bitmap = bitmap * 0 + random.integers(2) if random.random() < 0.1 else bitmap  # nothing or all
            score = random.random() if scores is None else random.choice(scores)
            results.append({"image_id": image["id"], "category_id": category, "segmentation": string_of(bitmap),
                            "score": float(score)})
    random.shuffle(results)
    return results


def mask_sets(count):
    for seed in range(count):
        random = np.random.default_rng(5000 + seed)
        truth, bitmaps = mask_truth(random, int(random.integers(1, 8)), int(random.integers(1, 4)),
                                    int(random.integers(0, 10)))
        yield truth, mask_results(random, truth, bitmaps, int(random.integers(0, 30)),
                                  [0.1, 0.4, 0.4, 0.8] if seed % 3 == 0 else None)
    random = np.random.default_rng(6000)
    usual, bitmaps = mask_truth(random, 4, 2, 6)
    yield usual, []
    yield usual, mask_results(random, usual, bitmaps, 30, [0.5])  # all scores tie
    yield usual, [{"image_id": each["image_id"], "category_id": each["category_id"], "score": 1.0,
                   "segmentation": string_of(bitmap)} for each, bitmap in zip(usual["annotations"], bitmaps)]
    for crowds, empty, images, most in (1, 0, 4, 20), (0.5, 0.3, 4, 40), (0.2, 1, 3, 20), (0.1, 0, 1, 350):
        truth, bitmaps = mask_truth(random, images, 2, 6, crowds, empty)
        yield truth, mask_results(random, truth, bitmaps, most, [0.2, 0.5, 0.9])
    usual = copy.deepcopy(usual)
    for each in usual["annotations"]:  # sizes at the borders of small, medium and large
        each.update(area=float(random.choice([0, 1024, 1024.5, 9216, 9216.5, 1e5])), ignore=int(random.integers(2)))
    yield usual, mask_results(random, usual, mask_bitmaps(usual), 30)
    narrow, bitmaps = mask_truth(random, 5, 2, 6, least=1, most=9)
    yield narrow, mask_results(random, narrow, bitmaps, 20)


def mask_bitmaps(truth):
    sizes = {image["id"]: (image["height"], image["width"]) for image in truth["images"]}
    bitmaps = []
    for each in truth["annotations"]:
        size, given = sizes[each["image_id"]], each["segmentation"]
        if isinstance(given, list):
            bitmaps.append(drawn(given, *size))
        else:
            bitmaps.append(runs.decode(runs.frPyObjects(given, *size) if isinstance(given["counts"], list) else given))
    return bitmaps


def keypoint_truth(random, points, images, categories, objects, crowds=0.1, unmarked=0.15):
    """The last of several categories has no points."""
    truth = empty_truth(random, images, categories, 50, 400)
    with_points = truth["categories"][:max(1, categories - 1)]
    for category in with_points:
        category["keypoints"] = NAMED[points]
    for image in truth["images"]:
        for _ in range(random.integers(0, objects + 1)):
            category = random.choice(truth["categories"])
            side = np.exp(random.uniform(np.log(4), np.log(300)))
            left, top = random.uniform(-20, 300, 2)
            shape = {"bbox": [left, top, side, side * random.uniform(0.5, 2)],
                     "area": side * side * random.uniform(0.2, 1), "num_keypoints": 0}
            if "keypoints" in category:
                seen = random.integers(0, 3, points) * (random.random() >= unmarked)
                places = np.array([left, top]) + side * random.uniform(0, 1, (points, 2))
                places = np.where(seen[:, None] > 0, places, 0)
                shape["keypoints"] = short(np.concatenate([places, seen[:, None]], 1).ravel())
                shape["num_keypoints"] = int((seen > 0).sum())
            add(truth, image, category, random, crowds, **shape)
    return truth


def keypoint_results(random, truth, points, most, scores=None):
    results = []
    categories = [each["id"] for each in truth["categories"] if "keypoints" in each]
    for image in truth["images"]:
        near = [each for each in truth["annotations"] if each["image_id"] == image["id"] and "keypoints" in each]
        for _ in range(random.integers(0, most + 1)):
            category, places = random.choice(categories), random.uniform(0, 300, (points, 2))
            if near and random.random() < 0.8:
                target = random.choice(near)
                category = target["category_id"]
                spread = np.sqrt(target["area"]) * random.choice([0.003, 0.02, 0.1, 0.3])
                places = np.array(target["keypoints"]).reshape(-1, 3)[:, :2] + random.normal(0, spread, (points, 2))
            if random.random() < 0.05:
                places[:] = places[0]  # all points at one place
            score = random.random() if scores is None else random.choice(scores)
            results.append({"image_id": image["id"], "category_id": int(category), "score": float(score),
                            "keypoints": single(np.concatenate([places, np.ones((points, 1))], 1).ravel())})
    random.shuffle(results)
    return results


def sigmas_for(random, points):
    return COCO_SIGMAS if points == 17 else random.uniform(0.02, 0.1, points)


def keypoint_sets(count):
    """Yields sigmas, too."""
    for seed in range(count):
        random = np.random.default_rng(7000 + seed)
        points = 17 if seed % 2 else 5
        truth = keypoint_truth(random, points, int(random.integers(1, 8)), int(random.integers(1, 4)),
                               int(random.integers(0, 10)))
        yield truth, keypoint_results(random, truth, points, int(random.integers(0, 30)),
                                      [0.1, 0.4, 0.4, 0.8] if seed % 3 == 0 else None), sigmas_for(random, points)
    random = np.random.default_rng(8000)
    usual = keypoint_truth(random, 5, 5, 2, 6)
    sigmas = np.full(5, 0.05)
    yield usual, [], sigmas
    yield usual, keypoint_results(random, usual, 5, 60, [0.5]), sigmas  # many more than 20, all scores tie
    marked = [each for each in usual["annotations"] if "keypoints" in each]
    yield usual, [{"image_id": each["image_id"], "category_id": each["category_id"], "score": 1.0,
                   "keypoints": single(each["keypoints"])} for each in marked], sigmas
    for crowds, unmarked in (1, 0), (0.5, 0.5), (0, 1):
        truth = keypoint_truth(random, 17, 4, 1, 6, crowds, unmarked)
        yield truth, keypoint_results(random, truth, 17, 25, [0.2, 0.5, 0.9]), COCO_SIGMAS
    usual = copy.deepcopy(usual)
    for each in usual["annotations"]:  # counts that contradict the points, sizes at borders
        each.update(area=float(random.choice([0, 1024, 1024.5, 9216, 9216.5])), ignore=int(random.integers(2)))
        if "keypoints" in each:
            each["num_keypoints"] = int(random.integers(0, 3))
    yield usual, keypoint_results(random, usual, 5, 25), sigmas
