# SPDX-License-Identifier: Apache-2.0
"""A network trained on images as bytes predicts from bytes in ONNX Runtime the same as `lockstep infer`
from pictures.

    check_bytes.py LOCKSTEP FOLDER      Exit code 77: no ONNX Runtime.
"""
import json
import os
import shutil
import struct
import subprocess
import sys
import zlib

try:
    import numpy as np
    import onnx
    import onnxruntime
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

SIDE, PICTURES = 28, 8


def png_of(grey):
    """Lossless, so that the program reads exactly these bytes."""
    def chunk(kind, data):
        return (struct.pack(">I", len(data)) + kind + data +
                struct.pack(">I", zlib.crc32(kind + data)))
    rows = b"".join(b"\0" + row.tobytes() for row in grey)
    header = struct.pack(">IIBBBBB", grey.shape[1], grey.shape[0], 8, 0, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) +
            chunk(b"IEND", b""))


def main():
    lockstep, folder = os.path.abspath(sys.argv[1]), sys.argv[2]
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(f"{folder}/pictures")
    with open(f"{folder}/config.yaml", "w", encoding="utf-8") as config:
        config.write("DEVICES: cpu*2\nMODEL: {TYPE: lenet}\n"
                     "DATA: {NAME: digits, TRAIN_SIZE: 400, TEST_SIZE: 100, BYTES: true}\n"
                     "SOLVER: {MAX_ITER: 30}\nTRAIN: {BATCH_SIZE: 32}\n")

    def run(*words):
        subprocess.run([lockstep, *words], cwd=folder, check=True, stdout=subprocess.DEVNULL)

    run("train", "config.yaml", "OUTPUT_DIR", "run")
    images = np.random.default_rng(1).integers(0, 256, (PICTURES, 1, SIDE, SIDE), dtype=np.uint8)
    for i, image in enumerate(images):
        with open(f"{folder}/pictures/{i}.png", "wb") as file:
            file.write(png_of(image[0]))
    run("infer", "run/model.onnx", "pictures", "--out", "seen")
    with open(f"{folder}/seen/predictions.json", encoding="utf-8") as file:
        seen = json.load(file)

    model = onnx.load(f"{folder}/run/model.onnx")
    onnx.checker.check_model(model, full_check=True)
    assert {node.domain for node in model.graph.node} == {""}, "an operator that is not ONNX's"
    classes = json.loads({p.key: p.value for p in model.metadata_props}["lockstep.classes"])
    session = onnxruntime.InferenceSession(f"{folder}/run/model.onnx")
    entry = session.get_inputs()[0]
    assert entry.type == "tensor(uint8)", entry.type
    scores = session.run(None, {entry.name: images})[0]
    most = 0.0
    for said, theirs in zip(seen, scores):
        most = max(most, max(abs(said["scores"][name] - theirs[i]) for i, name in enumerate(classes)))
    print(f"{len(seen)} pictures, scores differ by {most:.1e} at most")
    assert len(seen) == PICTURES and most < 1e-5
    return 0


if __name__ == "__main__":
    sys.exit(main())
