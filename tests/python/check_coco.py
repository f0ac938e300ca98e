# SPDX-License-Identifier: Apache-2.0
"""Compares scores of boxes, masks and keypoints with pycocotools: the twelve or ten numbers and the whole
arrays of precision and recall, to 1e-12, on random and on hostile sets of results. pycocotools scores the
masks and keypoints as the program has written them again. Compares recall of proposals with a few lines of
NumPy by Detectron's definition.

    check_coco.py COCO_SCORES FOLDER [RANDOM_SETS]
    check_coco.py COCO_SCORES FOLDER --time IMAGES    reads a file with this many images: seconds, memory

Exit code 77: pycocotools is not installed.
"""
import contextlib
import io
import json
import os
import re
import shutil
import subprocess
import sys

try:
    import numpy as np
    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval
    from coco_shape_sets import keypoint_sets, mask_sets
except ImportError as missing:
    print(f"skipped: {missing} (PyPI: pycocotools)")
    sys.exit(77)

LIMIT = 1e-12
KINDS = {"boxes": "bbox", "masks": "segm", "keypoints": "keypoints"}  # pycocotools' names


def box(random, side, least=1.0):
    wide, high = np.exp(random.uniform(np.log(least), np.log(side), 2))
    return [random.uniform(0, side), random.uniform(0, side), wide, high]


def data_set(random, images, categories, objects, side=200.0, crowds=0.1):
    """Ids are neither dense nor in order; annotations precede the images."""
    image_ids = random.permutation(np.arange(3, 3 + 7 * images, 7))[:images]
    category_ids = random.permutation(np.arange(2, 2 + 3 * categories, 3))
    truth = {"annotations": [], "images": [], "categories": []}
    for image in image_ids:
        truth["images"].append({"id": int(image), "file_name": f"{image}.jpg", "height": int(side),
                                "width": int(side)})
        for _ in range(random.integers(0, objects + 1)):
            x, y, w, h = box(random, side)
            truth["annotations"].append({
                "id": len(truth["annotations"]) + 1, "image_id": int(image),
                "category_id": int(random.choice(category_ids)), "bbox": [x, y, w, h],
                "area": w * h * random.uniform(0.4, 1), "iscrowd": int(random.random() < crowds)})
    truth["categories"] = [{"id": int(c), "name": f"class {c}"} for c in category_ids]
    return truth


def results_for(random, truth, boxes, scores=None):
    """Some near objects, some anywhere."""
    results = []
    categories = [c["id"] for c in truth["categories"]]
    of_image = {i["id"]: [] for i in truth["images"]}
    for each in truth["annotations"]:
        of_image[each["image_id"]].append(each)
    for image in truth["images"]:
        for _ in range(random.integers(0, boxes + 1)):
            near = of_image[image["id"]]
            if near and random.random() < 0.7:
                target = near[random.integers(len(near))]
                category = target["category_id"]
                size = np.array(target["bbox"][2:] * 2)
                place = np.array(target["bbox"]) + size * random.normal(0, 0.12, 4)
                place[2:] = np.abs(place[2:])
            else:
                category, place = int(random.choice(categories)), np.array(box(random, 200.0))
            score = random.random() if scores is None else random.choice(scores)
            results.append({"image_id": image["id"], "category_id": category,
                            "bbox": place.tolist(), "score": float(score)})
    random.shuffle(results)
    return results


def hostile_sets(random):
    few, many = [0.5], [0.2, 0.5, 0.9]
    usual = data_set(random, 6, 3, 6)
    yield usual, results_for(random, usual, 30, few)  # all scores tie
    yield usual, results_for(random, usual, 30, many)
    yield usual, []
    empty = data_set(random, 4, 3, 0)
    yield empty, results_for(random, empty, 5)
    crowded = data_set(random, 5, 2, 6, crowds=1.0)
    yield crowded, results_for(random, crowded, 20)
    crowded = data_set(random, 5, 2, 8, crowds=0.5)
    yield crowded, results_for(random, crowded, 40, many)
    yield usual, results_for(random, usual, 400)  # far more than 100 per image
    one_class = data_set(random, 3, 1, 5)
    yield one_class, results_for(random, one_class, 300, many)
    large = data_set(random, 4, 2, 5, side=4000.0)
    yield large, results_for(random, large, 20)
    tiny = data_set(random, 4, 2, 8, side=12.0)
    yield tiny, results_for(random, tiny, 20)
    odd = data_set(random, 4, 2, 8)
    for each in odd["annotations"]:  # sizes at the borders of small, medium and large
        each["area"] = float(random.choice([0, 1024, 1024.5, 9216, 9216.5, 1e5]))
    yield odd, results_for(random, odd, 30)
    twins = data_set(random, 3, 1, 4)
    twins["annotations"] = [dict(each, id=2 * each["id"] + n) for each in twins["annotations"] for n in (0, 1)]
    yield twins, [{"image_id": each["image_id"], "category_id": each["category_id"],
                   "bbox": each["bbox"], "score": 0.7} for each in twins["annotations"][::2]]
    yield usual, [{"image_id": each["image_id"], "category_id": each["category_id"],
                   "bbox": each["bbox"], "score": 1.0} for each in usual["annotations"]]
    flat = results_for(random, usual, 20)
    for each in flat[::3]:
        each["bbox"][2] = 0.0  # without area
    yield usual, flat
    lone = data_set(random, 1, 5, 3)
    yield lone, results_for(random, lone, 60, [0.0, 1.0])


def by_pycocotools(truth, results, kind, sigmas):
    with contextlib.redirect_stdout(io.StringIO()):
        data = COCO()
        data.dataset = truth
        data.createIndex()
        found = data.loadRes(results) if results else COCO()
        if not results:
            found.dataset = dict(truth, annotations=[])
            found.createIndex()
        evaluation = COCOeval(data, found, KINDS[kind])
        if sigmas is not None:
            evaluation.params.kpt_oks_sigmas = np.asarray(sigmas)
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
    return np.concatenate([evaluation.stats, evaluation.eval["precision"].ravel(), evaluation.eval["recall"].ravel()])


def proposal_recall(truth, results, limit=100):
    ranges = [(0, 1e10), (0, 32**2), (32**2, 96**2), (96**2, 1e10)]
    answer = []
    for low, high in ranges:
        covered, count = [], 0
        for image in truth["images"]:
            objects = [a["bbox"] for a in truth["annotations"] if a["image_id"] == image["id"]
                       and not a["iscrowd"] and low <= a["area"] <= high]
            count += len(objects)
            boxes = sorted((r for r in results if r["image_id"] == image["id"]),
                           key=lambda r: -r["score"])[:limit]
            if not objects or not boxes:
                continue
            a, b = np.array([r["bbox"] for r in boxes]), np.array(objects)
            least = np.maximum(a[:, None, :2], b[None, :, :2])
            most = np.minimum((a[:, :2] + a[:, 2:])[:, None], (b[:, :2] + b[:, 2:])[None])
            both = np.prod(np.clip(most - least, 0, None), -1)
            union = np.prod(a[:, 2:], -1)[:, None] + np.prod(b[:, 2:], -1)[None] - both
            overlaps = np.where(both > 0, both / np.where(union > 0, union, 1), 0)
            for _ in range(min(overlaps.shape)):
                row, column = np.unravel_index(overlaps.argmax(), overlaps.shape)
                covered.append(overlaps[row, column])
                overlaps[row, :] = overlaps[:, column] = -1
        steps = [0.5 + 0.05 * i for i in range(10)]
        answer.append(np.mean([np.sum(np.array(covered) >= t) / count for t in steps]) if count else -1)
    return np.array(answer)


def recall_by_class(truth, results):
    """The mean over the categories that have objects of an area."""
    recalls = np.array([proposal_recall(
        {**truth, "annotations": [a for a in truth["annotations"] if a["category_id"] == c["id"]]}, results)
        for c in truth["categories"]]).reshape(-1, 4)
    counted = (recalls >= 0).sum(0)
    return np.where(counted > 0, np.where(recalls < 0, 0, recalls).sum(0) / np.maximum(counted, 1), -1)


def box_sets(count):
    for seed in range(count):
        random = np.random.default_rng(seed)
        truth = data_set(random, int(random.integers(1, 8)), int(random.integers(1, 5)),
                         int(random.integers(0, 9)))
        yield truth, results_for(random, truth, int(random.integers(0, 30)),
                                 [0.1, 0.4, 0.4, 0.8] if seed % 3 == 0 else None)
    yield from hostile_sets(np.random.default_rng(1000))


def check(program, folder, count):
    for kind, sets in ("boxes", box_sets), ("masks", mask_sets), ("keypoints", keypoint_sets):
        check_kind(program, f"{folder}/{kind}", kind, list(sets(count)), count)


def check_kind(program, folder, kind, sets, count):
    """`sets` are truth, results and, of keypoints, sigmas; `count` of them are random."""
    os.makedirs(folder)
    for n, (truth, results, *sigmas) in enumerate(sets):
        for name, content in ("truth", truth), ("results", results):
            with open(f"{folder}/{n}.{name}.json", "w") as file:
                json.dump(content, file)
        if sigmas:
            np.asarray(sigmas[0]).tofile(f"{folder}/{n}.sigmas")
    subprocess.run([program, kind, folder, str(len(sets))], check=True)
    worst, numbers = 0.0, 0
    for n, (truth, results, *sigmas) in enumerate(sets):
        with open(f"{folder}/{n}.again.json") as file:
            again = json.load(file)
        if again != results:
            sys.exit(f"{kind}, set {n}: written results differ from the results that were read")
        theirs = by_pycocotools(truth, again, kind, *(sigmas or [None]))
        if kind == "boxes":
            theirs = np.concatenate([theirs, proposal_recall(truth, results), recall_by_class(truth, results)])
        ours = np.fromfile(f"{folder}/{n}.scores")
        if ours.shape != theirs.shape:
            sys.exit(f"{kind}, set {n}: {ours.shape} numbers, pycocotools has {theirs.shape}")
        apart = np.abs(ours - theirs)
        if not apart.max() <= LIMIT:
            sys.exit(f"{kind}, set {n}: number {apart.argmax()} is {ours[apart.argmax()]}, pycocotools says "
                     f"{theirs[apart.argmax()]}")
        worst, numbers = max(worst, apart.max()), numbers + ours.size
    print(f"{kind}: {count} random and {len(sets) - count} hostile sets, {numbers} numbers: at most {worst:.1e} apart")


def time_large(program, folder, images):
    random = np.random.default_rng(7)
    truth = {"images": [], "annotations": [], "categories": [{"id": c, "name": f"c{c}"} for c in range(1, 81)]}
    results = []
    for i in range(images):
        truth["images"].append({"id": i, "file_name": f"{i:012}.jpg", "height": 480, "width": 640})
        for _ in range(8):
            x, y, w, h = box(random, 200.0)
            outline = np.round(np.tile([x, y], 20) + random.uniform(0, 50, 40), 2).tolist()
            truth["annotations"].append({
                "id": len(truth["annotations"]) + 1, "image_id": i, "category_id": int(random.integers(1, 81)),
                "bbox": [x, y, w, h], "area": w * h, "iscrowd": 0, "segmentation": [outline]})
        if i < 5000:  # only the first images have results
            places = np.round(random.uniform(1, 200, (100, 4)), 2).tolist()
            kinds, scores = random.integers(1, 81, 100).tolist(), random.random(100).tolist()
            results += [{"image_id": i, "category_id": c, "bbox": b, "score": s}
                        for b, c, s in zip(places, kinds, scores)]
    for name, content in ("truth", truth), ("results", results):
        with open(f"{folder}/{name}.json", "w") as file:
            json.dump(content, file)
    print(f"{os.path.getsize(folder + '/truth.json') / 1e6:.0f} MB")
    report = subprocess.run([program, "--time", f"{folder}/truth.json", f"{folder}/results.json"], check=True,
                            stdout=subprocess.PIPE, text=True).stdout
    print(report, end="")
    kibibytes, most = int(re.search(r"at most (\d+) kB", report)[1]), images * 10 + 32 * 1024
    if kibibytes > most:  # 1 GiB for 100,000 images
        sys.exit(f"reading took {kibibytes} KiB, should take {most} at most")


def main():
    program, folder, *rest = sys.argv[1:]
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    if rest[:1] == ["--time"]:
        time_large(program, folder, int(rest[1]))
    else:
        check(program, folder, int(rest[0]) if rest else 300)
    shutil.rmtree(folder)


main()
