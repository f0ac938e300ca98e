# SPDX-License-Identifier: Apache-2.0
"""Compares scaled pictures with PyTorch's bilinear interpolation by the same factor, to 1e-3 grey levels.

    check_picture.py PICTURE_TOOL FOLDER
    check_picture.py PICTURE_TOOL FOLDER --time    640 x 480 JPEGs to 800 x 1067: pictures per second

Exit code 77: PyTorch is not installed.
"""
import os
import shutil
import struct
import subprocess
import sys
import zlib

try:
    import numpy as np
    import torch
except ImportError as missing:
    print(f"skipped: {missing} (Debian: python3-torch)")
    sys.exit(77)

LIMIT = 1e-3
SIZES = [((48, 64), 1.6666667), ((37, 51), 1.25), ((64, 48), 0.73), ((20, 30), 3.3), ((33, 33), 1.0),
         ((50, 40), 0.31), ((1, 7), 4.0), ((9, 1), 2.5)]


def write_png(path, pixels):
    def chunk(kind, data):
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))
    height, width, _ = pixels.shape
    rows = b"".join(b"\0" + pixels[y].tobytes() for y in range(height))
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
                   + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def main():
    program, folder, *rest = sys.argv[1:]
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    random = np.random.default_rng(3)
    pictures = []
    for n, ((height, width), scale) in enumerate(SIZES):
        pixels = random.integers(0, 256, (height, width, 3), dtype=np.uint8)
        pictures.append(pixels)
        write_png(f"{folder}/{n}.png", pixels)
        with open(f"{folder}/{n}.scale", "w") as file:  # PyTorch rounds sizes down
            file.write(f"{scale!r} {int(height * scale)} {int(width * scale)}\n")
    subprocess.run([program, folder, str(len(SIZES))], check=True)
    worst = 0.0
    for n, (pixels, (_, scale)) in enumerate(zip(pictures, SIZES)):
        blue_first = torch.from_numpy(pixels[..., ::-1].astype(np.float64)).permute(2, 0, 1)[None]
        theirs = torch.nn.functional.interpolate(blue_first, scale_factor=scale, mode="bilinear",
                                                 align_corners=False, recompute_scale_factor=False)[0].numpy()
        ours = np.fromfile(f"{folder}/{n}.floats", np.float32).reshape(theirs.shape)
        worst = max(worst, np.abs(ours - theirs).max())
    if not worst <= LIMIT:
        sys.exit(f"{worst} grey levels apart")
    print(f"{len(SIZES)} pictures, at most {worst:.1e} grey levels apart")
    if rest == ["--time"]:
        from torchvision.io import write_jpeg
        smooth = torch.nn.functional.interpolate(torch.rand(1, 3, 30, 40), size=(480, 640), mode="bicubic")
        noisy = (smooth[0] * 230 + torch.rand(3, 480, 640) * 20).clamp(0, 255).to(torch.uint8)
        write_jpeg(noisy, f"{folder}/large.jpg", quality=90)
        subprocess.run([program, "--time", f"{folder}/large.jpg", "800", "1333"], check=True)
    shutil.rmtree(folder)


main()
