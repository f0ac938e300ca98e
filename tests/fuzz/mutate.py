#!/usr/bin/env python3
"""Damages models at random and runs one command on each: it must exit with 0 or 2, within 10 s of
CPU time and 1 GiB and four times the file of memory.

Usage: mutate.py LOCKSTEP_BINARY [--files N] [--seed N] [--jobs N] [--keep DIR] [--only INDEX]

Everything follows from the seed and the number of the file, so --only repeats one. What fails is
kept in DIR, with the command beside it. Needs nothing but Python.
"""

import argparse
import concurrent.futures
import math
import os
import pathlib
import random
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
import time

SECONDS = 10
MEMORY = 1 << 30

# ---- protobuf, as far as ONNX needs it: a message is a list of (field, wire type, content)

MESSAGES = {  # field -> message
    "Model": {7: "Graph", 8: "Opset", 14: "Entry", 20: "Training", 25: "Function"},
    "Graph": {1: "Node", 5: "Tensor", 11: "Info", 12: "Info", 13: "Info", 15: "Sparse"},
    "Training": {1: "Graph", 2: "Graph", 3: "Entry", 4: "Entry"},
    "Function": {7: "Node", 9: "Opset"},
    "Node": {5: "Attribute"},
    "Attribute": {5: "Tensor", 6: "Graph", 10: "Tensor", 11: "Graph"},
    "Sparse": {1: "Tensor", 2: "Tensor"},
    "Tensor": {13: "Entry"},
    "Info": {2: "Type"},
    "Type": {1: "TensorType"},
    "TensorType": {2: "Shape"},
    "Shape": {1: "Dim"},
}


def varint(number):
    number &= (1 << 64) - 1
    out = bytearray()
    while number >= 128:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes(out + bytes([number]))


def read_varint(data, at):
    number = 0
    for shift in range(0, 70, 7):
        byte = data[at]
        at += 1
        number |= (byte & 127) << shift
        if byte < 128:
            return number, at
    raise ValueError("a number without end")


def parse(data, kind):
    fields, at = [], 0
    while at < len(data):
        tag, at = read_varint(data, at)
        field, wire = tag >> 3, tag & 7
        if wire == 0:
            content, at = read_varint(data, at)
        elif wire in (1, 5):
            size = 8 if wire == 1 else 4
            content, at = data[at:at + size], at + size
        elif wire == 2:
            size, at = read_varint(data, at)
            content, at = data[at:at + size], at + size
            inner = MESSAGES.get(kind, {}).get(field)
            if inner:
                content = (inner, parse(content, inner))
        else:
            raise ValueError("wire type %d" % wire)
        fields.append([field, wire, content])
    return fields


def serialize(fields):
    out = []
    for field, wire, content in fields:
        out.append(varint(field << 3 | wire))
        if wire == 0:
            out.append(varint(content))
        elif wire == 2:
            body = serialize(content[1]) if isinstance(content, tuple) else content
            out += [varint(len(body)), body]
        else:
            out.append(content)
    return b"".join(out)


def message(kind, *fields):
    """Fields are (number, value): an int, a float, bytes, text, or a message."""
    made = []
    for number, value in fields:
        if isinstance(value, str):
            value = value.encode()
        wire = 0 if isinstance(value, int) else 5 if isinstance(value, float) else 2
        made.append([number, wire, struct.pack("<f", value) if wire == 5 else value])
    return (kind, made)


# ---- seeds

def info(name, dims):
    shape = message("Shape", *[(1, message("Dim", (1, d) if isinstance(d, int) else (2, d)))
                               for d in dims])
    return message("Info", (1, name), (2, message("Type", (1, message("TensorType", (1, 1),
                                                                      (2, shape))))))


def tensor(name, dims, values, integers=False):
    raw = struct.pack("<%d%s" % (len(values), "q" if integers else "f"), *values)
    return message("Tensor", *[(1, d) for d in dims], (2, 7 if integers else 1), (8, name), (9, raw))


def ints(name, values):
    return message("Attribute", (1, name), *[(8, v) for v in values], (20, 7))


def node(kind, inputs, output, *attributes):
    return message("Node", *[(1, i) for i in inputs], (2, output), (4, kind),
                   *[(5, a) for a in attributes])


def network(opset):
    """loss = mean of a small network with most of what has a window, an axis or a shape operand."""
    def integer(name, value):
        return message("Attribute", (1, name), (3, value), (20, 2))
    nodes = [
        node("Conv", ["x", "w", "b"], "conv", ints("kernel_shape", [3, 3]), ints("strides", [1, 1]),
             ints("pads", [1, 1, 1, 1])),
        node("Relu", ["conv"], "relu"),
        node("MaxPool", ["relu"], "pool", ints("kernel_shape", [2, 2]), ints("strides", [2, 2])),
        node("Transpose", ["pool"], "turned", ints("perm", [0, 2, 3, 1])),
        node("Reshape", ["turned", "shape"], "flat"),
        node("MatMul", ["flat", "m"], "scores"),
        node("Softmax", ["scores"], "soft", integer("axis", 1)),
        node("Concat", ["soft", "scores"], "both", integer("axis", 1)),
        node("ReduceMean", ["both"], "loss", ints("axes", [0, 1]), integer("keepdims", 0)),
    ]
    if opset < 18:
        nodes.insert(3, node("Pad", ["pool", "pads"], "padded") if opset >= 11 else
                     node("Pad", ["pool"], "padded", ints("pads", [0] * 8),
                          message("Attribute", (1, "value"), (2, 0.0), (20, 1))))
        nodes[4][1][0][2] = b"padded"
    graph = message("Graph", *[(1, n) for n in nodes], (2, "net"),
                    (5, tensor("w", [2, 1, 3, 3], [0.1] * 18)), (5, tensor("b", [2], [0.5, 0.1])),
                    (5, tensor("shape", [2], [-1, 8], True)), (5, tensor("m", [8, 3], [0.2] * 24)),
                    (5, tensor("pads", [8], [0] * 8, True)),
                    (11, info("x", ["N", 1, 4, 4])), (12, info("loss", [])),
                    (12, info("scores", ["N", 3])))
    return serialize(message("Model", (1, 8), (7, graph), (8, message("Opset", (2, opset))))[1])


def external(folder):
    """One tensor beside the file."""
    (folder / "weights").write_bytes(struct.pack("<4f", 1, 2, 3, 4))
    weight = message("Tensor", (1, 4), (2, 1), (8, "w"), (14, 1),
                     (13, message("Entry", (1, "location"), (2, "weights"))),
                     (13, message("Entry", (1, "offset"), (2, "0"))),
                     (13, message("Entry", (1, "length"), (2, "16"))))
    graph = message("Graph", (1, node("Add", ["x", "w"], "sum")),
                    (1, node("ReduceMean", ["sum"], "loss", message("Attribute", (1, "keepdims"), (3, 0),
                                                                    (20, 2)))), (2, "net"), (5, weight),
                    (11, info("x", ["N", 1, 4, 4])), (12, info("loss", [])))
    return serialize(message("Model", (1, 8), (7, graph), (8, message("Opset", (2, 13))))[1])


def make_seeds(binary, folder):
    seeds = [("network of opset %d" % opset, network(opset)) for opset in (7, 9, 12, 13, 17, 21)]
    seeds.append(("external data", external(folder)))
    exported = pathlib.Path(__file__).parent.parent / "exported" / "files"
    for path in sorted(exported.glob("*.onnx"), key=lambda path: path.stat().st_size)[:12]:
        seeds.append((path.name, path.read_bytes()))
    net = folder / "net.onnx"
    net.write_bytes(network(13))
    for name, arguments in (("step of one", ["--devices", "cpu"]),
                            ("step of two", ["--devices", "cpu*2", "--all-reduce", "xring"])):
        out = folder / "seed.onnx"
        subprocess.run([binary, "build", net, "--loss", "loss", "-o", out, *arguments], check=True,
                       stdout=subprocess.DEVNULL)
        seeds.append((name, out.read_bytes()))
    return seeds


def write_npy(path, kind, dims, values):
    header = b"{'descr': '<%s', 'fortran_order': False, 'shape': %a, }" % (kind.encode(), dims)
    header += b" " * (63 - (10 + len(header)) % 64) + b"\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header +
                     struct.pack("<%d%s" % (len(values), "f" if kind == "f4" else "q"), *values))


def write_inputs(folder, dims, targets):
    """For inputs of any name, by position."""
    folder.mkdir()
    write_npy(folder / "input_0.npy", "f4", dims, [i % 16 / 16 for i in range(math.prod(dims))])
    if targets:
        write_npy(folder / "input_1.npy", "i8", (dims[0],), [0] * dims[0])


# ---- mutations

NUMBERS = [0, 1, 2, 3, 7, 8, 16, 127, 255, 65536, 2**31 - 1, 2**31, 2**32, 2**33, 2**40, 2**62,
           2**63 - 1, -1, -2, -2**31, -2**63]
TEXTS = [b"", b"x", b"loss", b"w", b"shape", b"1000000000", b"-1", b"0", b"cpu_0/", b"../weights",
         b"/dev/zero", b"\x1b[2J\n\"\\", b"\xff\xfe", b"ai.lockstep", b"Conv", b"Softmax", b"Pad",
         b"Resize", b"Split", b"BatchNormalization", b"Upsample", b"Expand", b"Constant",
         b"AllReduce", b"__replica", b"axis", b"a" * 300]


def lists_in(fields):
    found = [fields]
    for _, _, content in fields:
        if isinstance(content, tuple):
            found += lists_in(content[1])
    return found


def mutate_structure(data, lot, others):
    fields = parse(data, "Model")
    for _ in range(lot.choice([1, 1, 1, 2, 3, 6])):
        where = lot.choice([one for one in lists_in(fields) if one])
        at = lot.randrange(len(where))
        field, wire, content = where[at]
        act = lot.randrange(8)
        if act == 0:
            del where[at]
        elif act == 1:
            where.insert(lot.randrange(len(where) + 1), list(where[at]))
        elif act == 2:
            other = lot.choice(lists_in(parse(lot.choice(others)[1], "Model")))
            if other:
                where.insert(at, list(lot.choice(other)))
        elif act == 3:
            where[at][0] = lot.randrange(1, 30)
        elif act == 4:
            lot.shuffle(where)
        elif wire == 0:
            where[at][2] = lot.choice(NUMBERS)
        elif isinstance(content, bytes) and wire == 2:
            same = [c for one in lists_in(fields) for f, w, c in one
                    if isinstance(c, bytes) and w == 2 and len(c) < 64]
            where[at][2] = lot.choice([lot.choice(TEXTS), lot.choice(same or [b""]),
                                       content[:lot.randrange(len(content) + 1)],
                                       content + bytes(lot.randrange(9)),
                                       mutate_bytes(content, lot) if content else b""])
    return serialize(fields)


def mutate_bytes(data, lot):
    data = bytearray(data)
    for _ in range(lot.choice([1, 1, 2, 4, 16])):
        if not data:
            break
        at = lot.randrange(len(data))
        act = lot.randrange(5)
        if act == 0:
            data[at] ^= 1 << lot.randrange(8)
        elif act == 1:
            data[at] = lot.randrange(256)
        elif act == 2:
            del data[at:at + lot.choice([1, 2, 8, 100])]
        elif act == 3:
            data[at:at] = varint(lot.choice(NUMBERS))
        elif lot.random() < 0.2:
            del data[at:]
    return bytes(data)


def mutated(data, lot, others):
    return mutate_structure(data, lot, others) if lot.random() < 0.7 else mutate_bytes(data, lot)


def command_by_lot(lot, model, inputs, out):
    devices = lot.choice(["cpu", "cpu*2", "cpu*3"])
    return lot.choice([
        ["inspect", model, "--format", lot.choice(["summary", "text", "order", "dot", "buckets"])],
        ["plan", model, "--batch", lot.choice(["1", "2", "32"]), "--devices", devices],
        ["plan", model, "--inference"],
        ["run", model, "--inputs", inputs, "--outputs", out / "run"],
        ["step", model, "--inputs", inputs, "--outputs", out / "step", "--loss", "loss",
         "--devices", lot.choice(["cpu", "cpu*2"])],
        ["build", model, "--loss", "loss", "--devices", devices, "-o", out / "step.onnx"],
    ])


# ---- one file

class Driver:
    def __init__(self, options, work):
        self.options, self.work = options, work
        self.seeds = make_seeds(options.binary, work)
        write_inputs(work / "numbers", (2, 1, 4, 4), targets=False)
        write_inputs(work / "pictures", (2, 3, 32, 32), targets=True)

    def run(self, index):
        """What is wrong, or '', and what it took."""
        lot = random.Random("%d/%d" % (self.options.seed, index))
        name, seed = lot.choice(self.seeds)
        data = mutated(seed, lot, self.seeds)
        folder = self.work / str(index)
        folder.mkdir()
        model = folder / "model.onnx"
        model.write_bytes(data)
        os.link(self.work / "weights", folder / "weights")
        inputs = self.work / ("pictures" if name.endswith(".onnx") else "numbers")
        command = command_by_lot(lot, model, inputs, folder)
        start = time.monotonic()
        status, usage, said = self.watch(command, folder)
        wall = time.monotonic() - start
        took = usage.ru_utime + usage.ru_stime
        memory = usage.ru_maxrss * 1024
        wrong = ""
        if os.WIFSIGNALED(status):
            wrong = "signal %d" % os.WTERMSIG(status)
        elif os.WEXITSTATUS(status) not in (0, 2):
            wrong = "exit %d" % os.WEXITSTATUS(status)
        elif took > SECONDS:
            wrong = "%.1f s" % took
        elif memory > MEMORY + 4 * len(data):
            wrong = "%d MiB" % (memory >> 20)
        elif os.WEXITSTATUS(status) == 2 and not said.strip():
            wrong = "exit 2 without a word"
        elif any(byte < 32 and byte not in b"\n\t" for byte in said):
            wrong = "control characters in what it said"
        if wrong and self.options.keep:
            keep = pathlib.Path(self.options.keep)
            keep.mkdir(parents=True, exist_ok=True)
            shutil.copy(model, keep / ("%d.onnx" % index))
            (keep / ("%d.txt" % index)).write_text("%s (seed: %s): %s\n" % (
                " ".join(map(str, command)), name, wrong))
        shutil.rmtree(folder)
        if wrong:
            wrong = "file %d (%s): lockstep %s: %s\n    %s" % (
                index, name, " ".join(map(str, command)), wrong,
                said.decode(errors="replace").strip().replace("\n", "\n    ")[-600:])
        return wrong, os.WEXITSTATUS(status), took, wall, memory

    def watch(self, command, folder):
        def limit():
            resource.setrlimit(resource.RLIMIT_CPU, (SECONDS + 2, SECONDS + 3))
            resource.setrlimit(resource.RLIMIT_AS, (4 * MEMORY, 4 * MEMORY))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with open(folder / "said", "wb") as said:
            process = subprocess.Popen([self.options.binary, *map(str, command)], stdout=said,
                                       stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                       preexec_fn=limit, cwd=folder,
                                       env=dict(os.environ, LOCKSTEP_MEMORY="700M"))
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = 0
        return status, usage, (folder / "said").read_bytes()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("binary", type=os.path.abspath)
    parser.add_argument("--files", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--keep", help="folder for what fails")
    parser.add_argument("--only", type=int, help="the number of one file")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="lockstep-mutate-") as work:
        driver = Driver(options, pathlib.Path(work))
        numbers = range(options.files) if options.only is None else [options.only]
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            results = list(pool.map(driver.run, numbers))
    wrong = [result[0] for result in results if result[0]]
    print("\n".join(wrong[:20]))
    print("%d files: %d exit 0, %d exit 2, %d wrong; at most %.1f s of CPU time, %.1f s, %d MiB" % (
        len(results), sum(r[1] == 0 and not r[0] for r in results),
        sum(r[1] == 2 and not r[0] for r in results), len(wrong), max(r[2] for r in results),
        max(r[3] for r in results), max(r[4] for r in results) >> 20))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
