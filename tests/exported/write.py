# SPDX-License-Identifier: Apache-2.0
"""Writes the small networks as files (both exporters, training export, newest opset), a batch for each,
and the results of PyTorch's step on the batch. Needs the newest PyTorch.

    write.py FOLDER [NETWORK...]

A gradient is stored as its length and its product with a random vector (see truth.py): the whole
gradients would be as large as the network.
"""
import copy
import json
import pathlib
import sys
import warnings

import numpy as np
import onnx
import torch

from measure import gradients
from networks import NETWORKS, WithLoss, perturbed
from truth import difference, summary

warnings.filterwarnings("ignore")
BATCH, LARGEST = 4, 200 * 1024


def export(model, batch, path, exporter):
    names = {"input_names": ["data", "target"], "output_names": ["loss"]}
    if exporter == "dynamo":
        open_batch = {0: torch.export.Dim.DYNAMIC}
        torch.onnx.export(model, batch, path, **names, verbose=False, optimize=False, opset_version=23,
                          external_data=False,
                          dynamic_shapes={"data": open_batch, "target": open_batch})
    else:
        torch.onnx.export(model, batch, path, **names, dynamo=False, opset_version=20,
                          training=torch.onnx.TrainingMode.PRESERVE, do_constant_folding=False,
                          dynamic_axes={"data": {0: "N"}, "target": {0: "N"}})


def stripped(model):
    """Removes the exporter's metadata, which is mostly lines of source code."""
    for node in model.graph.node:
        del node.metadata_props[:]
        node.ClearField("doc_string")
    del model.graph.value_info[:]
    for part in (model.graph, *model.graph.input, *model.graph.output, *model.graph.initializer):
        del part.metadata_props[:]
    del model.metadata_props[:]
    return model


def briefly_named(model):
    """Shortens all names except those of parameters, inputs and outputs."""
    graph = model.graph
    short = {v.name: v.name for part in (graph.input, graph.output, graph.initializer) for v in part}
    for node in graph.node:
        node.ClearField("name")
        for names in (node.input, node.output):
            names[:] = [name and short.setdefault(name, f"v{len(short)}") for name in names]
    return model


def truth_of(model, data, target, kind=torch.float64):
    """The loss and a summary of each gradient, by number of replicas."""
    truth = {}
    for replicas in (1, 2):
        loss, exact = gradients(model, data, target, replicas, kind)
        truth[replicas] = {"loss": loss, "gradients": {n: summary(n, g) for n, g in exact.items()}}
    return truth


def is_smooth(model, data, target, truth):
    """True if float32 and parameters moved by a few roundings give the same results, so no ReLU's input is
    almost zero."""
    others = [truth_of(model, data, target, torch.float32)]
    for _ in range(4):
        near = copy.deepcopy(model)
        with torch.no_grad():
            for p in near.parameters():
                p.mul_(1 + 1e-6 * torch.randn_like(p))
        others.append(truth_of(near, data, target))
    for other in others:
        for replicas, gradients_there in other.items():
            there = truth[replicas]["gradients"]
            longest = max(length for length, _ in there.values())
            if any(difference(gradients_there["gradients"][n], there[n], longest) > 5e-5 for n in there):
                return False
    return True


def draw_smooth(name):
    """Returns the first of a few seeds with a step that is distinguishable from a wrong step."""
    make, draw = NETWORKS[name]["small"]
    for seed in range(5, 25):
        torch.manual_seed(seed)
        model = perturbed(WithLoss(make())).train()
        data, target = draw(BATCH)
        if data.is_floating_point():
            data = (data * 8).round() / 8  # which compresses well
        truth = truth_of(model, data, target)
        if is_smooth(model, data, target, truth):
            return model, data, target, truth
    raise RuntimeError(f"{name}: every seed has a ReLU's input at zero")


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[2:] or NETWORKS:
        model, data, target, truth = draw_smooth(name)
        state = {key: value.clone() for key, value in model.state_dict().items()}
        for exporter in ("dynamo", "script"):
            path = folder / f"{name}.{exporter}.onnx"
            export(model, (data, target), str(path), exporter)
            model.load_state_dict(state)  # tracing updates running statistics
            onnx.save(stripped(onnx.load(path)), path)
            if path.stat().st_size > LARGEST:
                onnx.save(briefly_named(onnx.load(path)), path)
            size = path.stat().st_size
            print(f"{path.name}: {size} bytes" + (" TOO LARGE" if size > LARGEST else ""))
        np.savez_compressed(folder / f"{name}.npz", data=data.numpy(), target=target.numpy())
        (folder / f"{name}.json").write_text(json.dumps(truth))


if __name__ == "__main__":
    main()
