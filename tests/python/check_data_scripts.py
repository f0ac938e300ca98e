# SPDX-License-Identifier: Apache-2.0
"""The converters of tools/data: Detectron's proposals, which a Fast R-CNN is then trained and tested
on, and labels in YOLO's form. Runs on a data set of Pascal VOC.

    check_data_scripts.py LOCKSTEP FOLDER

Exit code 77: NumPy is not installed.
"""
import json
import os
import pickle
import shutil
import struct
import subprocess
import sys
import zlib

try:
    import numpy as np
except ImportError as missing:
    print(f"skipped: {missing} (PyPI: numpy)")
    sys.exit(77)

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SMALL = """NUM_GPUS: 1
THREADS: 1
MODEL: {TYPE: generalized_rcnn, CONV_BODY: FPN.add_fpn_ResNet18_conv5_body, NUM_CLASSES: 5}
RESNETS: {STEM_FUNC: basic_gn_stem, SHORTCUT_FUNC: basic_gn_shortcut, TRANS_FUNC: basic_gn_transformation,
  STEM_OUT_CHANNELS: 8, RES2_OUT_CHANNELS: 8}
GROUP_NORM: {NUM_GROUPS: 4}
FPN: {FPN_ON: true, DIM: 16, USE_GN: true, MULTILEVEL_ROIS: true}
FAST_RCNN: {ROI_BOX_HEAD: fast_rcnn_heads.add_roi_2mlp_head, MLP_HEAD_DIM: 32, ROI_XFORM_METHOD: RoIAlign,
  ROI_XFORM_RESOLUTION: 7, ROI_XFORM_SAMPLING_RATIO: 2}
SOLVER: {BASE_LR: 0.01, MAX_ITER: 2, STEPS: [0], LR_POLICY: steps_with_decay, WARM_UP_ITERS: 1}
SCENES: {TRAIN: 6, VAL: 3}
TRAIN: {DATASETS: [scenes_train], PROPOSALS: 20, SCALES: [64], MAX_SIZE: 128, IMS_PER_BATCH: 1, FREEZE_AT: 0,
  BATCH_SIZE_PER_IM: 16, LOG_ITERS: 1}
TEST: {DATASETS: [scenes_val], SCALE: 64, MAX_SIZE: 128, PROPOSAL_LIMIT: 30}
"""


def script(name, *words):
    return subprocess.run([sys.executable, f"{ROOT}/tools/data/{name}.py", *words], capture_output=True,
                          text=True, timeout=120)


def works(done):
    assert done.returncode == 0, done.stderr
    return done.stdout


def refused(done, *parts):
    assert done.returncode == 2, f"{done.returncode} {done.stdout} {done.stderr}"
    assert "Traceback" not in done.stderr, done.stderr
    for part in parts:
        assert part in done.stderr, f"missing {part!r} in: {done.stderr}"


def tensors_of(path):
    with open(path, "rb") as file:
        data = file.read()
    length, = struct.unpack("<Q", data[:8])
    header, rest = json.loads(data[8:8 + length]), data[8 + length:]
    metadata = header.pop("__metadata__")
    kinds = {"F32": "<f4", "I64": "<i8"}
    return {name: np.frombuffer(rest[slice(*said["data_offsets"])], kinds[said["dtype"]]).reshape(said["shape"])
            for name, said in header.items()}, metadata


def proposals(lockstep, folder):
    random = np.random.default_rng(1)
    sets = {}
    for name, count in ("scenes_train", 6), ("scenes_val", 3):
        boxes, scores = [], []
        for _ in range(count):
            start = random.integers(0, 80, (25, 2))
            boxes.append(np.concatenate([start, start + random.integers(8, 40, (25, 2))], 1).astype("<f4"))
            scores.append(random.random(25).astype("<f4"))
        path = f"{folder}/{name}.pkl"
        saved = {"boxes": boxes, "scores": scores, "ids": list(range(1, count + 1)), "cfg": "RPN: {}\n"}
        with open(path, "wb") as file:
            pickle.dump(saved, file, 2)
        said = works(script("detectron_proposals", path, f"{folder}/{name}.safetensors", "--set", name))
        assert f"{25 * count} boxes of {count} pictures of {name}" in said, said
        tensors, metadata = tensors_of(f"{folder}/{name}.safetensors")
        assert metadata["set"] == name and metadata["format"] == "lockstep proposals 2"
        assert tensors["first"].tolist() == list(range(0, 25 * count + 1, 25))
        assert tensors["image_ids"].tolist() == saved["ids"]
        for i in range(count):
            order = np.argsort(-scores[i], kind="stable")
            own = slice(25 * i, 25 * i + 25)
            assert (tensors["scores"][own] == scores[i][order]).all()
            assert (tensors["boxes"][own] == boxes[i][order] + [0, 0, 1, 1]).all(), "half-open"
        sets[name] = saved
    config = f"{folder}/small.yaml"
    with open(config, "w") as file:
        file.write(SMALL)
    words = ["OUTPUT_DIR", f"{folder}/out", "TRAIN.PROPOSAL_FILES", f"['{folder}/scenes_train.safetensors']",
             "TEST.PROPOSAL_FILES", f"['{folder}/scenes_val.safetensors']"]
    done = subprocess.run([lockstep, "train", config, *words], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr + done.stdout
    with open(f"{folder}/out/train/scenes_train/generalized_rcnn/metrics.jsonl") as file:
        rows = [json.loads(line) for line in file]
    assert any("test_ap" in row and "test_loss" in row and "test_loss_cls" in row for row in rows), rows[-1]

    path, out = f"{folder}/bad.pkl", f"{folder}/bad.safetensors"

    def bad(saved, *parts, **how):
        with open(path, "wb") as file:
            pickle.dump(saved, file, 2)
        refused(script("detectron_proposals", path, how.get("out", out), "--set", "x"), path, *parts)
        assert not os.path.exists(out)

    good = sets["scenes_val"]
    works(script("detectron_proposals", f"{folder}/scenes_val.pkl", f"{folder}/again.safetensors", "--set", "x"))
    older = {"boxes": [box.astype(np.uint16) for box in good["boxes"]], "obn_scores": good["scores"],
             "indexes": np.array(good["ids"])}
    with open(path, "wb") as file:
        pickle.dump(older, file, 2)
    works(script("detectron_proposals", path, f"{folder}/older.safetensors", "--set", "x"))
    assert (tensors_of(f"{folder}/older.safetensors")[0]["boxes"] ==
            tensors_of(f"{folder}/again.safetensors")[0]["boxes"]).all()
    bad({"boxes": good["boxes"], "ids": good["ids"]}, "has no 'scores' or 'obn_scores'")
    bad(dict(good, ids=good["ids"][:2]), "has 2 ids, 3 lists of boxes and 3 lists of scores")
    bad(dict(good, ids=[1, 2, 2]), "has the picture 2 twice")
    bad(dict(good, ids=[1, 2, "3"]), "the id of picture 2 is '3'")
    bad(dict(good, scores=[good["scores"][0], good["scores"][1], good["scores"][2][:5]]), "picture 3 has boxes")
    broken = [box.copy() for box in good["boxes"]]
    broken[1][4, 0] = np.nan
    bad(dict(good, boxes=broken), "picture 2 has a box or a score that is not finite")
    broken[1][4] = [9, 9, 3, 12]
    bad(dict(good, boxes=broken), "picture 2: box 4 is [9.0, 9.0, 3.0, 12.0], whose end is before its start")
    bad([1], "holds no dictionary")
    bad(good, "should end with .safetensors", out=f"{folder}/bad.bin")
    with open(path, "wb") as file:
        file.write(b"\x80\x02cos\nsystem\nU\x05false\x85R.")
    refused(script("detectron_proposals", path, out, "--set", "x"), "names os.system")


def png(width, height):
    chunk = lambda kind, data: (struct.pack(">I", len(data)) + kind + data +
                                struct.pack(">I", zlib.crc32(kind + data)))
    rows = b"".join(b"\0" + bytes(3 * width) for _ in range(height))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def jpeg_start(width, height, orientation=None):
    data = b"\xff\xd8\xff\xe0" + struct.pack(">H", 16) + b"JFIF\0" + bytes(9)
    if orientation:
        exif = (b"Exif\0\0MM\0*" + struct.pack(">IHHHIHHI", 8, 1, 0x112, 3, 1, orientation, 0, 0))
        data += b"\xff\xe1" + struct.pack(">H", len(exif) + 2) + exif
    return data + b"\xff\xc0" + struct.pack(">HBHH", 17, 8, height, width) + bytes(10) + b"\xff\xd9"


def put(path, content):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb" if isinstance(content, bytes) else "w") as file:
        file.write(content)


def yolo(lockstep, folder):
    images, labels, out = f"{folder}/images", f"{folder}/labels", f"{folder}/all.json"
    put(f"{images}/a.png", png(40, 20))
    put(f"{images}/b/c.png", png(16, 16))
    put(f"{images}/d.jpg", jpeg_start(60, 30))
    put(f"{images}/e.JPG", jpeg_start(60, 30, 6))
    put(f"{images}/f.webp", b"RIFF\0\0\0\0WEBPVP8X" + struct.pack("<IB", 10, 0) + bytes(3) +
        (99).to_bytes(3, "little") + (49).to_bytes(3, "little"))
    put(f"{images}/g.bmp", b"BM" + bytes(16) + struct.pack("<ii", 7, -9))
    put(f"{labels}/a.txt", "1 0.5 0.5 0.25 0.5\n\n0 0.1 0.5 0.2 1.0\n1 0.5 0.5 0.25 0.5\n0 0.5 0.5 0 0.2\n"
                           "0 1.5 0.5 0.2 0.2\n")
    put(f"{labels}/b/c.txt", "0 0.25 0.25 0.75 0.25 0.5 1.0\n")
    put(f"{labels}/e.txt", "")
    put(f"{labels}/stranger.txt", "0 0.5 0.5 0.1 0.1\n")
    put(f"{folder}/names.txt", "cup\nbig spoon\n")

    def run(names=f"{folder}/names.txt"):
        return script("yolo_to_coco", images, labels, out, "--names", names)

    said = works(run())
    assert "3 objects of 2 classes in 6 pictures, 4 of them without an object" in said, said
    assert "objects left out: 1 without area, 1 outside of the picture, 1 twice in a picture" in said, said
    assert "1 files of labels belong to no picture" in said, said
    with open(out) as file:
        made = json.load(file)
    sizes = {image["file_name"]: (image["width"], image["height"]) for image in made["images"]}
    assert sizes == {"a.png": (40, 20), "b/c.png": (16, 16), "d.jpg": (60, 30), "e.JPG": (30, 60),
                     "f.webp": (100, 50), "g.bmp": (7, 9)}, sizes
    assert made["categories"] == [{"id": 1, "name": "cup"}, {"id": 2, "name": "big spoon"}]
    first, second, third = made["annotations"]
    assert first["bbox"] == [15, 5, 10, 10] and first["category_id"] == 2 and first["area"] == 100
    assert second["bbox"] == [0, 0, 8, 20] and second["image_id"] == first["image_id"] == 1
    assert third["bbox"] == [4, 4, 8, 12] and third["segmentation"] == [[4, 4, 12, 4, 8, 16]]

    for text in ("path: x\nnames: [cup, 'big spoon']  # two\nnc: 2\n", "names:\n  0: cup\n  1: big spoon # x\n",
                 "nc: 2\nnames:\n- cup\n- \"big spoon\"\n", "names: {0: cup, 1: big spoon}\n"):
        put(f"{folder}/data.yaml", text)
        works(run(f"{folder}/data.yaml"))
        with open(out) as file:
            assert json.load(file) == made, text
    for text, why in (("nc: 2\n", "has no `names:`"), ("names:\n  1: a\n", "should go up from 0"),
                      ("names: [a, a]\n", "names 'a' twice")):
        put(f"{folder}/data.yaml", text)
        refused(run(f"{folder}/data.yaml"), "data.yaml", why)

    for line, why in (("2 0.5 0.5 0.1 0.1", "class 2, but there are 2 names"),
                      ("0 0.5 0.5 0.1", "has 3 numbers behind the class"),
                      ("x 0.5 0.5 0.1 0.1", "should be a whole number, the class"),
                      ("0 20 10 5 5", "shares of the picture, from 0 to 1, not pixels"),
                      ("0 nan 0.5 0.1 0.1", "a number that is not finite")):
        put(f"{labels}/d.txt", "\n" + line + "\n")
        refused(run(), f"{labels}/d.txt:2: ", why)
    put(f"{labels}/d.txt", "")
    put(f"{images}/d.png", png(2, 2))
    refused(run(), "d.txt: belongs to two pictures; d.png is the second")
    put(f"{images}/d.png", b"\x89PNG\r\n\x1a\n")
    refused(run(), "d.png: no JPEG, PNG, BMP or WebP picture")
    os.remove(f"{images}/d.png")
    refused(script("yolo_to_coco", f"{folder}/none", labels, out, "--names", f"{folder}/names.txt"),
            "none: there is no such folder")

    # Lockstep trains on the result.
    for name in "d.jpg", "e.JPG", "f.webp", "g.bmp":
        os.remove(f"{images}/{name}")
    works(run())
    config = f"{folder}/small.yaml"
    with open(config, "w") as file:
        file.write(SMALL.replace("MULTILEVEL_ROIS: true", "MULTILEVEL_ROIS: true, MULTILEVEL_RPN: true, "
                                 "RPN_MAX_LEVEL: 5, RPN_ANCHOR_START_SIZE: 16").replace(
                       "NUM_CLASSES: 5", "NUM_CLASSES: 3, FASTER_RCNN: true").replace(
                       "[scenes_train]", "[mine]").replace("[scenes_val]", "[mine]") +
                   f"DATASETS: {{mine: {{IMAGES: {images}, ANNOTATIONS: {out}}}}}\n")
    done = subprocess.run([lockstep, "train", config, "OUTPUT_DIR", f"{folder}/yolo"], capture_output=True,
                          text=True, timeout=300)
    assert done.returncode == 0, done.stderr + done.stdout


def voc(lockstep, folder):
    """A set of Pascal VOC with large-scale jitter and a picture without objects; its test has both
    rules' numbers."""
    root = f"{folder}/VOC"
    names = ["2008_000001", "2008_000002", "2008_000003"]
    put(f"{root}/ImageSets/Main/all.txt", "".join(name + "\n" for name in names))
    for i, name in enumerate(names):
        put(f"{root}/JPEGImages/{name}.png", png(96, 64))
        box = "<bndbox><xmin>11</xmin><ymin>9</ymin><xmax>60</xmax><ymax>50</ymax></bndbox>"
        put(f"{root}/Annotations/{name}.xml",
            f"<annotation><filename>{name}.png</filename><size><width>96</width><height>64</height></size>" +
            (f"<object><name>dog</name><difficult>{i}</difficult>{box}</object>" if i < 2 else "") +
            "</annotation>\n")
    config = f"{folder}/voc.yaml"
    with open(config, "w") as file:
        file.write(SMALL.replace("MULTILEVEL_ROIS: true", "MULTILEVEL_ROIS: true, MULTILEVEL_RPN: true, "
                                 "RPN_MAX_LEVEL: 5, RPN_ANCHOR_START_SIZE: 16").replace(
                       "NUM_CLASSES: 5", "NUM_CLASSES: 21, FASTER_RCNN: true").replace(
                       "[scenes_train]", "[mine]").replace("[scenes_val]", "[mine]").replace(
                       "TRAIN: {", "TRAIN: {EMPTY_IMAGES: true, JITTER: {SIZE: 64x96, RATIOS: [0.5, 2]}, ") +
                   f"DATASETS: {{mine: {{VOC: {root}, LIST: all}}}}\n")
    words = [config, "OUTPUT_DIR", f"{folder}/voc"]
    done = subprocess.run([lockstep, "train", *words], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr + done.stdout
    assert "2 pictures, scaled at random, to 64x96" in done.stdout + done.stderr, done.stdout + done.stderr
    assert "1 pictures without an object as background" in done.stdout + done.stderr
    with open(f"{folder}/voc/train/mine/generalized_rcnn/metrics.jsonl") as file:
        last = [json.loads(line) for line in file][-1]
    assert {"test_loss", "test_voc_ap", "test_voc07_ap"} <= set(last), last
    done = subprocess.run([lockstep, "test", *words, "--out", f"{folder}/voc_test"], capture_output=True,
                          text=True, timeout=300)
    assert done.returncode == 0 and "VOC AP" in done.stdout, done.stderr + done.stdout
    with open(f"{folder}/voc_test/scores.json") as file:
        scores = json.load(file)["sets"]["mine"]
    assert 0 <= scores["voc_ap"] <= 1 and 0 <= scores["voc07_ap"] <= 1, scores
    assert [c["voc_ap"] >= 0 for c in scores["classes"]] == [c["name"] == "dog" for c in scores["classes"]]
    with open(f"{folder}/voc_test/bbox_mine_results.json") as file:
        assert {found["image_id"] for found in json.load(file)} <= {2008000001, 2008000002, 2008000003}
    put(f"{root}/Annotations/2008_000002.xml", "<annotation>\n</annotation>")
    done = subprocess.run([lockstep, "test", *words], capture_output=True, text=True, timeout=300)
    assert done.returncode == 2, done.stderr
    assert "TEST.DATASETS: mine: " in done.stderr and "2008_000002.xml:1: <annotation> has no <size>" in \
        done.stderr, done.stderr


def main():
    lockstep, folder = sys.argv[1:]
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    yolo(lockstep, folder)
    proposals(lockstep, folder)
    voc(lockstep, folder)
    shutil.rmtree(folder)
    print("proposals, labels and Pascal VOC's sets are trained on, or refused by name")


main()
