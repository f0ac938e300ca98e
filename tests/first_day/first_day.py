#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A user's first day: trains on pictures in folders, interrupts and resumes the run, then exports, scores and uses its
network, and loads it in ONNX Runtime. Usage: first_day.py LOCKSTEP FOLDER; exit code 77: no ONNX Runtime or numpy."""
import json
import os
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import zlib
from pathlib import Path

try:
    import numpy as np
    import onnx
    import onnxruntime
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

from preparation import prepared

CLASSES = ["Äpfel & <Birnen>", "checks", "rings", "stripes"]
CONFIG = """\
DEVICES: cpu*2
THREADS: 1
MODEL: {TYPE: lenet, NUM_CLASSES: 4}
DATA: {NAME: image_folder, ROOT: pictures, IMAGE_SIZE: 32, RESIZE: 36, CROP_SCALE: [0.5, 1]}
TRAIN: {BATCH_SIZE: 16, SNAPSHOT_ITERS: 25, LOG_ITERS: 5}
TEST: {ITERS: 20}
SOLVER: {BASE_LR: 0.01, MAX_ITER: 120, STEP_SIZE: 100}
"""


def write_png(path, pixels):
    height, width, _ = pixels.shape
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)

    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">2I5B", width, height, 8, 2, 0, 0, 0))
                     + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def picture(kind, random):
    height, width = random.integers(30, 60, 2)
    y, x = np.mgrid[0:height, 0:width] / 8 + random.uniform(0, 9, (2, 1, 1))
    wave = {0: np.sin(x + y), 1: np.sign(np.sin(2 * x) * np.sin(2 * y)), 2: np.sin(np.hypot(x - 7, y - 7) * 3),
            3: np.sin(4 * x)}[kind]
    tint = random.uniform(0.3, 1, 3)
    light = 128 + 80 * wave[..., None] * tint + random.normal(0, 25, (height, width, 3))
    return np.clip(light, 0, 255).astype(np.uint8)


def draw_pictures(folder):
    """The true class and the pixels of each held-out picture, by path."""
    random = np.random.default_rng(7)
    held_out = {}
    for part, count in ("train", 60), ("val", 50):
        for kind, name in enumerate(CLASSES):
            place = folder / part / name
            place.mkdir(parents=True)
            for i in range(count):
                pixels = picture(kind, random)
                write_png(place / f"{i}.png", pixels)
                if part == "val":
                    held_out[str(place / f"{i}.png")] = name, pixels
    return held_out


class Day:
    def __init__(self, lockstep, folder):
        self.lockstep, self.folder = lockstep, folder

    def run(self, *words, code=0):
        done = subprocess.run([self.lockstep, *words], cwd=self.folder, capture_output=True, text=True)
        assert done.returncode == code, (words, done.returncode, done.stdout, done.stderr)
        return done.stdout

    def interrupted(self, *words):
        """Sends Ctrl-C at the first line of progress. Returns the printed command that resumes the run."""
        process = subprocess.Popen([self.lockstep, *words], cwd=self.folder, stdout=subprocess.PIPE, text=True)
        lines = []
        for line in process.stdout:
            lines.append(line)
            if "iter " in line and len(lines) < 4:
                process.send_signal(signal.SIGINT)
        assert process.wait() == 130, (process.returncode, lines)
        assert "interrupted after iteration" in lines[-1], lines
        return shlex.split(lines[-1].split("continue with:  lockstep ")[1])


def read(path):
    return path.read_bytes()


def compare(file, pictures, seen):
    """ONNX Runtime gives the same scores for all pictures, prepared by the file's metadata."""
    model = onnx.load(file)
    onnx.checker.check_model(model, full_check=True)
    assert [opset.domain for opset in model.opset_import] == [""], model.opset_import
    metadata = {entry.key: entry.value for entry in model.metadata_props}
    names = json.loads(metadata["lockstep.classes"])
    assert sorted(names) == sorted(CLASSES), names
    session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    worst = 0
    for path, (_, pixels) in pictures.items():
        batch = prepared(pixels, json.loads(metadata["lockstep.picture"]))
        theirs = session.run(None, {session.get_inputs()[0].name: batch})[0][0]
        ours = np.array([seen[path]["scores"][name] for name in names])
        assert names[theirs.argmax()] == seen[path]["class"], path
        worst = max(worst, np.abs(ours - theirs).max())
    assert worst < 1e-5, f"{file}: scores differ by {worst}"
    return f"{len(pictures)} pictures, the same classes, scores within {worst:.1e}"


def main():
    day = Day(sys.argv[1], Path(sys.argv[2]))
    shutil.rmtree(day.folder, ignore_errors=True)
    day.folder.mkdir(parents=True)
    held_out = draw_pictures(day.folder / "pictures")
    (day.folder / "shapes.yaml").write_text(CONFIG)
    runs = day.folder / "runs"

    # Train; interrupt and resume with the same bits as an uninterrupted run.
    day.run("train", "shapes.yaml", "SOLVER.MOMENTUM", "0.8")
    go_on = day.interrupted("train", "shapes.yaml", "SOLVER.MOMENTUM", "0.8")
    assert go_on == ["train", "runs/shapes.2/config.yaml", "--resume", "runs/shapes.2"], go_on
    said = day.run(*go_on)
    for name in "checkpoint.safetensors", "model.onnx", "best.onnx", "best.safetensors":
        assert read(runs / "shapes" / name) == read(runs / "shapes.2" / name), f"{name} differs"
    assert os.readlink(runs / "latest") == "shapes.2"
    accuracy = said.split("held-out accuracy ")[-1].split(" %")[0]
    assert float(accuracy) > 60, said

    # Score the run and its best checkpoint.
    scores = day.run("test", "shapes.yaml", "--out", "scores")
    assert f"held-out accuracy {accuracy} % " in scores and "Äpfel & <Birnen>" in scores, scores
    scored = json.loads((day.folder / "scores/scores.json").read_text())
    assert scored["pictures"] == len(held_out) == 200
    best = day.run("test", "shapes.yaml", "--weights", "runs/latest/best.safetensors")
    assert float(best.split("accuracy ")[1].split(" %")[0]) >= float(accuracy), (best, accuracy)

    # Export again and look at pictures.
    day.run("export", "runs/latest", "-o", "network.onnx")
    printed = day.run("infer", "network.onnx", "pictures/val", "--out", "seen", "--top", "2")
    assert len(printed.splitlines()) == 200, printed
    seen = {str(day.folder / entry["picture"]): entry
            for entry in json.loads((day.folder / "seen/predictions.json").read_text())}
    assert seen.keys() == held_out.keys()
    right = sum(seen[path]["class"] == name for path, (name, _) in held_out.items())
    assert right == round(scored["accuracy"] * 200), (right, scored)

    for file in day.folder / "network.onnx", runs / "latest/model.onnx":
        print(f"{file.name}: {compare(file, held_out, seen)}; {right} are right")

    # Includes networks with running statistics, trained in 16 bits or with statistics over all replicas.
    some = dict(list(held_out.items())[::20])
    for name, keys in ("mobilenet_v2", ["PRECISION", "bfloat16"]), ("resnet18", ["TRAIN.SYNC_BATCH_NORM", "true"]):
        day.run("train", "shapes.yaml", "MODEL.TYPE", name, "OUTPUT_DIR", name, "SOLVER.MAX_ITER", "2", *keys)
        day.run("infer", name, *some, "--out", f"{name}/seen")
        seen = {entry["picture"]: entry for entry in json.loads((day.folder / name / "seen/predictions.json").read_text())}
        print(f"{name}: {compare(day.folder / name / 'model.onnx', some, seen)}")


main()
