# SPDX-License-Identifier: Apache-2.0
"""Writes networks with nn.EmbeddingBag as files of both exporters, and for each a batch and PyTorch's
loss and gradients. Needs the newest PyTorch.

    write_bags.py FOLDER
"""
import pathlib
import sys
import warnings

import numpy as np
import onnx
import torch
from torch import nn
from torch.nn import functional as F

warnings.filterwarnings("ignore")
ROWS, WIDTH = 20, 6


class Bags(nn.Module):
    """Bags of any size, from `offsets` on; classifies each bag."""

    def __init__(self, weighted=False, **options):
        super().__init__()
        self.bag, self.fc, self.weighted = nn.EmbeddingBag(ROWS, WIDTH, **options), nn.Linear(WIDTH, 3), weighted

    def forward(self, words, offsets, target, weights=None):
        bags = self.bag(words, offsets, per_sample_weights=weights if self.weighted else None)
        return F.cross_entropy(self.fc(bags), target)


class EqualBags(nn.Module):
    """Each row of `words` is a bag."""

    def __init__(self, mode):
        super().__init__()
        self.bag, self.fc = nn.EmbeddingBag(ROWS, WIDTH, mode=mode), nn.Linear(WIDTH, 3)

    def forward(self, words, target):
        return F.cross_entropy(self.fc(self.bag(words)), target)


def cases():
    """Name, network and batch. The second bag is empty."""
    words, target = torch.randint(0, ROWS, (12,)), torch.tensor([0, 1, 2, 1])
    words[4] = words[9] = 5
    batch = {"words": words, "offsets": torch.tensor([0, 3, 3, 7]), "target": target}
    for mode in ("sum", "mean", "max"):
        yield mode, Bags(mode=mode), batch
        yield f"equal_{mode}", EqualBags(mode), {"words": words.reshape(4, 3), "target": target}
    last = batch | {"offsets": torch.tensor([0, 3, 3, 7, 12])}
    yield "last_offset", Bags(mode="mean", include_last_offset=True), last
    yield "weights", Bags(True, mode="sum"), batch | {"weights": torch.rand(12)}
    # Only the newer exporter supports a padding index.
    yield "padding", Bags(mode="mean", padding_idx=5), batch


def strip(graph):
    """Removes the exporter's metadata, which is mostly lines of source code."""
    del graph.value_info[:]
    for part in (graph, *graph.node, *graph.input, *graph.output, *graph.initializer):
        del part.metadata_props[:]
        part.ClearField("doc_string")
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                strip(attribute.g)


def export(net, batch, path, kind):
    """Kinds: script, the older exporter; dynamo, the newer one; plain, the newer one without
    optimisation."""
    names = {"input_names": list(batch), "output_names": ["loss"]}
    if kind == "script":
        torch.onnx.export(net, tuple(batch.values()), path, **names, dynamo=False, opset_version=14,
                          dynamic_axes={name: {0: "N" if name == "target" else name} for name in batch})
    else:
        axes = tuple({0: torch.export.Dim.AUTO} for _ in batch)
        torch.onnx.export(net, tuple(batch.values()), path, **names, verbose=False, external_data=False,
                          optimize=kind == "dynamo", dynamic_shapes=axes)
    model = onnx.load(path)
    strip(model.graph)
    for function in model.functions:
        strip(onnx.GraphProto(node=function.node))
        for node in function.node:
            del node.metadata_props[:]
            node.ClearField("doc_string")
        del function.metadata_props[:]
    del model.metadata_props[:]
    onnx.save(model, path)


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(1)
    for name, net, batch in cases():
        net(*batch.values()).backward()
        results = {"loss": net(*batch.values()).detach().numpy()}
        results |= {f"{key}_grad": value.grad.numpy() for key, value in net.named_parameters()}
        np.savez_compressed(folder / f"{name}.npz", **results,
                            **{f"in_{key}": value.numpy() for key, value in batch.items()})
        for kind in ("script", "dynamo", "plain"):
            if name != "padding" or kind != "script":
                export(net, batch, str(folder / f"{name}.{kind}.onnx"), kind)


if __name__ == "__main__":
    main()
