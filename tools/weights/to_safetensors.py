#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Turns Detectron's pickles and PyTorch's files of weights into safetensors, without running
anything in them. Needs NumPy, not PyTorch.

    to_safetensors.py IN OUT.safetensors [--momentum] [--part NAME]

  --momentum   keep Detectron's momentum, blobs called .._momentum
  --part NAME  the dictionary of a PyTorch checkpoint that holds the weights; usually found:
               state_dict, model_state_dict, model or net

Detectron: {'blobs': {name: array}, 'cfg': text}, or the older {name: array}. PyTorch: the files of
torch.save, both of version 1.6 and later (zip) and of earlier versions. The metadata has `source`,
detectron or pytorch, and Detectron's `cfg`. Every number keeps its bits. A name in the file that is
no dictionary, text, number or array is refused by name. Exit code 2: the file is refused, and
OUT is not written.
"""
import argparse
import os
import sys
import zipfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import safe_pickle
import safetensors_file
from safe_pickle import Refused

import numpy as np

LEGACY_MAGIC, LEGACY_VERSION = 0x1950a86a20f9469cfc6c, 1001
PARTS = ["state_dict", "model_state_dict", "model", "net"]
STORAGES = {"FloatStorage": "<f4", "DoubleStorage": "<f8", "HalfStorage": "<f2", "LongStorage": "<i8",
            "IntStorage": "<i4", "ShortStorage": "<i2", "CharStorage": "i1", "ByteStorage": "u1",
            "BoolStorage": "?", "BFloat16Storage": "bits"}


class Storage:
    """The numbers that tensors are views of. `bytes` is None until they are read."""

    def __init__(self, kind, count):
        self.bits = kind == "bits"
        self.dtype = np.dtype("<u2" if self.bits else kind)
        self.count, self.bytes = count, None


class View:
    """A tensor: strides count numbers of the storage."""

    def __init__(self, storage, offset, shape, strides, *_):
        if not isinstance(storage, Storage):
            raise Refused("has a tensor without a storage")
        sides = [*shape, *strides, offset]
        if len(shape) != len(strides) or not all(isinstance(n, int) and n >= 0 for n in sides):
            raise Refused(f"has a tensor of {shape!r:.60} with the strides {strides!r:.60}")
        self.storage, self.offset, self.shape, self.strides = storage, offset, shape, strides

    def array(self, name):
        count = 1
        for side in self.shape:
            count *= side
        last = self.offset + sum((n - 1) * s for n, s in zip(self.shape, self.strides))
        if count > self.storage.count or count and last >= self.storage.count:
            raise Refused(f"'{name}' is a tensor of {tuple(self.shape)} from number {self.offset} on, "
                          f"but its storage has {self.storage.count} numbers")
        flat = np.frombuffer(self.storage.bytes, self.storage.dtype)
        size = self.storage.dtype.itemsize
        view = np.lib.stride_tricks.as_strided(flat[self.offset:] if count else flat[:0], self.shape,
                                               [s * size for s in self.strides])
        view = np.array(view, order="C").reshape(self.shape)
        return safetensors_file.Bits(view) if self.storage.bits else view


def torch_names():
    names = safe_pickle.numpy_names()
    known = safe_pickle.Known
    names["torch._utils", "_rebuild_tensor_v2"] = known("torch tensor", View)
    names["torch._utils", "_rebuild_tensor"] = known("torch tensor", View)
    names["torch._utils", "_rebuild_parameter"] = known("torch Parameter", lambda data, *_: data)
    names["torch", "Size"] = known("torch.Size", tuple)
    for name, kind in STORAGES.items():
        names["torch", name] = known(kind, None)
    return names


def checked_count(count, what):
    if not isinstance(count, int) or count < 0:
        raise Refused(f"{what} has {count!r:.20} numbers")
    return count


def storage_of(kind, count, key):
    if not isinstance(kind, safe_pickle.Known) or kind.name not in STORAGES.values():
        raise Refused(f"the storage {key!r:.20} has an unknown type")
    return Storage(kind.name, checked_count(count, f"the storage {key!r:.20}"))


def read_zip(path):
    """PyTorch 1.6 and later: FOLDER/data.pkl, and a file for each storage in FOLDER/data."""
    with zipfile.ZipFile(path) as archive:
        infos = {}
        for info in archive.infolist():
            if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size:
                raise Refused(f"its member {info.filename!r:.60} is compressed, which PyTorch never "
                              f"does")
            infos[info.filename] = info
        announced = sum(info.file_size for info in infos.values())
        if announced > os.path.getsize(path):
            raise Refused(f"its members announce {announced} bytes, more than the file has")
        pickles = [name for name in infos if name.endswith("data.pkl") and name.count("/") == 1]
        if len(pickles) != 1:
            raise Refused("is a zip file, but none of torch.save: it has no data.pkl")
        folder = pickles[0].split("/")[0]
        order = infos.get(folder + "/byteorder")
        if order is not None and archive.read(order).strip() != b"little":
            raise Refused("was written on a machine with another byte order")
        storages = {}

        def storage(name):
            if not isinstance(name, tuple) or len(name) != 5 or name[0] != "storage":
                raise Refused(f"refers to {name!r:.40}, which is no storage")
            _, kind, key, _, count = name
            if key not in storages:
                made = storage_of(kind, count, key)
                info = infos.get(f"{folder}/data/{key}")
                bytes_needed = made.count * made.dtype.itemsize
                if info is None or info.file_size < bytes_needed:
                    raise Refused(f"the storage {key!r:.20} announces {bytes_needed} bytes, but has "
                                  f"{info.file_size if info else 0}")
                made.bytes = archive.read(info)[:bytes_needed]
                storages[key] = made
            return storages[key]

        with archive.open(infos[pickles[0]]) as file:
            part = safe_pickle.Part(file, infos[pickles[0]].file_size)
            return safe_pickle.read(part, torch_names(), storage)


def read_legacy(part):
    """PyTorch before 1.6, behind the magic number: pickles in a row, then the storages' bytes."""
    if safe_pickle.read(part) != LEGACY_VERSION:
        raise Refused("has an unknown version of torch.save")
    system = safe_pickle.read(part)
    if not isinstance(system, dict) or not system.get("little_endian"):
        raise Refused("was written on a machine with another byte order")
    storages = {}

    def storage(name):
        if not isinstance(name, tuple) or len(name) != 6 or name[0] != "storage":
            raise Refused(f"refers to {name!r:.40}, which is no storage")
        _, kind, key, _, count, view = name
        if view is not None:
            raise Refused(f"the storage {key!r:.20} is a part of another, which is not read")
        return storages.setdefault(key, storage_of(kind, count, key))

    result = safe_pickle.read(part, torch_names(), storage)
    for key in safe_pickle.read(part):
        made = storages.get(key)
        count = int.from_bytes(part.read(8), "little")
        if made is None or made.count != count:
            raise Refused(f"the storage {key!r:.20} has {count} numbers, should have "
                          f"{made.count if made else 'none'}")
        made.bytes = part.read(count * made.dtype.itemsize)
    missing = [key for key, made in storages.items() if made.bytes is None]
    if missing:
        raise Refused(f"the storage {missing[0]!r:.20} has no data")
    return result


def read_any(path):
    """The source, and the object."""
    size = os.path.getsize(path)
    with open(path, "rb") as file:
        start = file.read(4)
        if start == b"PK\x03\x04":
            return "pytorch", read_zip(path)
        file.seek(0)
        part = safe_pickle.Part(file, size)
        first = safe_pickle.read(part)
        return ("pytorch", read_legacy(part)) if first == LEGACY_MAGIC else ("detectron", first)


def text_of(value):
    return value.decode("latin1") if isinstance(value, bytes) else value


def blobs_of(saved):
    """Detectron's blobs and its configuration."""
    if not isinstance(saved, dict):
        raise Refused("holds no dictionary")
    saved = {text_of(name): value for name, value in saved.items()}
    blobs = saved.get("blobs", saved)
    if not isinstance(blobs, dict):
        raise Refused("'blobs' is no dictionary")
    config = text_of(saved.get("cfg", "")) if blobs is not saved else ""
    if not isinstance(config, str):
        raise Refused("'cfg' is no text")
    arrays = {}
    for name, value in blobs.items():
        if not isinstance(value, safe_pickle.Made) or getattr(value, "values", None) is None:
            raise Refused(f"{text_of(name)!r:.60} is no array")
        arrays[text_of(name)] = value.values
    return arrays, config


def weights_of(saved, part):
    """PyTorch's tensors, of a state dictionary or of a checkpoint with one."""
    if not isinstance(saved, dict):
        raise Refused("holds no dictionary of tensors; save the network's state_dict()")
    if part is None and not any(isinstance(value, View) for value in saved.values()):
        found = [name for name in PARTS if isinstance(saved.get(name), dict)]
        part = found[0] if found else None
        if part is None:
            raise Refused(f"holds no tensors by name; it has {sorted(map(str, saved))[:8]}. Name the "
                          f"dictionary with the weights: --part")
    if part is not None:
        if not isinstance(saved.get(part), dict):
            raise Refused(f"has no dictionary {part!r}; it has {sorted(map(str, saved))[:8]}")
        saved = saved[part]
    names = [name for name, value in saved.items() if isinstance(value, View)]
    if not names:
        raise Refused(f"the dictionary {part!r} holds no tensors")
    prefix = "module." if all(str(name).startswith("module.") for name in names) else ""
    others = [name for name in saved if name not in names]
    return {name[len(prefix):]: saved[name].array(name) for name in names}, others


def convert(arguments):
    source, saved = read_any(arguments.input)
    metadata, left_out = {"source": source}, []
    if source == "detectron":
        arrays, config = blobs_of(saved)
        if config:
            metadata["cfg"] = config
        if not arguments.momentum:
            left_out = [name for name in arrays if str(name).endswith("_momentum")]
    else:
        arrays, left_out = weights_of(saved, arguments.part)
    arrays = {name: array for name, array in arrays.items() if name not in left_out}
    for name in arrays:
        if not isinstance(name, str) or not name or name == "__metadata__":
            raise Refused(f"has a tensor with the name {name!r:.60}")
    if not arrays:
        raise Refused("holds no arrays")
    safetensors_file.write(arguments.output, arrays, metadata)
    print(f"{arguments.output}: {len(arrays)} tensors of {source}" +
          (f"; left out {len(left_out)}: {', '.join(map(str, left_out[:3]))}" +
           (", .." if len(left_out) > 3 else "") if left_out else ""))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("input", metavar="IN")
    parser.add_argument("output", metavar="OUT.safetensors")
    parser.add_argument("--momentum", action="store_true", help="keep Detectron's momentum")
    parser.add_argument("--part", metavar="NAME", help="the dictionary with the weights")
    arguments = parser.parse_args()
    try:
        if os.path.exists(arguments.output) and os.path.samefile(arguments.input, arguments.output):
            raise Refused("is the input itself; name another output")
        convert(arguments)
    except (Refused, zipfile.BadZipFile) as error:
        print(f"{arguments.input}: {error}", file=sys.stderr)
        sys.exit(2)
    except OSError as error:
        print(error, file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
