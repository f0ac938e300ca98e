# SPDX-License-Identifier: Apache-2.0
"""Exported detectors of every family: the Python code of docs/detection.md prepares pictures of odd
sizes from a file's metadata alone, and ONNX Runtime finds in them the boxes, scores, classes,
counts, masks and points of `lockstep infer`, or of `lockstep test` for a network with given
proposals.

    check_exported.py LOCKSTEP FOLDER CONFIGS DOCUMENT [--pictures N] [NAME...]

Exit code 77: ONNX Runtime, PIL, pycocotools or safetensors is not installed.
"""
import argparse
import contextlib
import functools
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

try:
    import numpy as np
    import onnx
    import onnxruntime
    import PIL.Image
    import safetensors.numpy

    from exported_shapes import Excused, shapes_differ
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

LIMIT = 1e-4  # of a score, and of a coordinate per pixel of the picture's longer side
FAMILIES = ["faster_rcnn_fpn", "faster_rcnn_c4", "retinanet_fpn", "rpn_fpn", "fast_rcnn_fpn", "rfcn",
            "mask_rcnn_fpn", "mask_rcnn_c4", "keypoint_rcnn_fpn"]
TAKE_PROPOSALS = ["fast_rcnn_fpn", "rfcn"]
KINDS_OF_NETWORKS = {"retinanet_fpn": "retinanet", "rfcn": "rfcn"}
SIZES = [(97, 151), (203, 120), (64, 65), (131, 131), (77, 240), (301, 99)]
KINDS = ["disc", "box", "triangle", "arrow"]
POINTS = ["low left", "low right", "high right", "high left", "middle"]  # of an arrow
# A family without a file of its own: the file that it extends, and the keys.
EXTENDED = {"mask_rcnn_c4": ("faster_rcnn_c4", {
    "MODEL.MASK_ON": "true", "MRCNN.ROI_MASK_HEAD": "mask_rcnn_heads.mask_rcnn_fcn_head_v0upshare",
    "MRCNN.ROI_XFORM_SAMPLING_RATIO": "2", "MRCNN.DILATION": "1", "MRCNN.DIM_REDUCED": "32",
    "MRCNN.CONV_INIT": "MSRAFill"})}
ITERATIONS = 40
open_session = onnxruntime.InferenceSession


def draw(rng, high, wide):
    """A picture with boxes of one colour, and the boxes."""
    pixels = rng.integers(0, 90, (high // 8 + 1, wide // 8 + 1, 3)).repeat(8, 0).repeat(8, 1)[:high, :wide]
    boxes = []
    for _ in range(int(rng.integers(1, 5))):
        size = rng.uniform(0.2, 0.6, 2) * (wide, high)
        low = rng.uniform(0, 1, 2) * ((wide, high) - size)
        left, top, right, bottom = np.rint([*low, *(low + size)]).astype(int)
        pixels[top:bottom, left:right] = rng.integers(90, 256, 3)
        boxes.append([left, top, right, bottom])
    return pixels.astype(np.uint8), np.float32(boxes)


def write_set(folder, count):
    """Pictures and their annotations."""
    rng = np.random.default_rng(5)
    said = {"images": [], "annotations": [],
            "categories": [{"id": i + 1, "name": name} for i, name in enumerate(KINDS)]}
    said["categories"][-1] |= {"keypoints": POINTS, "keypoint_sigmas": [0.05] * len(POINTS)}
    (folder / "photos").mkdir(parents=True)
    for number in range(count):
        high, wide = SIZES[number % len(SIZES)] + rng.integers(0, 1 + number // len(SIZES) * 7, 2)
        pixels, boxes = draw(rng, int(high), int(wide))
        name = f"{number:03}.png"
        PIL.Image.fromarray(pixels).save(folder / "photos" / name)
        said["images"].append({"id": number + 1, "file_name": name, "height": int(high), "width": int(wide)})
        for left, top, right, bottom in boxes.tolist():
            kind = int(rng.integers(1, 5))
            middle = [(left + right) / 2, (top + bottom) / 2]
            said["annotations"].append({
                "id": len(said["annotations"]) + 1, "image_id": number + 1, "category_id": kind,
                "iscrowd": 0, "bbox": [left, top, right - left, bottom - top],
                "area": (right - left) * (bottom - top) / 2,
                "segmentation": [[left, bottom, right, bottom, middle[0], top]]})  # a triangle
            if KINDS[kind - 1] == "arrow":
                points = [[left, bottom], [right, bottom], [right, top], [left, top], middle]
                said["annotations"][-1] |= {"num_keypoints": len(points),
                                            "keypoints": [x for at in points for x in [*at, 2]]}
    (folder / "photos.json").write_text(json.dumps(said))


def proposals_in(lockstep, folder, configs):
    """The proposals of a short-trained RPN, as its test writes them, by picture."""
    words = words_of(folder, configs, "rpn_fpn")
    run(lockstep, "train", *words)
    run(lockstep, "test", *words, "--out", folder / "proposals")
    file = safetensors.numpy.load_file(folder / "proposals" / "proposals.safetensors")
    boxes, first = file["boxes"], file["first"]
    chosen = []
    for name, begin, end in zip(sorted((folder / "photos").iterdir()), first, first[1:]):
        wide, high = PIL.Image.open(name).size
        one = np.clip(boxes[begin:end], 0, np.float32([wide, high, wide, high]))
        chosen.append(one[((one[:, 2:] - one[:, :2]) >= 2).all(1)])
    return chosen


def words_of(folder, configs, family):
    """A short training on the set, which is also the set of the test."""
    by_momentum = ("faster_rcnn_fpn", "fast_rcnn_fpn", "mask_rcnn_fpn", "rpn_fpn")
    rate = "0.01" if family in by_momentum else "0.001"  # of Adam
    words = ["DATASETS.photos.IMAGES", str(folder / "photos"), "DATASETS.photos.ANNOTATIONS",
             str(folder / "photos.json"), "TRAIN.DATASETS", "[photos]", "TEST.DATASETS", "[photos]",
             "DEVICES", "cpu", "SOLVER.MAX_ITER", str(ITERATIONS), "SOLVER.STEPS", "[0]",
             "SOLVER.WARM_UP_ITERS", "10", "SOLVER.BASE_LR", rate, "TRAIN.IMS_PER_BATCH", "2",
             "TRAIN.SHAPES", "1", "TEST.SCALE", "96", "TEST.MAX_SIZE", "170", "TEST.SCORE_THRESH", "0.02",
             "TEST.ITERS", "100000", "TEST.BBOX_AUG.ENABLED", "false", "TEST.KPS_AUG.ENABLED", "false",
             "DEDUP_BOXES", "0", "OUTPUT_DIR", str(folder / "runs" / family)]
    if family.startswith("retinanet"):
        words += ["RETINANET.INFERENCE_TH", "0.02"]
    if family == "rfcn":  # RoIs in the same cells have the same scores, so suppression may keep either
        words += ["TEST.NMS", "1", "TEST.SCORE_THRESH", "0.05"]
    if family in TAKE_PROPOSALS:
        file = f"[{folder / 'proposals' / 'proposals.safetensors'}]"
        words += ["TRAIN.PROPOSAL_FILES", file, "TEST.PROPOSAL_FILES", file]
    file, more = EXTENDED.get(family, (family, {}))
    return [str(configs / f"scenes_{file}.yaml"), *words, *[word for key in more.items() for word in key]]


def run(lockstep, *words):
    done = subprocess.run([lockstep, *map(str, words)], capture_output=True, text=True)
    assert done.returncode == 0, f"lockstep {' '.join(map(str, words))}\n{done.stdout}{done.stderr}"
    return done.stdout


def found_by_lockstep(lockstep, folder, family, words, trained):
    """For each picture its objects, as `infer` writes them."""
    out = folder / "seen" / family
    if family in TAKE_PROPOSALS:
        run(lockstep, "test", *words, "--out", out)
        said = json.loads((out / "bbox_photos_results.json").read_text())
        objects = {}
        for one in said:
            one["class"] = KINDS[one["category_id"] - 1]
            objects.setdefault(f"{one['image_id'] - 1:03}.png", []).append(one)
    else:
        run(lockstep, "infer", trained, folder / "photos", "--threshold", "0", "--out", out)
        objects = {pathlib.Path(said["picture"]).name: said["objects"]
                   for said in (json.loads(file.read_text()) for file in out.glob("*.json"))}
    return objects


def found_by_recipe(recipe, picture, proposals):
    """The names in the document's code after it ran, and (class, score, box) of each object."""
    scope = {"proposals": proposals}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(recipe.replace("photo.jpg", str(picture)), scope)
    results, names = scope["results"], scope["names"]
    count = int(results["count"][0])
    kinds = [names[kind - 1] for kind in results["classes"][0, :count]] if "classes" in results \
        else ["proposal"] * count
    return scope, list(zip(kinds, results["scores"][0, :count], results["boxes"][0, :count]))


def difference(ours, theirs, side, scope, excused):
    """The reason why the lists differ, or ''. Boxes of almost equal scores may change places."""
    if len(ours) != len(theirs):
        return f"{len(ours)} boxes, ONNX Runtime {len(theirs)}"
    left = list(range(len(theirs)))
    for one in ours:
        kind, score, (low, top, width, height) = one["class"], one["score"], one["bbox"]
        box = [low, top, low + width, top + height]
        near = [i for i in left if theirs[i][0] == kind and abs(theirs[i][1] - score) <= LIMIT
                and np.abs(theirs[i][2] - box).max() <= LIMIT * side]
        if not near:
            return f"ONNX Runtime has no {kind} {score:.5f} at {np.round(box, 3)}"
        left.remove(near[0])
        if why := shapes_differ(scope, one, near[0], excused):
            return f"{kind} {score:.5f} at {np.round(box, 3)}: {why}"
    return ""


def check(lockstep, folder, configs, recipe, family, proposals):
    words = words_of(folder, configs, family)
    run(lockstep, "train", *words)
    kind = KINDS_OF_NETWORKS.get(family, "generalized_rcnn")
    trained = folder / "runs" / family / "train" / "photos" / kind
    model = folder / f"{family}.onnx"
    run(lockstep, "export", trained, "--portable", "-o", model)
    onnx.checker.check_model(str(model), full_check=True)
    ours = found_by_lockstep(lockstep, folder, family, words, trained)
    recipe = recipe.replace("detector.onnx", str(model))
    # The document's code opens the file for each picture.
    onnxruntime.InferenceSession = functools.lru_cache(maxsize=1)(open_session)
    wrong, boxes, kinds, excused = [], 0, set(), Excused()
    for number, picture in enumerate(sorted((folder / "photos").iterdir())):
        seen = ours.get(picture.name, [])
        scope, theirs = found_by_recipe(recipe, picture, proposals[number])
        why = difference(seen, theirs, max(PIL.Image.open(picture).size), scope, excused)
        wrong += [f"{picture.name}: {why}"] if why else []
        boxes += len(seen)
        kinds |= {one["class"] for one in seen}
    wrong += excused.complaints()
    wrong += ["hardly anything was found: the check would be empty"] if boxes < 3 * len(proposals) else []
    shape = family.split("_")[0]
    if shape in ("mask", "keypoint") and not excused.all["pixels" if shape == "mask" else "points"]:
        wrong.append("no masks or no points were compared")
    print(f"{family}: {boxes} boxes of {len(kinds)} classes in {len(proposals)} pictures" + excused.text()
          + "".join("\n  " + line for line in wrong), flush=True)
    return not wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("lockstep", type=os.path.abspath)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("configs", type=pathlib.Path)
    parser.add_argument("document", type=pathlib.Path)
    parser.add_argument("names", nargs="*", default=FAMILIES)
    parser.add_argument("--pictures", type=int, default=len(SIZES))
    asked = parser.parse_args()
    recipe = next(code for code in re.findall(r"```python\n(.*?)```", asked.document.read_text(), re.S)
                  if '"detector.onnx"' in code)
    assert '"photo.jpg"' in recipe
    shutil.rmtree(asked.folder, ignore_errors=True)
    write_set(asked.folder, asked.pictures)
    proposals = proposals_in(asked.lockstep, asked.folder, asked.configs)
    right = [check(asked.lockstep, asked.folder, asked.configs, recipe, name, proposals)
             for name in asked.names]
    print(f"{sum(right)} of {len(right)} exported detectors agree with ONNX Runtime "
          f"{onnxruntime.__version__}")
    return 0 if all(right) else 1


if __name__ == "__main__":
    sys.exit(main())
