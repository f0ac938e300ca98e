# SPDX-License-Identifier: Apache-2.0
"""Exports networks that no test has seen, runs one step of each on 1 and 2 replicas, and compares the loss
and the gradients with PyTorch's. Needs the newest PyTorch, torchvision, timm, transformers and onnxruntime.

    measure_newcomers.py LOCKSTEP FOLDER [--default | --masks] [NETWORK...]

Prints a table, in which **!** marks the networks that do not pass. A network is exported in training mode
with its loss inside, by the newer exporter without optimisation, with a symbolic first dimension. A
difference of gradients is |ours - exact| / |exact|, over all gradients together; exact is PyTorch in float64.
A step passes at 1e-4, or at twice the difference of PyTorch in the network's own element type, or if the
exact gradients move by half as much when parameters and inputs move by a millionth: then values are so near
the corner of a ReLU that float32, in any order of sums, may put them on the other side. Where the file
computes another loss than PyTorch, the loss and slopes of the file in float64 decide (file_truth.py), and the
remark says so. Dropout and stochastic depth are 0. With --default the networks keep their rates, and a step
only has to run. With --masks they keep their rates, too, and are compared with the same draws in both: the draws
of PyTorch become inputs of the file (masks.py). Networks that draw nothing have no row then.
"""
import argparse
import contextlib
import copy
import multiprocessing
import os
import pathlib
import shutil
import subprocess
import warnings

import numpy as np
import onnx
import onnxruntime
import torch

from file_truth import FileTruth
from masks import FedFile, Recorded, Unmatched, recorded
from networks import perturbed
from newcomer import without_draws
from newcomers_losses import LOSSES
from newcomers_other import OTHER
from newcomers_pictures import PICTURES
from newcomers_text import TEXT

warnings.filterwarnings("ignore")
NEWCOMERS = PICTURES | TEXT | OTHER | LOSSES
LIMIT, LOSS_LIMIT, LONGEST = 1e-4, 1e-5, 240
MOST_FOR_EVALUATOR = 300_000  # parameters
NUDGE, NEIGHBOURS, MUCH = 1e-6, 4, 0.1
SECONDS = 900


def brief(text):
    """The line of an error that says most, for a cell of the table."""
    lines = [line.strip() for line in str(text).splitlines() if line.strip()] or ["no message"]
    errors = [line for line in lines if line.startswith("lockstep: ")] or lines
    return errors[0].replace("|", "/")[:LONGEST]


def cause_of(error):
    """The exporter wraps the first error in others."""
    while error.__cause__ is not None:
        error = error.__cause__
    return f"{type(error).__name__}: {error}"


def export(model, batch, path):
    axes = {name: {0: torch.export.Dim.DYNAMIC} for name in batch}
    torch.onnx.export(model, kwargs=batch, f=path, input_names=list(batch), output_names=["loss"], verbose=False,
                      optimize=False, dynamic_shapes=axes)


def write_input(folder, name, value):
    if value.dtype != torch.bfloat16:  # which numpy lacks
        np.save(folder / f"{name}.npy", value.numpy())
        return
    tensor = onnx.TensorProto(name=name, data_type=onnx.TensorProto.BFLOAT16, dims=value.shape,
                              raw_data=value.view(torch.int16).numpy().tobytes())
    (folder / f"{name}.pb").write_bytes(tensor.SerializeToString())


def parts_of(batch, count):
    return [dict(zip(batch, values)) for values in zip(*[value.chunk(count) for value in batch.values()])]


def gradients(model, batch, replicas, kind=None, draws=None):
    """The loss and gradients, each replica with its own rows and statistics. `kind`: an element type, or the
    network's own. `draws`: random values for each replica."""
    net, total = copy.deepcopy(model), 0.0
    if kind:
        net = net.to(kind)
    for i, part in enumerate(parts_of(batch, replicas)):
        if kind:
            part = {name: x.to(kind) if x.is_floating_point() else x for name, x in part.items()}
        with Recorded(draws[i]) if draws else contextlib.nullcontext():
            loss = net(**part) / replicas
        loss.backward()
        total += loss.item()
    return total, {name: p.grad.double().numpy() for name, p in net.named_parameters() if p.grad is not None}


def aliases(model):
    """The names of each parameter; tied weights have several."""
    names = {}
    for name, p in model.named_parameters(remove_duplicate=False):
        names.setdefault(id(p), []).append(name)
    return {group[0]: group for group in names.values()}


def step(lockstep, folder, replicas):
    out = folder / "out"
    shutil.rmtree(out, ignore_errors=True)
    run = subprocess.run([lockstep, "step", folder / "net.onnx", "--inputs", folder / "in", "--outputs", out, "--loss",
                          "loss", "--lr", "0.1", "--devices", f"cpu*{replicas}", "--train-batch-norm"],
                         capture_output=True, text=True)
    if run.returncode < 0:
        return f"lockstep ended by signal {-run.returncode}"
    return brief(run.stderr.replace(f"{folder}/", "")) if run.returncode else ""


def written(folder, names):
    """The sum of a parameter's gradients over its names; None without any."""
    found = [np.load(file).astype(np.float64) for name in names
             if (file := folder / "out" / f"{name.replace('/', '%2F')}_grad.npy").exists()]
    return sum(found) if found else None


def apart(ours, exact):
    """The distance over all gradients, relative to their length."""
    length = np.sqrt(sum((g ** 2).sum() for g in exact.values()))
    off = np.sqrt(sum(((ours[n] - g) ** 2).sum() for n, g in exact.items()))
    return float(off / length)


def moved(model, batch, replicas, loss, exact, draws):
    """The largest changes of loss and exact gradients at neighbouring parameters and inputs."""
    def nudged(x):
        return x.double() * (1 + NUDGE * torch.randn(x.shape, dtype=torch.float64)) if x.is_floating_point() else x

    worst = [0.0, 0.0]
    for _ in range(NEIGHBOURS):
        near = copy.deepcopy(model).double()
        with torch.no_grad():
            for p in near.parameters():
                p.copy_(nudged(p))
        there_loss, there = gradients(near, {name: nudged(x) for name, x in batch.items()}, replicas, draws=draws)
        changes = abs(there_loss - loss) / max(abs(loss), 1e-30), apart(there, exact)
        worst = [max(pair) for pair in zip(worst, changes)]
    return worst


def compare(folder, model, batch, replicas, draws):
    """Returns the cell, the trouble or "", and a remark. With draws only PyTorch decides: the file would accept the
    draws of another node."""
    loss, exact = gradients(model, batch, replicas, torch.float64, draws)
    own_loss, own = gradients(model, batch, replicas, draws=draws)
    exact = {name: g for name, g in exact.items() if np.abs(g).max() > 0}
    ours, missing = {}, []
    for first, names in aliases(model).items():
        if first in exact:
            ours[first] = written(folder, names)
            if ours[first] is None:
                missing.append(first)
                ours[first] = np.zeros_like(exact[first])
            elif ours[first].shape != exact[first].shape:
                return "", f"the gradient of {first} is {ours[first].shape}, should be {exact[first].shape}", ""
    stepped = float(np.load(folder / "out" / "loss.npy").astype(np.float64).reshape(()))
    of_loss, own_of_loss = (abs(x - loss) / max(abs(loss), 1e-30) for x in (stepped, own_loss))
    off, own_off = apart(ours, exact), apart(own, exact)
    cell = f"{of_loss:.0e}, {off:.0e} (PyTorch {own_of_loss:.0e}, {own_off:.0e})"
    if missing:
        return cell, f"no gradient of {missing[0]}" + (f" and {len(missing) - 1} more" if missing[1:] else ""), ""
    if own_off > MUCH:
        return cell, "", "decides nothing: PyTorch's own gradients are off as much"
    if of_loss <= max(LOSS_LIMIT, 2 * own_of_loss) and off <= max(LIMIT, 2 * own_off):
        return cell, "", ""
    by_loss, by = moved(model, batch, replicas, loss, exact, draws)
    if of_loss <= max(LOSS_LIMIT, 2 * by_loss) and off <= 2 * by:
        remark = "decides little: the exact gradients move as much" if by > MUCH else ""
        return cell.replace(")", f"; moves by {by_loss:.0e}, {by:.0e})"), "", remark
    worst = max(exact, key=lambda n: np.abs(ours[n] - exact[n]).max())
    trouble = f"loss {stepped:.6g}, PyTorch's is {loss:.6g}; gradients differ, most {worst}"
    if draws:
        return cell, trouble, ""
    return by_file(folder, batch, replicas, stepped, cell, trouble)


def gradients_of_file(folder):
    suffix = "_grad.npy"
    return {file.name.removesuffix(suffix).replace("%2F", "/"): np.load(file).astype(np.float64)
            for file in (folder / "out").glob(f"*{suffix}")}


def by_file(folder, batch, replicas, stepped, cell, trouble):
    """Compares with the file itself: the export may have lost something."""
    ours = gradients_of_file(folder)
    if sum(g.size for g in ours.values()) > MOST_FOR_EVALUATOR:
        return cell, f"{trouble}; {loss_by_other(folder, batch)}", ""
    try:
        parts = [{n: x.numpy() for n, x in part.items()} for part in parts_of(batch, replicas)]
        loss, off = FileTruth(folder / "net.onnx").difference(parts, ours)
    except Exception as error:  # an evaluator throws any exception
        return cell, f"{trouble}; onnx's evaluator: {brief(error)}; {loss_by_other(folder, batch)}", ""
    of_loss = abs(stepped - loss) / abs(loss)
    cell = f"{of_loss:.0e}, {off:.0e} (of the file)"
    if of_loss <= LOSS_LIMIT and off <= LIMIT:
        return cell, "", f"the export is not PyTorch's network: {trouble}"
    return cell, f"{trouble}; the file's loss in float64 is {loss:.6g}", ""


def loss_by_other(folder, batch):
    """The loss of the file by another runtime, for a judgement of the export."""
    try:
        session = onnxruntime.InferenceSession(folder / "net.onnx", providers=["CPUExecutionProvider"])
        fed = {value.name: batch[value.name].numpy() for value in session.get_inputs()}
        return f"onnxruntime's loss of the file is {float(session.run(['loss'], fed)[0]):.6g}"
    except Exception as error:  # a runtime throws any exception
        return f"onnxruntime: {brief(error)}"


def fed_draws(file, model, batch, replicas):
    """Random values for PyTorch, by replica, and for the file."""
    if not file:
        return None, {}
    whole, *parts = recorded(copy.deepcopy(model), [batch, *parts_of(batch, replicas)])
    file.find_batch(whole, parts[-1])
    return file.matched(parts)


def judge(lockstep, folder, newcomer, mode, send):
    """Sends a partial row of the table after each part, so that a time limit leaves the parts before."""
    torch.set_num_threads(1)
    onnxruntime.set_default_logger_severity(4)
    torch.manual_seed(5)
    model = perturbed(newcomer.make()).train()
    if mode == "no draws":
        without_draws(model)
    batch = newcomer.draw(newcomer.rows)
    if mode == "masks" and not recorded(copy.deepcopy(model), [batch])[0].values:
        return send(None)
    (folder / "in").mkdir(parents=True)
    for name, value in batch.items():
        write_input(folder / "in", name, value)
    try:
        export(copy.deepcopy(model), batch, str(folder / "net.onnx"))
    except Exception as error:  # exporters throw any exception
        return send(("no", "", "", brief(cause_of(error)), False))
    remark, cells, file, off = newcomer.lost, [], None, ""
    if newcomer.kept:
        newcomer.kept(model)
    if mode == "masks":
        file = FedFile(folder / "net.onnx")
        if file.off():
            off = f"the export leaves {file.off()} of {len(file.places)} draws off, and so does the reference"
    for replicas in newcomer.replicas:
        send(("yes", "?", "; ".join(cells), f"out of time on {replicas}", False))
        try:
            draws, fed = fed_draws(file, model, batch, replicas)
        except Unmatched as error:
            return send(("yes", "?", "; ".join(cells), f"on {replicas}: {error}", False))
        if file:
            file.write(fed)
        for name, value in fed.items():
            write_input(folder / "in", name, value)
        if error := step(lockstep, folder, replicas):
            return send(("yes", "no" if replicas == 1 else "yes", "; ".join(cells),
                         f"on {replicas}: {error}; {loss_by_other(folder, batch | fed)}", False))
        if mode == "as built" or newcomer.only_steps and not file:
            remark = newcomer.only_steps
            cells.append("steps")
            continue
        cell, trouble, of_export = compare(folder, model, batch, replicas, draws)
        cells.append(cell)
        remark = remark or of_export
        if trouble:
            return send(("yes", "yes", "; ".join(cells), f"on {replicas}: {trouble}", False))
    return send(("yes", "yes", "; ".join(cells), "; ".join(filter(None, [remark, off])), True))


def report(lockstep, folder, newcomer, mode, pipe):
    try:
        judge(lockstep, folder, newcomer, mode, pipe.send)
    except Exception as error:  # PyTorch throws any exception
        pipe.send(("?", "?", "", f"PyTorch: {brief(cause_of(error))}", False))


def row_of(lockstep, folder, newcomer, mode):
    """Runs in a process of its own: an exporter's crash is one row of the table. None: --masks, but no draws."""
    context = multiprocessing.get_context("fork")
    receive, pipe = context.Pipe(duplex=False)
    process = context.Process(target=report, args=(lockstep, folder, newcomer, mode, pipe))
    process.start()
    pipe.close()
    row = ("?", "?", "", "no result", False)
    try:
        while receive.poll(SECONDS):
            row = receive.recv()
    except EOFError:
        pass
    process.kill()
    process.join()
    return row


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("lockstep")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("networks", nargs="*")
    modes = parser.add_mutually_exclusive_group()
    modes.add_argument("--default", dest="mode", action="store_const", const="as built", default="no draws")
    modes.add_argument("--masks", dest="mode", action="store_const", const="masks")
    options = parser.parse_intermixed_args()
    names = options.networks or list(NEWCOMERS)
    passed = measured = 0
    print("| network | exported | read | loss, gradients | remark |\n|---|---|---|---|---|", flush=True)
    for name in names:
        work = options.folder / name
        shutil.rmtree(work, ignore_errors=True)
        row = row_of(options.lockstep, work, NEWCOMERS[name], options.mode)
        shutil.rmtree(work, ignore_errors=True)
        if row is None:
            continue
        measured += 1
        passed += row[-1]
        print(f"| {name} | " + " | ".join(row[:-1]) + (" |" if row[-1] else " **!** |"), flush=True)
    print(f"\nPyTorch {torch.__version__}: {passed} of {measured} pass")
    return 0 if passed == measured else 1


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    raise SystemExit(main())
