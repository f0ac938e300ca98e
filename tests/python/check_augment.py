# SPDX-License-Identifier: Apache-2.0
"""Compares every operation of RandAugment, at every magnitude and both signs, and turns of the hue with
torchvision's functions for PIL images, to the bit.

    check_augment.py AUGMENT_TOOL FOLDER

Exit code 77: torchvision or PIL is not installed.
"""
import os
import shutil
import subprocess
import sys

try:
    import numpy as np
    from PIL import Image
    from torchvision.transforms import InterpolationMode, RandAugment
    from torchvision.transforms import functional as F
    from torchvision.transforms.autoaugment import _apply_op
except ImportError as missing:
    print(f"skipped: {missing} (Debian: python3-torchvision)")
    sys.exit(77)

SIZES = [(37, 51), (32, 32), (20, 64), (5, 4), (3, 3), (2, 7), (1, 1)]  # height, width
TURNS = [-0.5, -0.31, -0.1, -0.004, 0.0, 0.05, 0.2, 0.499, 0.5]


def pictures():
    random = np.random.default_rng(5)
    for height, width in SIZES:
        noise = random.integers(0, 256, (height, width, 3), dtype=np.uint8)
        down, across = np.mgrid[0:height, 0:width]
        smooth = np.stack([40 + 3 * down + across, 200 - 2 * down, 90 + (down * across) % 60], 2).clip(0, 255)
        for pixels in (noise, smooth.astype(np.uint8), np.full((height, width, 3), 77, np.uint8)):
            yield pixels
            yield pixels[..., 0]
    # Every combination of 32 levels of red, green and blue: all branches of the hue.
    levels = np.round(np.linspace(0, 255, 32)).astype(np.uint8)
    yield np.stack(np.meshgrid(levels, levels, levels), 3).reshape(256, 128, 3)


def as_image(pixels):
    return Image.fromarray(pixels, "L" if pixels.ndim == 2 else "RGB")


def planes(pixels):
    return (pixels[None] if pixels.ndim == 2 else pixels.transpose(2, 0, 1)).tobytes()


def cases():
    """Yields the picture, the operation, its amount, its sign, and torchvision's picture."""
    augment = RandAugment()
    for pixels in pictures():
        image = as_image(pixels)
        space = augment._augmentation_space(31, pixels.shape[:2])
        for name, (magnitudes, signed) in space.items():
            for magnitude in range(31) if magnitudes.ndim > 0 else (9,):
                amount = float(magnitudes[magnitude]) if magnitudes.ndim > 0 else 0.0
                for negative in (0, 1) if signed else (0,):
                    changed = _apply_op(image, name, -amount if negative else amount,
                                        InterpolationMode.NEAREST, None)
                    yield pixels, name, magnitude, negative, changed
        for turn in TURNS:
            yield pixels, "Hue", turn, 0, F.adjust_hue(image, turn)


def main():
    program, folder = sys.argv[1:]
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    all_cases = list(cases())
    with open(f"{folder}/cases", "w") as file, open(f"{folder}/pictures", "wb") as before:
        for pixels, name, amount, negative, _ in all_cases:
            channels = 1 if pixels.ndim == 2 else 3
            file.write(f"{channels} {pixels.shape[0]} {pixels.shape[1]} {name} {amount!r} {negative}\n")
            before.write(planes(pixels))
    subprocess.run([program, folder], check=True)
    results = np.fromfile(f"{folder}/results", np.uint8)
    at, wrong = 0, {}
    for pixels, name, amount, negative, changed in all_cases:
        ours = results[at:at + pixels.size].tobytes()
        at += pixels.size
        if ours != planes(np.asarray(changed)):
            wrong.setdefault(name, []).append((pixels.shape, amount, negative))
    for name, places in wrong.items():
        print(f"{name}: {len(places)} pictures differ, first {places[0]}")
    if wrong or at != results.size:
        sys.exit("pictures differ from torchvision's")
    print(f"{len(all_cases)} changed pictures have torchvision's bytes")


main()
