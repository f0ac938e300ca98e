# SPDX-License-Identifier: Apache-2.0
"""Writes tests/detection/merging_cases.json: candidates of several views of a picture, and the results
that Detectron's rules choose among them, computed here with NumPy.

    merging_cases.py FILE          writes the file
    merging_cases.py FILE --check  compares the file with what would be written

Boxes are half-open; flips are computed with Detectron's inclusive boxes. Views of other aspect ratios
are scaled as half-open boxes, by the ratio of whole widths. Exit code 77: NumPy is not installed.
"""
import json
import sys

try:
    import numpy as np
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

INCLUSIVE = np.array([0, 0, -1, -1], np.float64)  # from half-open boxes
PROBABLE, LEAST_SOFT_SCORE = 0.05, 1e-4


def flipped(boxes, width):
    boxes = boxes + INCLUSIVE
    result = boxes.copy()
    result[..., 0] = width - boxes[..., 2] - 1
    result[..., 2] = width - boxes[..., 0] - 1
    return result - INCLUSIVE


def back(boxes, view, picture):
    """Boxes of a view before scaling, in the picture."""
    width = round(view["widening"] * picture[1])
    if view["mirrored"]:
        boxes = flipped(boxes, width)
    boxes = boxes.copy()
    boxes[..., [0, 2]] *= picture[1] / width
    return boxes


def overlaps(box, boxes):
    wide = np.minimum(box[2], boxes[:, 2]) - np.maximum(box[0], boxes[:, 0])
    high = np.minimum(box[3], boxes[:, 3]) - np.maximum(box[1], boxes[:, 1])
    both = np.clip(wide, 0, None) * np.clip(high, 0, None)
    areas = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    return both / ((box[2] - box[0]) * (box[3] - box[1]) + areas - both)


def suppressed(boxes, scores, rules):
    """The rows that stay, with their lowered scores."""
    scores, rest, kept = scores.copy(), list(range(len(scores))), []
    while rest:
        best = max(rest, key=lambda i: scores[i])
        rest.remove(best)
        kept.append((best, scores[best]))
        iou = dict(zip(rest, overlaps(boxes[best], boxes[rest]))) if rest else {}
        for i in list(rest):
            if iou[i] <= 0:
                continue
            factor = {"hard": float(iou[i] <= rules["overlap"]),
                      "linear": 1 - iou[i] if iou[i] > rules["overlap"] else 1.0,
                      "gaussian": np.exp(-iou[i] ** 2 / rules["sigma"])}[rules["method"]]
            scores[i] *= factor
            if scores[i] < LEAST_SOFT_SCORE:
                rest.remove(i)
    return kept


def voted(box, score, boxes, scores, rules):
    iou = overlaps(box, boxes)
    near = np.where(iou >= rules["vote_overlap"])[0]
    w, beta = scores[near], rules["vote_beta"]
    box = np.average(boxes[near], axis=0, weights=w)
    if rules["vote"] == "TEMP_AVG":
        yes, no = w ** (1 / beta), (1 - w) ** (1 / beta)
        score = np.mean(yes / (yes + no))
    elif rules["vote"] == "AVG":
        score = w.mean()
    elif rules["vote"] == "IOU_AVG":
        score = np.average(w, weights=iou[near])
    elif rules["vote"] == "GENERALIZED_AVG":
        score = np.mean(w ** beta) ** (1 / beta)
    elif rules["vote"] == "QUASI_SUM":
        score = w.sum() / len(w) ** beta
    return box, score


def results(scores, boxes, rules):
    """scores [n, classes], boxes [n, classes, 4]: rows of class, score and box, best first."""
    found = []
    for kind in range(1, scores.shape[1]):
        here = np.where(scores[:, kind] > PROBABLE)[0]
        of_class, at = boxes[here, kind], scores[here, kind]
        for i, score in suppressed(of_class, at, rules):
            box = of_class[i]
            if rules["vote"]:
                box, score = voted(box, score, of_class, at, rules)
            found.append([kind, float(score)] + [float(x) for x in box])
    found.sort(key=lambda row: -row[1])
    return found[:rules["capacity"]]


def merged(views, picture, case):
    scores = [np.array(v["scores"]) for v in views]
    boxes = [back(np.array(v["boxes"]), v, picture) for v in views]
    join = {"UNION": np.vstack, "ID": lambda each: each[-1], "AVG": lambda each: np.mean(each, axis=0)}
    return results(join[case["score_heur"]](scores), join[case["coord_heur"]](boxes), case)


def random_views(random, picture, rows, classes, same_proposals):
    high, wide = picture
    kinds = [(1, True), (1, False), (1.5, False), (1.5, True), (0.61, False), (1, False)]
    corner = np.stack([random.uniform(0, wide * 0.7, rows), random.uniform(0, high * 0.7, rows)], -1)
    side = np.stack([random.uniform(8, wide * 0.3, rows), random.uniform(8, high * 0.3, rows)], -1)
    views = []
    for widening, mirrored in kinds:
        if not same_proposals:
            corner = corner + random.normal(0, 4, corner.shape)
        shift = random.normal(0, 2, (rows, classes, 2))
        boxes = np.concatenate([corner[:, None] + shift, (corner + side)[:, None] + shift], -1)
        width = round(widening * wide)
        boxes[..., [0, 2]] *= width / wide
        if mirrored:
            boxes = flipped(boxes, width)
        scores = random.dirichlet(np.full(classes, 0.5), rows)
        views.append({"widening": widening, "mirrored": mirrored,
                      "boxes": np.round(boxes, 3).tolist(), "scores": np.round(scores, 5).tolist()})
    return views


def cases():
    random, picture = np.random.default_rng(5), (97, 131)
    sets = {"own": random_views(random, picture, 9, 3, False),
            "given": random_views(random, picture, 9, 3, True)}
    plain = {"method": "hard", "sigma": 0.5, "overlap": 0.4, "vote": "", "vote_overlap": 0.5,
             "vote_beta": 1.0, "capacity": 100}
    rules = [plain, {**plain, "method": "linear"}, {**plain, "method": "gaussian", "sigma": 0.3},
             {**plain, "vote": "ID"}, {**plain, "method": "linear", "vote": "TEMP_AVG", "vote_beta": 2.0},
             {**plain, "vote": "AVG", "capacity": 5}, {**plain, "vote": "IOU_AVG"},
             {**plain, "vote": "GENERALIZED_AVG", "vote_beta": 3.0},
             {**plain, "vote": "QUASI_SUM", "vote_beta": 0.5}]
    joins = [("own", "UNION", "UNION"), ("given", "UNION", "UNION"), ("given", "AVG", "AVG"),
             ("given", "ID", "AVG"), ("given", "AVG", "ID"), ("given", "ID", "ID")]
    listed = []
    for views, score_heur, coord_heur in joins:
        for rule in rules if score_heur != "ID" else rules[:2]:
            case = {"views": views, "score_heur": score_heur, "coord_heur": coord_heur, **rule}
            case["results"] = [[float(f"{x:.7g}") for x in row] for row in merged(sets[views], picture, case)]
            listed.append(case)
    return {"picture": picture, "classes": 3, "views": sets, "cases": listed}


def main():
    path, check = sys.argv[1], "--check" in sys.argv[2:]
    made = json.loads(json.dumps(cases()))
    if check:
        with open(path, encoding="utf-8") as file:
            stored = json.load(file)
        assert stored["views"] == made["views"] and stored["picture"] == made["picture"], "other candidates"
        assert len(stored["cases"]) == len(made["cases"]), "another number of cases"
        for one, other in zip(stored["cases"], made["cases"]):
            expected, found = one.pop("results"), other.pop("results")
            assert one == other, f"{one} and {other}"
            assert np.allclose(expected, found, rtol=1e-5, atol=1e-5), f"{one}: {expected} and {found}"
        print(f"{len(made['cases'])} cases agree")
        return
    with open(path, "w", encoding="utf-8") as file:
        file.write(json.dumps(made, separators=(",", ":")).replace('{"views":"', '\n{"views":"') + "\n")


main()
