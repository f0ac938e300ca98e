# SPDX-License-Identifier: Apache-2.0
"""Data sets of arrays, written by NumPy and safetensors, have the examples that NumPy computes.

    check_arrays.py ARRAY_TOOL FOLDER
"""
import itertools
import os
import shutil
import subprocess
import sys
import zipfile

try:
    import numpy as np
    from safetensors.numpy import save_file
except ImportError:
    print("needs numpy and safetensors")
    sys.exit(77)

TOOL, FOLDER = sys.argv[1:]
ROWS = 37
NAMES = ["bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64",
         "float16", "float32", "float64"]
IS_FLOAT = {name: name.startswith("float") for name in NAMES}


def arrays_of_all_types(random):
    arrays = {}
    for name in NAMES:
        shape = (ROWS, 2, 3)
        if name == "bool":
            arrays[name] = random.random(shape) < 0.5
        elif IS_FLOAT[name]:
            values = random.standard_normal(shape) * 100
            values[0, 0] = [np.inf, -np.inf, np.nan]
            values[1, 0] = [0.0, -0.0, 6e-8]  # a denormal number in float16
            arrays[name] = values.astype(name)
        else:
            arrays[name] = random.integers(0, 100, shape).astype(name)
            arrays[name][0, 0, 0] = np.iinfo(name).max
            arrays[name][0, 0, 1] = np.iinfo(name).min
    return arrays


class Pipe:
    """A file without a position."""
    def __init__(self, file):
        self.write, self.flush = file.write, file.flush


def tool(path, memory, feeds):
    out = f"{FOLDER}/out"
    shutil.rmtree(out, ignore_errors=True)
    os.makedirs(out)
    done = subprocess.run([TOOL, path, str(memory), out, *feeds], capture_output=True, text=True)
    if done.returncode != 0:
        return done.stderr
    return {feed.split("=")[0]: np.load(f"{out}/{feed.split('=')[0]}.npy") for feed in feeds}


def expect_same(what, got, expected):
    if isinstance(got, str):
        sys.exit(f"{what}: {got}")
    for name, array in expected.items():
        same = got[name].dtype == array.dtype and got[name].tobytes() == array.tobytes()
        # The sign and payload of a NaN may differ after a conversion.
        same = same or (got[name].dtype == array.dtype and array.dtype.kind == "f"
                        and np.array_equal(got[name], array, equal_nan=True))
        if not same:
            sys.exit(f"{what}: '{name}' differs:\n{got[name].ravel()[:12]}\n{array.ravel()[:12]}")


def write_sharded(folder, arrays, write):
    cuts = [0, 11, 11, 30, ROWS]
    for number, (first, end) in enumerate(itertools.pairwise(cuts)):
        write(f"{folder}/{number:05}", {name: array[first:end] for name, array in arrays.items()})


def sets_of(arrays):
    """Yields the name of each way to write the arrays, and its folder or file."""
    def folder(name):
        path = f"{FOLDER}/{name}"
        os.makedirs(path)
        return path

    path = folder("npy")
    for name, array in arrays.items():
        np.save(f"{path}/{name}.npy", array)
    yield path
    path = folder("npy_shards")
    for name, array in arrays.items():
        for number, part in enumerate(np.array_split(array, 5)):
            np.save(f"{path}/{name}-{number:05}.npy", part)
    yield path
    path = folder("npz")
    np.savez(f"{path}/all.npz", **arrays)
    yield path
    yield f"{path}/all.npz"
    path = folder("npz_compressed")
    np.savez_compressed(f"{path}/all.npz", **arrays)
    yield path
    path = folder("npz_shards")
    write_sharded(path, arrays, lambda at, part: np.savez_compressed(
        f"{path}/part-{os.path.basename(at)}.npz", **part))
    yield path
    path = folder("npz_streamed")  # sizes behind the data
    with open(f"{path}/all.npz", "wb") as file:
        with zipfile.ZipFile(Pipe(file), "w", zipfile.ZIP_DEFLATED) as zipped:
            for name, array in arrays.items():
                with zipped.open(f"{name}.npy", "w", force_zip64=True) as member:
                    np.save(member, array)
    yield path
    path = folder("safetensors")
    save_file(arrays, f"{path}/all.safetensors")
    yield path
    path = folder("safetensors_shards")
    for number, (first, end) in enumerate([(0, 20), (20, ROWS)]):
        save_file({name: array[first:end].copy() for name, array in arrays.items()},
                  f"{path}/data-{number + 1:05}-of-00002.safetensors")
    yield path


def check_files(arrays):
    count = 0
    for path in sets_of(arrays):
        for memory in (0, 1 << 20):
            expect_same(f"{path}, {memory} bytes of memory",
                        tool(path, memory, [f"{name}={name}" for name in arrays]), arrays)
            count += 1
    print(f"{len(arrays)} types in {count} sets are as NumPy has them")


def converted(array, to):
    """NumPy's conversion, or None if it would not be exact where it has to be."""
    if array.dtype.kind == "f" and not IS_FLOAT[to]:
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        result = array.astype(to)
        if to == "float16" and array.dtype.kind != "f":  # through float32, as all of our casts
            result = array.astype("float32").astype(to)
        elif to == "float16":
            result = array.astype("float32").astype(to)
    if not IS_FLOAT[to] and [int(x) for x in result.ravel()] != [int(x) for x in array.ravel()]:
        return None
    return result


def check_conversions(arrays):
    path, same, refused = f"{FOLDER}/npy", 0, 0
    for name, to in itertools.product(arrays, NAMES):
        got, expected = tool(path, 1 << 20, [f"x={to}={name}"]), converted(arrays[name], to)
        if expected is None:
            if not isinstance(got, str) or f"{name}.npy" not in got:
                sys.exit(f"{name} to {to}: should be refused by name, gave {got}")
            refused += 1
        else:
            expect_same(f"{name} to {to}", got, {"x": expected})
            same += 1
    print(f"{same} conversions agree with NumPy, {refused} are refused")


def check_csv(random):
    x = random.standard_normal((ROWS, 3)) * 10.0 ** random.integers(-30, 30, (ROWS, 3))
    y = random.integers(-2 ** 62, 2 ** 62, ROWS)
    with open(f"{FOLDER}/t.csv", "w", newline="") as file:
        file.write("x.0,x.1,x.2,y\n")
        for row, label in zip(x, y):
            file.write(",".join([*(repr(float(value)) for value in row), str(label)]) + "\n")
    theirs = np.genfromtxt(f"{FOLDER}/t.csv", delimiter=",", names=True, dtype=None)
    for type_name in ("float64", "float32"):
        columns = np.stack([theirs[name] for name in theirs.dtype.names[:3]], 1)
        expect_same("t.csv", tool(f"{FOLDER}/t.csv", 1 << 20, [f"x={type_name}", "y=int64"]),
                    {"x": columns.astype(type_name), "y": y})
    print("the numbers of a CSV file are as NumPy reads them")


def check_refusals(arrays):
    np.save(f"{FOLDER}/fortran.npy", np.asfortranarray(arrays["float32"]))
    np.save(f"{FOLDER}/big_endian.npy", arrays["float32"].astype(">f4"))
    np.save(f"{FOLDER}/text.npy", np.array(["a", "b"]))
    np.save(f"{FOLDER}/number.npy", np.float32(1))
    for name, word in (("fortran", "column-major"), ("big_endian", ">f4"), ("text", "<U1"),
                       ("number", "single number")):
        said = tool(f"{FOLDER}/{name}.npy", 0, [f"{name}=float32"])
        if not isinstance(said, str) or word not in said or f"{name}.npy" not in said:
            sys.exit(f"{name}.npy: should be refused with '{word}', gave {said}")
    print("arrays that cannot be read are refused by name")


def main():
    shutil.rmtree(FOLDER, ignore_errors=True)
    os.makedirs(FOLDER)
    random = np.random.default_rng(7)
    arrays = arrays_of_all_types(random)
    check_files(arrays)
    check_conversions(arrays)
    check_csv(random)
    check_refusals(arrays)


main()
