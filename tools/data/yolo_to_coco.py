#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Turns labels in YOLO's form into a file of annotations in COCO's form.

    yolo_to_coco.py IMAGES LABELS OUT.json --names FILE

IMAGES and LABELS are folders: the labels of IMAGES/a/b.jpg are in LABELS/a/b.txt, a line for each
object: `class x y width height`, or `class x1 y1 x2 y2 x3 y3 ..` for an outline, as shares of the
picture's width and height. A picture without such a file, or with an empty one, has no objects.
FILE has a class a line, or is a YAML file with `names:`. Class 0 becomes category 1.

Objects that are odd are left out and counted by reason. JPEG, PNG, BMP and WebP pictures are known;
a JPEG picture that its EXIF block turns has the turned size, as YOLO's programs see it. Exit code 2:
bad input, named by file and line; OUT is not written.
"""
import argparse
import json
import os
import re
import struct
import sys

TYPES = (".jpg", ".jpeg", ".png", ".bmp", ".webp")


class Bad(Exception):
    """The text names the file."""


def jpeg_orientation(block):
    """From an EXIF block; 1 if it says nothing."""
    if not block.startswith(b"Exif\0\0"):
        return 1
    tiff = block[6:]
    order = {b"II": "<", b"MM": ">"}.get(tiff[:2])
    try:
        at, = struct.unpack_from(order + "I", tiff, 4)
        count, = struct.unpack_from(order + "H", tiff, at)
        for i in range(count):
            tag, kind, _, value = struct.unpack_from(order + "HHIH", tiff, at + 2 + 12 * i)
            if tag == 0x112 and kind == 3 and 1 <= value <= 8:
                return value
    except (struct.error, TypeError):
        pass
    return 1


def jpeg_size(data):
    at, turned = 2, False
    while at + 4 <= len(data):
        if data[at] != 0xFF:
            break
        marker = data[at + 1]
        if marker == 0xFF or marker == 0x01 or 0xD0 <= marker <= 0xD8:
            at += 1 if marker == 0xFF else 2
            continue
        length, = struct.unpack_from(">H", data, at + 2)
        if marker == 0xE1:
            turned = turned or jpeg_orientation(data[at + 4:at + 2 + length]) >= 5
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack_from(">HH", data, at + 5)
            return (height, width) if turned else (width, height)
        at += 2 + length
    return None


def webp_size(data):
    kind = data[12:16]
    if kind == b"VP8X":
        return tuple(1 + int.from_bytes(data[i:i + 3], "little") for i in (24, 27))
    if kind == b"VP8L":
        bits = int.from_bytes(data[21:25], "little")
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    if kind == b"VP8 ":
        return tuple(side & 0x3FFF for side in struct.unpack_from("<HH", data, 26))
    return None


def picture_size(path):
    """Width and height."""
    with open(path, "rb") as file:
        data = file.read(1 << 20)
    size = None
    try:
        if data.startswith(b"\xff\xd8"):
            size = jpeg_size(data)
        elif data.startswith(b"\x89PNG\r\n\x1a\n"):
            size = struct.unpack_from(">II", data, 16)
        elif data.startswith(b"BM"):
            width, height = struct.unpack_from("<ii", data, 18)
            size = width, abs(height)
        elif data.startswith(b"RIFF") and data[8:12] == b"WEBP":
            size = webp_size(data)
    except struct.error:
        pass
    if size is None or min(size) < 1:
        raise Bad(f"{path}: no JPEG, PNG, BMP or WebP picture with a size, or damaged")
    return size


def names_in(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if not path.endswith((".yaml", ".yml")):
        names = [line.strip() for line in text.splitlines() if line.strip()]
    else:
        found = re.search(r"^names:[ \t]*(.*)$((?:\n[ \t]*(?:-|\d+[ \t]*:).*$)*)", text, re.MULTILINE)
        if not found:
            raise Bad(f"{path}: has no `names:` with a list, or with numbers and names")
        inline = re.sub(r"\s#.*", "", found[1]).strip()
        if inline:
            entries = inline.strip("[]{}").split(",")
        else:
            entries = [re.sub(r"\s#.*", "", line) for line in found[2].splitlines() if line.strip()]
        names = []
        for entry in entries:
            number = re.match(r"\s*(\d+)\s*:\s*", entry)
            if number and int(number[1]) != len(names):
                raise Bad(f"{path}: name {len(names)} has the number {number[1]}; the numbers should "
                          f"go up from 0")
            names.append(re.sub(r"^\s*(?:-\s|\d+\s*:)?\s*", "", entry).strip().strip("'\""))
    if not names or "" in names:
        raise Bad(f"{path}: names no class, or one without a name")
    if len(set(names)) != len(names):
        raise Bad(f"{path}: names {next(n for n in names if names.count(n) > 1)!r} twice")
    return names


def labels_in(path, names, width, height, odd):
    """The class, the box and the outline of each object."""
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    seen = set()
    for number, line in enumerate(lines, 1):
        words = line.split()
        if not words:
            continue
        at = f"{path}:{number}"
        try:
            kind, places = int(words[0]), [float(word) for word in words[1:]]
        except ValueError:
            raise Bad(f"{at}: {line[:60]!r} should be a whole number, the class, and numbers") from None
        if not 0 <= kind < len(names):
            raise Bad(f"{at}: class {kind}, but there are {len(names)} names, from 0 on")
        if len(places) != 4 and (len(places) < 6 or len(places) % 2):
            raise Bad(f"{at}: has {len(places)} numbers behind the class, should have 4, or two for each "
                      f"of three or more points")
        if not all(abs(place) < 1e6 for place in places):
            raise Bad(f"{at}: {line[:60]!r} has a number that is not finite")
        if max(places) > 2:
            raise Bad(f"{at}: {line[:60]!r} should have shares of the picture, from 0 to 1, not pixels")
        outline = []
        if len(places) == 4:
            x, y, w, h = places
            left, top, right, bottom = x - w / 2, y - h / 2, x + w / 2, y + h / 2
        else:
            outline = [place * (height if i % 2 else width) for i, place in enumerate(places)]
            left, right = min(places[::2]), max(places[::2])
            top, bottom = min(places[1::2]), max(places[1::2])
        if right <= left or bottom <= top:
            odd["without area"] += 1
        elif right <= 0 or bottom <= 0 or left >= 1 or top >= 1:
            odd["outside of the picture"] += 1
        elif (kind, *places) in seen:
            odd["twice in a picture"] += 1
        else:
            seen.add((kind, *places))
            box = [left * width, top * height, (right - left) * width, (bottom - top) * height]
            yield kind, box, outline


def pictures_in(folder):
    found = []
    for place, folders, files in os.walk(folder):
        folders.sort()
        found += [os.path.relpath(os.path.join(place, name), folder) for name in files
                  if name.lower().endswith(TYPES)]
    if not found:
        raise Bad(f"{folder}: has no pictures ({', '.join(TYPES)})")
    return sorted(found)


def converted(images, labels, names):
    for folder in images, labels:
        if not os.path.isdir(folder):
            raise Bad(f"{folder}: there is no such folder")
    odd = {"without area": 0, "outside of the picture": 0, "twice in a picture": 0}
    result = {"images": [], "categories": [{"id": i + 1, "name": name} for i, name in enumerate(names)],
              "annotations": []}
    used, empty = set(), 0
    for number, name in enumerate(pictures_in(images), 1):
        width, height = picture_size(os.path.join(images, name))
        result["images"].append({"id": number, "file_name": name, "height": height, "width": width})
        path = os.path.join(labels, os.path.splitext(name)[0] + ".txt")
        if path in used:
            raise Bad(f"{path}: belongs to two pictures; {name} is the second")
        used.add(path)
        before = len(result["annotations"])
        for kind, box, outline in (labels_in(path, names, width, height, odd)
                                   if os.path.exists(path) else []):
            box = [round(place, 3) for place in box]
            result["annotations"].append({
                "id": len(result["annotations"]) + 1, "image_id": number, "category_id": kind + 1,
                "bbox": box, "area": box[2] * box[3], "iscrowd": 0,
                "segmentation": [[round(place, 3) for place in outline]] if outline else []})
        empty += len(result["annotations"]) == before
    strangers = 0
    for place, _, files in os.walk(labels):
        strangers += sum(name.endswith(".txt") and os.path.join(labels, os.path.relpath(
            os.path.join(place, name), labels)) not in used for name in files)
    return result, odd, empty, strangers


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("images", metavar="IMAGES")
    parser.add_argument("labels", metavar="LABELS")
    parser.add_argument("output", metavar="OUT.json")
    parser.add_argument("--names", required=True, metavar="FILE", help="the names of the classes")
    arguments = parser.parse_args()
    try:
        result, odd, empty, strangers = converted(arguments.images, arguments.labels,
                                                  names_in(arguments.names))
        temporary = arguments.output + ".part"
        with open(temporary, "w", encoding="utf-8") as file:
            json.dump(result, file)
        os.replace(temporary, arguments.output)
    except (Bad, OSError, UnicodeDecodeError) as error:
        print(error, file=sys.stderr)
        sys.exit(2)
    print(f"{arguments.output}: {len(result['annotations'])} objects of {len(result['categories'])} "
          f"classes in {len(result['images'])} pictures, {empty} of them without an object")
    said = [f"{count} {reason}" for reason, count in odd.items() if count]
    if said:
        print("objects left out: " + ", ".join(said))
    if strangers:
        print(f"{strangers} files of labels belong to no picture")


if __name__ == "__main__":
    main()
