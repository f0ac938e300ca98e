#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Turns a pickle of proposals that Detectron wrote into a file for TRAIN.PROPOSAL_FILES and
TEST.PROPOSAL_FILES, without running anything in the pickle. Needs NumPy.

    detectron_proposals.py IN.pkl OUT.safetensors --set NAME

NAME is the data set's name in the configuration, such as coco_2014_train. Boxes become half-open:
Detectron stores the last pixel of a box. Within a picture the best come first. Exit code 2: the
file is refused, and OUT is not written.
"""
import argparse
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "weights"))
import safe_pickle
import safetensors_file
from safe_pickle import Refused

import numpy as np

FORMAT = "lockstep proposals 2"


def array_of(value, what):
    """An array, or a list of numbers."""
    if isinstance(value, safe_pickle.Made) and getattr(value, "values", None) is not None:
        return value.values
    if isinstance(value, (list, tuple)) and all(isinstance(each, (int, float)) for each in value):
        return np.array(value, dtype=np.float32)
    raise Refused(f"{what} is no array of numbers")


def id_of(value, place):
    if isinstance(value, safe_pickle.Made):
        value = getattr(value, "values", None)
        value = value.item() if value is not None and value.size == 1 else None
    if not isinstance(value, int) or isinstance(value, bool):
        raise Refused(f"the id of picture {place} is {value!r:.40}, should be a whole number")
    return value


def lists_of(saved):
    """The ids, boxes and scores of all pictures; older files call them otherwise."""
    if not isinstance(saved, dict):
        raise Refused("holds no dictionary of boxes, scores and ids")
    found = []
    for names in ("ids", "indexes"), ("boxes",), ("scores", "obn_scores"):
        name = next((name for name in names if name in saved), None)
        if name is None:
            raise Refused(f"has no {' or '.join(map(repr, names))}; it has "
                          f"{sorted(map(str, saved))[:8]}")
        values = saved[name]
        if isinstance(values, safe_pickle.Made) and name in ("ids", "indexes"):
            values = array_of(values, repr(name)).ravel().tolist()
        if not isinstance(values, (list, tuple)):
            raise Refused(f"{name!r} is no list with an entry for each picture")
        found.append(list(values))
    ids, boxes, scores = found
    if not len(ids) == len(boxes) == len(scores):
        raise Refused(f"has {len(ids)} ids, {len(boxes)} lists of boxes and {len(scores)} lists of "
                      f"scores")
    return [id_of(value, i) for i, value in enumerate(ids)], boxes, scores


def converted(saved):
    ids, all_boxes, all_scores = lists_of(saved)
    if len(set(ids)) != len(ids):
        twice = next(value for i, value in enumerate(ids) if value in ids[:i])
        raise Refused(f"has the picture {twice} twice")
    kept, first = [], [0]
    for picture, boxes, scores in zip(ids, all_boxes, all_scores):
        what = f"picture {picture}"
        boxes = array_of(boxes, f"the boxes of {what}").astype(np.float32)
        scores = array_of(scores, f"the scores of {what}").astype(np.float32).ravel()
        if boxes.size == 0:
            boxes = boxes.reshape(0, 4)
        if boxes.ndim != 2 or boxes.shape[1] != 4 or len(boxes) != len(scores):
            raise Refused(f"{what} has boxes of the shape {boxes.shape} and {len(scores)} scores; "
                          f"should have four numbers and a score for each box")
        if not (np.isfinite(boxes).all() and np.isfinite(scores).all()):
            raise Refused(f"{what} has a box or a score that is not finite")
        if (boxes[:, 2:] < boxes[:, :2]).any():
            bad = int(np.argmax((boxes[:, 2:] < boxes[:, :2]).any(axis=1)))
            raise Refused(f"{what}: box {bad} is {boxes[bad].tolist()}, whose end is before its start")
        order = np.argsort(-scores, kind="stable")
        boxes = boxes + np.array([0, 0, 1, 1], np.float32)
        kept.append((boxes[order], scores[order]))
        first.append(first[-1] + len(scores))
    if not ids:
        raise Refused("has no picture")
    return {"boxes": np.concatenate([boxes for boxes, _ in kept]),
            "scores": np.concatenate([scores for _, scores in kept]),
            "first": np.array(first, np.int64), "image_ids": np.array(ids, np.int64)}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("input", metavar="IN.pkl")
    parser.add_argument("output", metavar="OUT.safetensors")
    parser.add_argument("--set", required=True, metavar="NAME", help="the data set's name")
    arguments = parser.parse_args()
    try:
        if not arguments.output.endswith(".safetensors"):
            raise Refused(f"{arguments.output} should end with .safetensors")
        with open(arguments.input, "rb") as file:
            part = safe_pickle.Part(file, os.path.getsize(arguments.input))
            tensors = converted(safe_pickle.read(part))
        safetensors_file.write(arguments.output, tensors, {"format": FORMAT, "set": arguments.set})
    except Refused as error:
        print(f"{arguments.input}: {error}", file=sys.stderr)
        sys.exit(2)
    except OSError as error:
        print(error, file=sys.stderr)
        sys.exit(2)
    print(f"{arguments.output}: {len(tensors['boxes'])} boxes of {len(tensors['image_ids'])} pictures "
          f"of {arguments.set}")


if __name__ == "__main__":
    main()
