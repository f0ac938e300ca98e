# SPDX-License-Identifier: Apache-2.0
"""The Python recipe of docs/trained.md prepares odd pictures as `lockstep infer` does: the network
returns its input, so its scores are the prepared pixels.

    check_pictures.py LOCKSTEP FOLDER DOCUMENT      Exit code 77: no PIL or ONNX Runtime.
"""
import contextlib
import io
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import zlib

try:
    import numpy as np
    import onnx
    import onnxruntime  # noqa: F401: the recipe wants it
    import PIL.Image
    import PIL.ImageOps  # noqa: F401
    import PIL.PngImagePlugin
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

HIGH, WIDE = 12, 18
# PIL rounds to bytes after each direction of resampling, and rounds CMYK's product differently.
LIMIT = 2 / 255


def network(path, channels):
    make = onnx.helper
    of = lambda name, shape: make.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)
    values = channels * HIGH * WIDE
    graph = make.make_graph([make.make_node("Flatten", ["data"], ["scores"])], "pixels",
                            [of("data", ["N", channels, HIGH, WIDE])], [of("scores", ["N", values])])
    model = make.make_model(graph, opset_imports=[make.make_opsetid("", 17)], ir_version=8)
    picture = {"channels": channels, "height": HIGH, "width": WIDE, "resize": HIGH,
               "mean": [0.0] * channels, "deviation": [1.0] * channels}
    make.set_model_props(model, {"lockstep.picture": json.dumps(picture),
                                 "lockstep.classes": json.dumps([str(i) for i in range(values)])})
    onnx.save(model, path)


def gradient(high, wide):
    """All corners differ, so that any turn is visible."""
    y, x = np.mgrid[0:high, 0:wide]
    return np.stack([255 * x // wide, 255 * y // high, np.full_like(x, 90)], 2).astype(np.uint8)


def png(header, rows):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows, 1)) +
            chunk(b"IEND", b""))


def bmp(high, wide, bits, compression, pixels, palette=b"", masks=b"", colours=0):
    second = struct.pack("<IiiHHIIiiII", 40, wide, high, 1, bits, compression, len(pixels), 1, 1, colours, 0)
    start = 14 + len(second) + len(masks) + len(palette)
    return b"BM" + struct.pack("<IHHI", start + len(pixels), 0, 0, start) + second + masks + palette + pixels


def write_pngs(folder, rgb):
    image = PIL.Image.fromarray(rgb)
    grey = PIL.Image.fromarray(rgb[:, :, 0])
    alpha = PIL.Image.fromarray(255 - rgb[:, :, 1])
    image.save(folder / "rgb.png")
    image.quantize(40).save(folder / "palette.png")
    image.quantize(40).save(folder / "palette_transparent.png", transparency=bytes(range(0, 200, 5)))
    grey.convert("1").save(folder / "1bit.png")
    grey.quantize(4).save(folder / "palette_2bits.png", bits=2)
    PIL.Image.merge("LA", (grey, alpha)).save(folder / "grey_alpha.png")
    PIL.Image.merge("RGBA", (*image.split(), alpha)).save(folder / "rgba.png")
    PIL.Image.fromarray(gradient(3, 3)).save(folder / "3x3.png")
    for name, gamma in ("1", 100000), ("2.2", 45455):
        said = PIL.PngImagePlugin.PngInfo()
        said.add(b"gAMA", struct.pack(">I", gamma))
        image.save(folder / f"gamma_{name}.png", pnginfo=said)
        grey.save(folder / f"grey_gamma_{name}.png", pnginfo=said)
    high, wide = rgb.shape[:2]
    for name, colour, values in ("grey", 0, rgb[:, :, :1]), ("rgb", 2, rgb), \
            ("grey_alpha", 4, np.dstack([rgb[:, :, :1], alpha])), ("rgba", 6, np.dstack([rgb, alpha])):
        fine = values.astype(">u2") * 256 + 200
        rows = b"".join(b"\0" + row.tobytes() for row in fine)
        (folder / f"{name}_16bits.png").write_bytes(png(struct.pack(">IIBBBBB", wide, high, 16, colour, 0, 0, 0), rows))
    large = np.repeat(np.repeat(gradient(6, 8), 1000, 0), 1000, 1)
    rows = np.hstack([np.zeros((6000, 1), np.uint8), large.reshape(6000, -1)]).tobytes()
    (folder / "8000x6000.png").write_bytes(png(struct.pack(">IIBBBBB", 8000, 6000, 8, 2, 0, 0, 0), rows))


def write_others(folder, rgb):
    image = PIL.Image.fromarray(rgb)
    grey = PIL.Image.fromarray(rgb[:, :, 0])
    alpha = PIL.Image.fromarray(255 - rgb[:, :, 1])
    image.save(folder / "rgb.jpg", quality=95)
    image.save(folder / "progressive.JPG", quality=95, progressive=True)
    image.convert("CMYK").save(folder / "cmyk.jpeg", quality=95)
    grey.save(folder / "grey.jpg", quality=95)
    image.save(folder / "lossy.webp", quality=90)
    image.save(folder / "lossless.webp", lossless=True)
    for lossless in False, True:
        PIL.Image.merge("RGBA", (*image.split(), alpha)).save(folder / f"alpha_{lossless}.webp", lossless=lossless,
                                                              exact=True)
    image.save(folder / "rgb.bmp")
    grey.save(folder / "grey.bmp")
    grey.convert("1").save(folder / "1bit.bmp")
    image.quantize(40).save(folder / "palette.bmp")
    high, wide = rgb.shape[:2]
    rows = bytes(rgb[::-1, :, ::-1].tobytes())
    (folder / "top_down.bmp").write_bytes(bmp(-high, wide, 24, 0, rgb[:, :, ::-1].tobytes()))
    (folder / "32bits.bmp").write_bytes(bmp(high, wide, 32, 0, np.dstack([rgb[::-1, :, ::-1], alpha]).tobytes()))
    red, green, blue = (rgb[::-1, :, c].astype("<u2") for c in range(3))
    (folder / "555.bmp").write_bytes(bmp(high, wide, 16, 0, (red // 8 << 10 | green // 8 << 5 | blue // 8).tobytes()))
    (folder / "565.bmp").write_bytes(bmp(high, wide, 16, 3, (red // 8 << 11 | green // 4 << 5 | blue // 8).tobytes(),
                                         masks=struct.pack("<III", 0xF800, 0x7E0, 0x1F)))
    palette = b"".join(struct.pack("BBBB", 7 * i, 250 - 9 * i, 13 * i, 0) for i in range(16))
    runs = b"".join(b"".join(struct.pack("BB", 4, (x + y) % 16) for x in range(wide // 4)) + b"\0\0"
                    for y in range(high)) + b"\0\1"
    (folder / "rle8.bmp").write_bytes(bmp(high, wide, 8, 1, runs, palette, colours=16))
    as_they_are = b"".join(bytes((0, wide)) + bytes((x + y) % 16 for x in range(wide)) + b"\0\0"
                           for y in range(high)) + b"\0\1"
    (folder / "rle8_plain.bmp").write_bytes(bmp(high, wide, 8, 1, as_they_are, palette, colours=16))
    runs = b"".join(b"".join(struct.pack("BB", 4, 17 * ((x + y) % 14) + 1) for x in range(wide // 4)) + b"\0\0"
                    for y in range(high)) + b"\0\1"
    (folder / "rle4.bmp").write_bytes(bmp(high, wide, 4, 2, runs, palette))
    assert len(rows) == 3 * high * wide and wide % 4 == 0


def write_turned(folder, rgb):
    image = PIL.Image.fromarray(rgb)
    for orientation in range(1, 9):
        exif = PIL.Image.Exif()
        exif[0x0112] = orientation
        for ending, how in (".jpg", {"quality": 95}), (".png", {}), (".webp", {"lossless": True}):
            image.save(folder / f"turned_{orientation}{ending}", exif=exif, **how)
        fine = PIL.Image.fromarray(rgb[:, :, 0].astype(np.uint16) * 256)
        fine.save(folder / f"grey16_turned_{orientation}.png", exif=exif)


def check(lockstep, folder, recipe, channels):
    network(folder / "model.onnx", channels)
    run = subprocess.run([lockstep, "infer", "model.onnx", "pictures", "--out", "seen"], cwd=folder,
                         capture_output=True, text=True)
    seen = {said["picture"]: said for said in json.loads((folder / "seen/predictions.json").read_text())}
    expected = sorted(f"pictures/{file.name}" for file in (folder / "pictures").iterdir())
    wrong = [f"`infer` left out {name}" for name in expected if name not in seen]
    for name, said in seen.items():
        if "error" in said:
            wrong.append(said["error"])
            continue
        scope = {}
        with contextlib.redirect_stdout(io.StringIO()):
            exec(recipe.replace("photo.jpg", name), scope)
        ours = np.array([said["scores"][str(i)] for i in range(channels * HIGH * WIDE)])
        off = np.abs(ours - scope["scores"]).max()
        if not off <= LIMIT:
            wrong.append(f"{name}: off by {255 * off:.1f} of 255")
    print(f"{channels} channels: {len(seen)} pictures, {len(wrong)} wrong, exit code {run.returncode}")
    print("".join(f"  {line}\n" for line in wrong), end="")
    return not wrong and run.returncode == 0


def main():
    lockstep, folder = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2])
    recipe = re.search(r"```python\n(.*?)```", pathlib.Path(sys.argv[3]).read_text(), re.S).group(1)
    assert '"photo.jpg"' in recipe and '"model.onnx"' in recipe
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "pictures").mkdir(parents=True)
    write_pngs(folder / "pictures", gradient(24, 40))
    write_others(folder / "pictures", gradient(24, 40))
    write_turned(folder / "pictures", gradient(24, 40))
    os.chdir(folder)
    folder = pathlib.Path(".")
    right = check(lockstep, folder, recipe, 3)
    (folder / "pictures/8000x6000.png").unlink()  # read only once
    return 0 if check(lockstep, folder, recipe, 1) and right else 1


if __name__ == "__main__":
    sys.exit(main())
