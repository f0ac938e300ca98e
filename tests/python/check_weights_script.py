# SPDX-License-Identifier: Apache-2.0
"""tools/weights/to_safetensors.py keeps every bit, runs nothing, and refuses by name.

    check_weights_script.py FOLDER

Pickles by the conventions of Python 2 are written here, instruction by instruction. Without PyTorch
its files are not checked. Exit code 77: NumPy is not installed.
"""
import collections
import json
import os
import pickle
import shutil
import struct
import subprocess
import sys
import zipfile

try:
    import numpy as np
except ImportError as missing:
    print(f"skipped: {missing} (PyPI: numpy)")
    sys.exit(77)
try:
    import torch
except ImportError:
    torch = None

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SCRIPT = f"{ROOT}/tools/weights/to_safetensors.py"
DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "U8": "u1",
          "BOOL": "?", "BF16": "<u2"}


def text(value):
    """A text of Python 2, which is bytes."""
    value = value if isinstance(value, bytes) else value.encode()
    return (b"U" + bytes([len(value)]) if len(value) < 256 else b"T" + struct.pack("<i", len(value))) + value


def number(value):
    return b"K" + bytes([value]) if value < 256 else b"J" + struct.pack("<i", value)


def array(values):
    kind = b"cnumpy\ndtype\n" + text(values.dtype.str[1:]) + b"K\x00K\x01\x87R" + b"(K\x03" + \
        text(values.dtype.str[:1]) + b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
    by_columns = values.ndim > 1 and values.flags.f_contiguous and not values.flags.c_contiguous
    sides = b"(" + b"".join(number(side) for side in values.shape) + b"t"
    return b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\nK\x00\x85U\x01btR(K\x01" + sides + \
        kind + (b"\x88" if by_columns else b"\x89") + text(values.tobytes("A")) + b"tb"


def dictionary(entries):
    return b"}(" + b"".join(text(name) + value for name, value in entries) + b"u"


def python2(value):
    return b"\x80\x02" + value + b"."


def run(source, *more, out=None):
    return subprocess.run([sys.executable, SCRIPT, source, out or source + ".safetensors", *more],
                          capture_output=True, text=True, timeout=120)


def slow_crc(data):
    total = 0xFFFFFFFF
    for byte in data:
        total ^= byte
        for _ in range(8):
            total = total >> 1 ^ (0x82F63B78 if total & 1 else 0)
    return f"{total ^ 0xFFFFFFFF:08x}"


def read(path, check_sums=True):
    with open(path, "rb") as file:
        data = file.read()
    length, = struct.unpack("<Q", data[:8])
    header, rest = json.loads(data[8:8 + length]), data[8 + length:]
    metadata = header.pop("__metadata__")
    tensors = {}
    for name, said in header.items():
        begin, end = said["data_offsets"]
        tensors[name] = np.frombuffer(rest[begin:end], DTYPES[said["dtype"]]).reshape(said["shape"])
        if check_sums:
            assert metadata[f"crc32c/{name}"] == slow_crc(rest[begin:end]), name
    if check_sums:
        total = metadata["crc32c"]
        zeroed = data.replace(f'"crc32c":"{total}"'.encode(), b'"crc32c":"00000000"', 1)
        assert total == slow_crc(zeroed), "the file's checksum"
    return tensors, {name: value for name, value in metadata.items() if "crc32c" not in name}


def converted(path, *more, **how):
    done = run(path, *more)
    assert done.returncode == 0, done.stderr
    return read(path + ".safetensors", **how)


def refused(path, content, *parts):
    if content is not None:
        with open(path, "wb") as file:
            file.write(content)
    out = path + ".safetensors"
    before = os.path.exists(out)
    done = run(path)
    assert done.returncode == 2, f"{path}: {done.returncode} {done.stdout} {done.stderr}"
    for part in (os.path.basename(path), *parts):
        assert part in done.stderr, f"missing {part!r} in: {done.stderr}"
    assert "Traceback" not in done.stderr, done.stderr
    assert os.path.exists(out) == before, "nothing is written"
    assert not [name for name in os.listdir(os.path.dirname(path)) if ".safetensors." in name]


def same(ours, theirs):
    assert sorted(ours) == sorted(theirs), (sorted(ours), sorted(theirs))
    for name, values in theirs.items():
        assert ours[name].shape == values.shape, name
        assert ours[name].tobytes() == values.tobytes("C"), name
        assert ours[name].dtype.newbyteorder("=") == values.dtype.newbyteorder("="), name


def blobs():
    random = np.random.default_rng(1)
    odd = np.array([0, -0.0, np.inf, -np.inf, np.nan, 1e-45], np.float32)
    odd.view(np.uint32)[4] = 0x7FC12345  # a NaN with bits to lose
    return {"conv1_w": random.standard_normal((8, 3, 7, 7)).astype("<f4"), "odd_b": odd,
            "columns_w": np.asfortranarray(random.standard_normal((5, 4)).astype("<f4")),
            "empty_w": np.zeros((0, 4), "<f4"), "lr": np.array([0.01], "<f8"),
            "all_bytes": np.arange(256, dtype="u1"), "iterations": np.array([7, -2**40], "<i8")}


def detectron(folder):
    plain = blobs()
    momentum = {"conv1_w_momentum": plain["conv1_w"] * 2}
    entries = [(name, array(values)) for name, values in {**plain, **momentum}.items()]
    path = f"{folder}/model_final.pkl"
    with open(path, "wb") as file:
        file.write(python2(dictionary([("blobs", dictionary(entries)), ("cfg", text("MODEL: {}\n\xe9"))])))
    tensors, metadata = converted(path)
    same(tensors, plain)
    assert metadata == {"source": "detectron", "cfg": "MODEL: {}\n\xc3\xa9"}, metadata
    assert "left out 1: conv1_w_momentum" in run(path).stdout
    same(converted(path, "--momentum")[0], {**plain, **momentum})
    with open(path, "wb") as file:
        file.write(python2(dictionary(entries)))
    tensors, metadata = converted(path)
    same(tensors, plain)
    assert metadata == {"source": "detectron"}, metadata
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        with open(path, "wb") as file:
            pickle.dump({"blobs": plain, "cfg": "x"}, file, protocol)
        same(converted(path)[0], plain)
    return python2(dictionary(entries))


class Runs:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.system, (f"touch {self.path}",)


class Plain:
    pass


def hostile(folder, good):
    path, mark = f"{folder}/bad.pkl", f"{folder}/was_run"
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        refused(path, pickle.dumps({"blobs": blobs(), "cfg": Runs(mark)}, protocol), "posix.system",
                "Nothing of the file was run")
    commands = [b"cos\nsystem\n", b"c__builtin__\neval\n", b"cbuiltins\ngetattr\n",
                b"csubprocess\nPopen\n", b"cnumpy\nload\n", b"cnumpy.core.multiarray\nfromfile\n"]
    for command in commands:
        name = command[1:-1].replace(b"\n", b".").decode()
        for form in command + b".", command + text(f"touch {mark}") + b"\x85R.":
            refused(path, b"\x80\x02" + form, f"names {name};")
    refused(path, b"(" + text(f"touch {mark}") + b"ios\nsystem\n.", "an instruction that files of arrays")
    refused(path, b"\x80\x02cnumpy\nndarray\n" + number(3) + b"\x85R.", "calls something")
    refused(path, b"\x80\x02cnumpy\ndtype\n}U\x04makecnumpy\ndtype\nsb.", "gives a state")
    refused(path, pickle.dumps(Plain()), "__main__.Plain")
    refused(path, pickle.dumps({"blobs": {"a": 1.5}}), "'a' is no array")
    refused(path, pickle.dumps([1, 2]), "holds no dictionary")
    refused(path, pickle.dumps({"blobs": {"a": np.array([None])}}), "an array of the type 'O8'")
    refused(path, b"\x80\x02\x82\x01.", "an instruction")
    refused(path, b"\x80\x02Q.", "damaged")
    refused(path, b"(" * 100000 + b"l" * 100000 + b".")
    assert not os.path.exists(mark), "code of the pickle was run"

    # Cut off, at many places.
    for at in sorted({0, 1, 2, 3, *range(5, len(good), max(1, len(good) // 60)), len(good) - 1}):
        refused(path, good[:at])
    # Ten gigabytes are announced.
    huge = 10 * 2**30
    for code in (b"T" + struct.pack("<I", 2**31 - 1), b"X" + struct.pack("<I", 2**32 - 1),
                 b"B" + struct.pack("<I", 2**32 - 1), b"\x8e" + struct.pack("<Q", huge),
                 b"\x8d" + struct.pack("<Q", huge), b"\x96" + struct.pack("<Q", huge),
                 b"\x8b" + struct.pack("<I", 2**31 - 1), b"\x95" + struct.pack("<Q", huge)):
        refused(path, b"\x80\x04" + code + b"abc", "are left: the file is cut off or damaged")
    small = array(np.zeros(4, "<f4"))
    refused(path, python2(dictionary([("a", small.replace(b"(K\x04t", b"(J\x00\xca\x9a\x3bJ\x05\0\0\0t"))])),
            "20000000000 bytes, with 16 bytes of data")
    refused(path, b"\x80\x02]r" + struct.pack("<I", 2**31 - 1) + b".", "holds no dictionary")
    refused(f"{folder}/none.pkl", None, "No such file")


def torch_files(folder):
    base = torch.arange(24, dtype=torch.float32).reshape(4, 6) + 0.5
    state = collections.OrderedDict(
        whole=base, turned=base.t(), part=base[1:3, ::2], again=base, one=torch.tensor(3.0),
        none=torch.zeros(0, 3), half=torch.randn(5).half(), double=torch.randn(2, 2).double(),
        count=torch.tensor(9), flags=torch.tensor([True, False]), bytes=torch.arange(5, dtype=torch.uint8),
        learnt=torch.nn.Parameter(torch.randn(3, 2)), brain=torch.randn(7).bfloat16())
    state["whole"][0, 0] = float("nan")

    def bits(tensor):
        tensor = tensor.detach().contiguous()
        return (tensor.view(torch.int16).numpy().view("<u2") if tensor.dtype == torch.bfloat16
                else tensor.numpy())

    wanted = {name: bits(tensor) for name, tensor in state.items()}
    path = f"{folder}/weights.pth"
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4))
    for zipped in True, False:
        def save(what):
            torch.save(what, path, _use_new_zipfile_serialization=zipped)

        save(state)
        tensors, metadata = converted(path)
        same(tensors, wanted)
        assert metadata == {"source": "pytorch"}, metadata
        save(model.state_dict())
        same(converted(path)[0], {name: bits(tensor) for name, tensor in model.state_dict().items()})
        parallel = {"module." + name: tensor for name, tensor in state.items()}
        save({"epoch": 3, "best": 0.5, "state_dict": parallel, "arch": "resnet",
              "optimizer": torch.optim.SGD(model.parameters(), 0.1).state_dict()})
        same(converted(path)[0], wanted)
        save({"teacher": state, "epoch": 1})
        done = run(path)
        assert done.returncode == 2 and "['epoch', 'teacher']" in done.stderr, done.stderr
        same(converted(path, "--part", "teacher")[0], wanted)
        os.remove(path + ".safetensors")
        save(model)
        refused(path, None, "names torch.nn.modules.container.Sequential")
        mark = f"{folder}/was_run"
        save({"a": Runs(mark)})
        refused(path, None, "names posix.system")
        assert not os.path.exists(mark)
        save({"wide": torch.zeros(1).expand(10**6, 10**4)})
        refused(path, None, "'wide' is a tensor of (1000000, 10000) from number 0 on, but its storage has")
        save(state)
        with open(path, "rb") as file:
            good = file.read()
        for at in range(0, len(good) - 1, max(1, len(good) // 40)):
            refused(path, good[:at])
    torch.save(state, path)
    with zipfile.ZipFile(path) as archive, zipfile.ZipFile(path + "2", "w", zipfile.ZIP_DEFLATED) as packed:
        for info in archive.infolist():
            packed.writestr(info.filename, archive.read(info))
    refused(path + "2", None, "is compressed, which PyTorch never does")
    with zipfile.ZipFile(path) as archive, zipfile.ZipFile(path + "2", "w") as less:
        for info in archive.infolist():
            less.writestr(info.filename, archive.read(info)[:8] if "/data/" in info.filename
                          else archive.read(info))
    refused(path + "2", None, "the storage '0' announces 96 bytes, but has 8")
    with zipfile.ZipFile(path + "2", "w") as other:
        other.writestr("a/b.txt", "c")
    refused(path + "2", None, "is a zip file, but none of torch.save")


def large(folder):
    """The quick sum equals the slow one, for any length."""
    sys.path.insert(0, f"{ROOT}/tools/weights")
    import safetensors_file
    random = np.random.default_rng(2)
    for size in 0, 1, 7, 127, 128, 129, 1000, 4096, 70001:
        data = random.integers(0, 256, size, dtype=np.uint8).tobytes()
        assert f"{safetensors_file.crc32c(data):08x}" == slow_crc(data), size
    assert safetensors_file.crc32c(b"123456789") == 0xE3069283
    path = f"{folder}/large.pkl"
    values = random.standard_normal((512, 2048, 3)).astype("<f4")
    with open(path, "wb") as file:
        pickle.dump({"w": values}, file, 2)
    same(converted(path, check_sums=False)[0], {"w": values})


def main():
    folder = sys.argv[1]
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    hostile(folder, detectron(folder))
    if torch:
        torch_files(folder)
    large(folder)
    shutil.rmtree(folder)
    print("pickles of Detectron" + (" and files of PyTorch" if torch else "") + " keep every bit")


main()
