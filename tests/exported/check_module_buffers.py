# SPDX-License-Identifier: Apache-2.0
"""Compares the trained initializers of modules with buffers, as PyTorch's newer exporter writes them, with
the modules' parameters and buffers, and one step on 1 and 2 replicas with PyTorch's loss and gradients.

    check_module_buffers.py LOCKSTEP WORK [FOLDER]      Exit code 77: no numpy or onnx.

FOLDER: files of write_buffers.py; without it, the stored ones.
"""
import pathlib
import shutil
import sys

from check_bags import check, np
from check_initializers import onnx, roles, trained

REASONS = {"a buffer, the exporter says", "not float32", "class weights of a loss", "only constants depend on it",
           "running statistics of a batch norm that stays fixed"}


def errors_of(lockstep, work, path):
    results = np.load(path.with_suffix(".npz"))
    truth = {name: results[name] for name in results if name == "loss" or name.endswith("_grad")}
    buffers, frozen = set(results["buffers"]), list(results["frozen"])
    freeze = [word for name in frozen for word in ("--freeze", name)]
    found = roles(lockstep, path, *freeze)
    in_file = {tensor.name for tensor in onnx.load(path).graph.initializer}
    if missing := in_file - set(found):
        yield f"the list lacks {missing}"
    parameters = {name.removesuffix("_grad") for name in truth if name != "loss"}
    aliases = parameters - in_file  # the file has one of the names of a tied parameter
    parameters -= aliases
    surplus = trained(found) - parameters
    if missed := parameters - trained(found):
        yield f"{missed} is not trained"
    if len(surplus) != len(aliases):
        yield f"{surplus} is trained"
    for name in sorted(buffers & set(found)):
        if found[name][0] != "constant" or found[name][1] not in REASONS:
            yield f"the buffer {name} is {found[name]}"
    if aliases:  # whose only other name is the surplus
        truth[f"{surplus.pop()}_grad"] = truth.pop(f"{aliases.pop()}_grad")
    shutil.rmtree(work, ignore_errors=True)
    (work / "in").mkdir(parents=True)
    for name in results:
        if name.startswith("in_"):
            np.save(work / "in" / f"{name[3:]}.npy", results[name])
    for replicas in (1, 2) if results["is_mean_over_rows"] else (1,):
        if error := check(lockstep, work, path, truth, replicas, *freeze):
            yield f"{replicas} replicas: {error}"
        for name in buffers | set(frozen):
            if (work / "out" / f"{name}.npy").exists():
                yield f"{replicas} replicas: the step has written {name}"


def main():
    lockstep, work = sys.argv[1], pathlib.Path(sys.argv[2])
    stored = pathlib.Path(__file__).parent / "buffers"
    folder = pathlib.Path(sys.argv[3]) if len(sys.argv) > 3 else stored
    files = sorted(folder.glob("*.onnx"))
    failed = 0
    for path in files:
        errors = list(errors_of(lockstep, work, path))
        failed += bool(errors)
        print(f"{path.stem}: {'; '.join(errors) or 'as PyTorch'}")
    print(f"{len(files)} files, {failed} differ")
    return 1 if failed or len(files) < 10 else 0


if __name__ == "__main__":
    sys.exit(main())
