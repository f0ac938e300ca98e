# SPDX-License-Identifier: Apache-2.0
"""Writes tests/detection/merged_shapes_cases.json: outputs of a mask head and of a keypoint head for the boxes of a
picture in several views, and the masks and heatmaps that Detectron's rules (TEST.MASK_AUG, TEST.KPS_AUG) make of them,
computed here with NumPy.

    merged_shapes_cases.py FILE          writes the file
    merged_shapes_cases.py FILE --check  compares the file with what would be written

Boxes are half-open. Exit code 77: NumPy is not installed.
"""
import itertools
import json
import sys

try:
    import numpy as np
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

SCALE, LONGEST = 60, 100  # of the plain view
SIDE, KEYPOINTS = 3, 4    # of masks and heatmaps
BOXES = [[1, 2, 21, 32], [5, 5, 55, 45], [0, 0, 30, 20], [10, 0, 90, 70]]
KINDS = [1, 2, 2, 3]
PAIRS = [None, [[0, 2]], []]  # of classes 1, 2, 3; objects of class 1 have no points
SETS = {
    "none": {"enabled": False},
    "alone": {"enabled": True},
    "flip": {"enabled": True, "h_flip": True},
    "scales": {"enabled": True, "scales": [40, 60, 90], "max_size": 200, "scale_h_flip": True},
    "all": {"enabled": True, "h_flip": True, "scales": [40, 90], "max_size": 200, "aspect_ratios": [1.5],
            "aspect_ratio_h_flip": True},
    "twice": {"enabled": True, "h_flip": True, "scales": [SCALE], "max_size": LONGEST},
}


def views_of(rules):
    """(scale, longest, widening, mirrored) of each view, in Detectron's order: the plain view first."""
    views = [(SCALE, LONGEST, 1, False)]
    if not rules["enabled"]:
        return views
    if rules.get("h_flip"):
        views.append((SCALE, LONGEST, 1, True))
    for scale in rules.get("scales", []):
        views.append((scale, rules["max_size"], 1, False))
        if rules.get("scale_h_flip"):
            views.append((scale, rules["max_size"], 1, True))
    for ratio in rules.get("aspect_ratios", []):
        views.append((SCALE, LONGEST, ratio, False))
        if rules.get("aspect_ratio_h_flip"):
            views.append((SCALE, LONGEST, ratio, True))
    return views


def text_of(view):
    scale, longest, widening, mirrored = view
    return f"{scale}/{longest} x{widening}{' mirrored' if mirrored else ''}"


def all_outputs():
    """The outputs of the heads in every view: probabilities of masks and logits of heatmaps."""
    random = np.random.RandomState(3)
    outputs = {}
    for view in sorted({view for rules in SETS.values() for view in views_of(rules)}):
        masks = random.uniform(0, 1, (len(BOXES), SIDE, SIDE)).round(3)
        masks[0, 0] = [0, 1, 0.5]  # logits without a bound
        heatmaps = random.uniform(-5, 5, (len(BOXES), KEYPOINTS, SIDE, SIDE)).round(3)
        outputs[text_of(view)] = {"masks": masks, "heatmaps": heatmaps}
    return outputs


def merged_masks(outputs, rules, heuristic):
    masks = []
    for view in views_of(rules):
        mask = outputs[text_of(view)]["masks"].astype(np.float32)
        masks.append(mask[..., ::-1] if view[3] else mask)
    if not rules["enabled"]:
        return masks[0]
    if heuristic == "SOFT_AVG":
        return np.mean(masks, axis=0)
    if heuristic == "SOFT_MAX":
        return np.amax(masks, axis=0)
    with np.errstate(divide="ignore"):
        logits = [-np.log((1 - mask) / np.maximum(mask, np.float32(1e-20))) for mask in masks]
    return 1 / (1 + np.exp(-np.mean(logits, axis=0)))


def merged_heatmaps(outputs, rules, heuristic, area_th):
    """The heatmaps of each box, None without points. `area_th` is None without SCALE_SIZE_DEP."""
    join = np.amax if heuristic == "HM_MAX" else np.mean
    merged = []
    for place, ((left, top, right, bottom), kind) in enumerate(zip(BOXES, KINDS)):
        if PAIRS[kind - 1] is None:
            merged.append(None)
            continue
        x2, y2 = right - 1, bottom - 1  # Detectron's box
        large = area_th is not None and (x2 - left + 1) * (y2 - top + 1) >= area_th
        heatmaps = []
        for scale, longest, widening, mirrored in views_of(rules):
            if area_th is not None and (scale > SCALE if large else scale < SCALE):
                continue
            shown = outputs[text_of((scale, longest, widening, mirrored))]["heatmaps"][place].astype(np.float32)
            if mirrored:
                turned = shown.copy()
                for one, other in PAIRS[kind - 1]:
                    turned[one], turned[other] = shown[other], shown[one]
                shown = turned[..., ::-1]
            heatmaps.append(shown)
        merged.append(join(heatmaps, axis=0))
    return merged


def listed(numbers):
    return None if numbers is None else np.asarray(numbers, np.float64).round(6).tolist()


def all_cases(outputs):
    cases = []
    for name, heuristic in itertools.product(SETS, ["SOFT_AVG", "SOFT_MAX", "LOGIT_AVG"]):
        cases.append({"views": name, "heuristic": heuristic,
                      "masks": listed(merged_masks(outputs, SETS[name], heuristic))})
    for name, heuristic, area_th in itertools.product(SETS, ["HM_AVG", "HM_MAX"], [None, 2000]):
        used = area_th if SETS[name]["enabled"] else None
        heatmaps = merged_heatmaps(outputs, SETS[name], heuristic, used)
        cases.append({"views": name, "heuristic": heuristic, "area_th": area_th,
                      "heatmaps": [listed(each) for each in heatmaps]})
    return cases


def main():
    outputs = all_outputs()
    file = {"scale": SCALE, "longest": LONGEST, "side": SIDE, "keypoints": KEYPOINTS, "boxes": BOXES, "kinds": KINDS,
            "pairs": PAIRS, "sets": SETS,
            "outputs": {view: {name: listed(numbers) for name, numbers in heads.items()}
                        for view, heads in outputs.items()},
            "cases": all_cases(outputs)}
    if sys.argv[2:] == ["--check"]:
        with open(sys.argv[1], encoding="utf-8") as said:
            there = json.load(said)
        cases, wanted = there.pop("cases"), file.pop("cases")
        assert there == json.loads(json.dumps(file)), "the inputs of the cases have changed: write the file anew"
        assert len(cases) == len(wanted), (len(cases), len(wanted))
        for case, here in zip(cases, wanted):
            assert case.keys() == here.keys() and case["heuristic"] == here["heuristic"]
            for one, other in zip(case.get("masks", case.get("heatmaps")), here.get("masks", here.get("heatmaps"))):
                assert (one is None) == (other is None)
                assert one is None or np.allclose(one, other, rtol=0, atol=1e-5), case["heuristic"]
        print(f"{len(cases)} cases are as written")
        return
    lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in file.pop("cases"))
    with open(sys.argv[1], "w", encoding="utf-8") as out:
        out.write(json.dumps(file, separators=(",", ":"))[:-1] + ',"cases":[\n' + lines + "\n]}\n")


main()
