# SPDX-License-Identifier: Apache-2.0
"""Trains MODEL.TYPE unet on pictures with masks that Pillow wrote, and compares `lockstep infer` and the test's
iou with PyTorch's U-Net of the same weights.

    check_unet.py LOCKSTEP FOLDER

Exit code 77: PyTorch or Pillow is not installed.
"""
import json
import os
import shutil
import subprocess
import sys

try:
    import numpy as np
    import torch
    from PIL import Image
    from torch.nn import functional as F
except ImportError as missing:
    print(f"skipped: {missing} (Debian: python3-torch, python3-pil)")
    sys.exit(77)

SIDE, CLASSES, DEPTH = 32, 3, 2
MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
CONFIG = """THREADS: 1
MODEL: {{TYPE: unet, NUM_CLASSES: 3, WIDTH: 8, DEPTH: 2, LOSS: {{cross_entropy: {{of: scores, to: mask, ignore: 255}}}}}}
DATA: {{NAME: image_masks, ROOT: {root}, IMAGE_SIZE: 32, RESIZE: 32, CROP_SCALE: [0.7, 1]}}
TEST: {{METRICS: {{iou: {{of: scores, to: mask, ignore: 255}}}}}}
TRAIN: {{BATCH_SIZE: 8}}
SOLVER: {{TYPE: Adam, BASE_LR: 0.005, WEIGHT_DECAY: 0, WARM_UP_ITERS: 0, MAX_ITER: 60}}
"""


def write_data(root):
    """Discs and squares on noise. The border of a mask has no class; masks have a palette."""
    draws = np.random.default_rng(5)
    rows, columns = np.mgrid[0:SIDE, 0:SIDE]
    masks = {}
    for part, count in (("train", 48), ("val", 12)):
        for kind in ("images", "masks"):
            os.makedirs(f"{root}/{part}/{kind}")
        for number in range(count):
            (y, x), reach, is_disc = draws.integers(8, 24, 2), draws.integers(4, 9), draws.integers(2)
            far = np.abs(rows - y), np.abs(columns - x)
            inside = (np.hypot(*far) if is_disc else np.maximum(*far)) < reach
            mask = np.where(inside, 1 + is_disc, 0).astype(np.uint8)
            mask[0] = 255
            light = 70 + 100 * inside[..., None] + draws.integers(-40, 40, (SIDE, SIDE, 3))
            Image.fromarray(light.astype(np.uint8)).save(f"{root}/{part}/images/{number}.png")
            picture = Image.fromarray(mask, "P")
            picture.putpalette([value * 37 % 256 for value in range(768)])
            picture.save(f"{root}/{part}/masks/{number}.png")
            masks[part, number] = mask
    return masks


def weights_of(run):
    """The tensors of a checkpoint of one replica, without scopes."""
    with open(f"{run}/checkpoint.safetensors", "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        data = file.read()
    return {name.split("/")[-1]:
            torch.from_numpy(np.frombuffer(data[slice(*said["data_offsets"])], np.float32)
                             .reshape(said["shape"]).copy())
            for name, said in header.items() if name != "__metadata__" and said["dtype"] == "F32"}


def scores(w, x):
    """The network in prediction, with running statistics."""
    def twice(x, name):
        for i in (1, 2):
            x = F.conv2d(x, w[f"{name}_conv{i}_w"], padding=1)
            norm = f"{name}_norm{i}"
            x = F.relu(F.batch_norm(x, w[norm + "_rm"], w[norm + "_riv"], w[norm + "_s"], w[norm + "_b"]))
        return x

    kept = []
    for level in range(1, DEPTH + 1):
        x = twice(x, f"down{level}")
        kept.append(x)
        x = F.max_pool2d(x, 2)
    x = twice(x, "bottom")
    for level in range(DEPTH, 0, -1):
        x = F.conv_transpose2d(x, w[f"up{level}_grow_w"], w[f"up{level}_grow_b"], stride=2)
        x = twice(torch.cat([kept.pop(), x], 1), f"up{level}")
    return F.conv2d(x, w["scores_w"], w["scores_b"])


def mean_iou(pairs):
    both, either = np.zeros(CLASSES), np.zeros(CLASSES)
    for guess, truth in pairs:
        counts = truth != 255
        for label in range(CLASSES):
            a, b = (guess == label) & counts, (truth == label) & counts
            both[label] += (a & b).sum()
            either[label] += (a | b).sum()
    return (both[either > 0] / either[either > 0]).mean()


def main():
    program, folder = sys.argv[1:3]
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    root, run, out = f"{folder}/data", f"{folder}/run", f"{folder}/seen"
    masks = write_data(root)
    with open(f"{folder}/unet.yaml", "w", encoding="utf8") as file:
        file.write(CONFIG.format(root=root))
    subprocess.run([program, "train", f"{folder}/unet.yaml", "--quiet", "OUTPUT_DIR", run], check=True)
    subprocess.run([program, "infer", run, f"{root}/val/images", "--out", out], check=True,
                   stdout=subprocess.DEVNULL)
    weights = weights_of(run)
    pairs, same = [], 0
    for number in range(12):
        pixels = np.asarray(Image.open(f"{root}/val/images/{number}.png"), np.float32) / 255
        x = torch.from_numpy(((pixels - MEAN) / DEVIATION).astype(np.float32).transpose(2, 0, 1)[None])
        guess = scores(weights, x)[0].argmax(0).numpy()
        written = Image.open(f"{out}/{number}.png")
        assert written.mode == "P", written.mode
        same += (np.asarray(written) == guess).sum()
        pairs.append((guess, masks["val", number]))
    share = same / (12 * SIDE * SIDE)
    with open(f"{run}/metrics.jsonl", encoding="utf8") as file:
        tested = [row["test_iou"] for row in map(json.loads, file) if "test_iou" in row][-1]
    iou = mean_iou(pairs)
    print(f"{100 * share:.3f} % of the pixels have PyTorch's class; iou {tested:.5f}, PyTorch's {iou:.5f}")
    sys.exit(0 if share > 0.999 and abs(tested - iou) < 0.002 else 1)


main()
