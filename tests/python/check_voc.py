# SPDX-License-Identifier: Apache-2.0
"""Compares Pascal VOC's average precision, of 11 points and below the curve, with a naive reference
on random sets, written in the layout of VOCdevkit.

    check_voc.py VOC_SCORES FOLDER [SETS]

Exit code 77: NumPy is not installed.
"""
import json
import os
import shutil
import subprocess
import sys

try:
    import numpy as np
except ImportError as missing:
    print(f"skipped: {missing} (PyPI: numpy)")
    sys.exit(77)

CLASSES = ["cup", "spoon", "fork"]
SIDE = 128


def random_box(random):
    """Whole pixels from 1, the last one included, so that both sides compute the same overlaps."""
    x, y = random.integers(1, SIDE - 20, 2)
    return [int(x), int(y), int(x + random.integers(4, 20)), int(y + random.integers(4, 20))]


def random_set(random):
    truth, found = [], []
    for image in range(int(random.integers(1, 9))):
        objects = []
        for _ in range(random.integers(0, 7)):
            objects.append({"class": int(random.integers(len(CLASSES))), "box": random_box(random),
                            "difficult": bool(random.random() < 0.2)})
        truth.append(objects)
        for _ in range(random.integers(0, 14)):
            kind, box = int(random.integers(len(CLASSES))), random_box(random)
            if objects and random.random() < 0.7:
                near = objects[random.integers(len(objects))]
                kind, box = near["class"], list(near["box"])
                box[0] += int(random.integers(-3, 4))
                box[3] += int(random.integers(-3, 4))
                box = [box[0], box[1], max(box[2], box[0]), max(box[3], box[1])]
            score = random.choice([0.1, 0.4, 0.4, 0.8]) if random.random() < 0.3 else random.random()
            found.append({"image": image, "class": kind, "box": box, "score": float(score)})
    return truth, found


def write(folder, truth, found):
    for name in "Annotations", "ImageSets/Main", "JPEGImages":
        os.makedirs(f"{folder}/{name}")
    names = [f"{7 * i + 3:06}" for i in range(len(truth))]
    with open(f"{folder}/ImageSets/Main/val.txt", "w") as file:
        file.write("".join(name + "\n" for name in names))
    for name, objects in zip(names, truth):
        open(f"{folder}/JPEGImages/{name}.jpg", "w").close()
        with open(f"{folder}/Annotations/{name}.xml", "w") as file:
            file.write(f"<annotation><filename>{name}.jpg</filename>\n<size><width>{SIDE}</width>"
                       f"<height>{SIDE}</height><depth>3</depth></size>\n")
            for each in objects:
                corners = "".join(f"<{key}>{at}</{key}>"
                                  for key, at in zip(("xmin", "ymin", "xmax", "ymax"), each["box"]))
                file.write(f"<object><name>{CLASSES[each['class']]}</name>"
                           f"<difficult>{int(each['difficult'])}</difficult>"
                           f"<bndbox>{corners}</bndbox></object>\n")
            file.write("</annotation>\n")
    results = []
    for each in found:
        x1, y1, x2, y2 = each["box"]
        results.append({"image_id": 7 * each["image"] + 3, "category_id": each["class"] + 1,
                        "bbox": [x1 - 1, y1 - 1, x2 - x1 + 1, y2 - y1 + 1], "score": each["score"]})
    with open(f"{folder}/results.json", "w") as file:
        json.dump(results, file)


def overlap(a, b):
    wide = min(a[2], b[2]) - max(a[0], b[0]) + 1
    high = min(a[3], b[3]) - max(a[1], b[1]) + 1
    if wide <= 0 or high <= 0:
        return 0
    size = [(c[2] - c[0] + 1) * (c[3] - c[1] + 1) for c in (a, b)]
    return wide * high / (size[0] + size[1] - wide * high)


def precision(truth, found, kind):
    """By 11 points, and below the curve; -1 without objects."""
    wanted = sum(each["class"] == kind and not each["difficult"] for objects in truth for each in objects)
    if wanted == 0:
        return -1, -1
    taken, hits = set(), []
    for each in sorted((f for f in found if f["class"] == kind), key=lambda f: -f["score"]):
        overlaps = [overlap(each["box"], o["box"]) if o["class"] == kind else -1
                    for o in truth[each["image"]]]
        best = int(np.argmax(overlaps)) if overlaps else -1
        if best < 0 or overlaps[best] <= 0.5:
            hits.append(0)
        elif not truth[each["image"]][best]["difficult"]:
            hits.append(int((each["image"], best) not in taken))
            taken.add((each["image"], best))
    right = np.cumsum(hits)
    recall, precise = right / wanted, right / np.arange(1, len(hits) + 1)
    points = [max(precise[recall >= t], default=0) for t in np.arange(0, 1.1, 0.1)]
    area, before = 0, 0
    for i in range(len(hits)):
        area += (recall[i] - before) * precise[i:].max()
        before = recall[i]
    return sum(points) / 11, area


def main():
    program, folder = sys.argv[1:3]
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 100
    shutil.rmtree(folder, ignore_errors=True)
    sets = [random_set(np.random.default_rng(seed)) for seed in range(count)]
    for n, (truth, found) in enumerate(sets):
        write(f"{folder}/{n}", truth, found)
    subprocess.run([program, folder, str(count)], check=True)
    worst, without = 0, 0
    for n, (truth, found) in enumerate(sets):
        ours = np.fromfile(f"{folder}/{n}/scores").reshape(2, len(CLASSES))
        for kind in range(len(CLASSES)):
            theirs = precision(truth, found, kind)
            without += theirs[0] < 0
            apart = np.abs(ours[:, kind] - theirs).max()
            if not apart < 1e-12:
                sys.exit(f"set {n}, {CLASSES[kind]}: {ours[:, kind]}, should be {theirs}")
            worst = max(worst, apart)
    shutil.rmtree(folder)
    print(f"{count} sets of {len(CLASSES)} classes by both rules: at most {worst:.1e} apart; "
          f"{without} classes without objects")


main()
