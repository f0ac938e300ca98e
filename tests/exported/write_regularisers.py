# SPDX-License-Identifier: Apache-2.0
"""Writes two 1x1 convolutions, each followed by a stochastic regulariser, as both exporters of PyTorch
export them in training mode; a batch (x.npy), and PyTorch's prediction for the batch (y.npy), which
is the same for every regulariser. Needs the newest PyTorch and timm.

    write_regularisers.py FOLDER
"""
import pathlib
import sys
import warnings

import numpy as np
import onnx
import torch
from timm.layers import DropPath
from torch import nn
from torchvision.ops import StochasticDepth

warnings.filterwarnings("ignore")


class OlderDropPath(nn.Module):
    """Stochastic depth by rounding down, as timm's networks had it until 2022."""

    def forward(self, x):
        if not self.training:
            return x
        keep = 0.7
        mask = (keep + torch.rand((x.shape[0],) + (1,) * (x.ndim - 1), dtype=x.dtype)).floor_()
        return x.div(keep) * mask


REGULARISERS = {
    "stochastic_depth": lambda: StochasticDepth(0.3, "row"),
    "stochastic_depth_of_batch": lambda: StochasticDepth(0.3, "batch"),
    "drop_path": lambda: DropPath(0.3),
    "older_drop_path": OlderDropPath,
    "dropout": lambda: nn.Dropout(0.3),
    "dropout_in_place": lambda: nn.Dropout(0.3, inplace=True),
    "dropout2d": lambda: nn.Dropout2d(0.3),
    "alpha_dropout": lambda: nn.AlphaDropout(0.3),
    "feature_alpha_dropout": lambda: nn.FeatureAlphaDropout(0.3),
}
NOT_BY_TORCHSCRIPT = {"dropout2d", "alpha_dropout", "feature_alpha_dropout"}  # refuses to export them


class Network(nn.Module):
    def __init__(self, make):
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 3, 1), nn.Conv2d(3, 3, 1)
        self.a, self.b = make(), make()

    def forward(self, x):
        y = self.b(self.second(self.a(self.first(x))))
        return (y * y).mean(), y


def stripped(path):
    """Removes the exporter's metadata, which is mostly lines of source code."""
    model = onnx.load(path)
    graph = model.graph
    for node in graph.node:
        del node.metadata_props[:]
        node.ClearField("doc_string")
    for part in (model, graph, *graph.input, *graph.output, *graph.initializer):
        del part.metadata_props[:]
    del graph.value_info[:]
    onnx.save(model, path)


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(1)
    x = torch.randn(4, 3, 2, 2)
    np.save(folder / "x.npy", x.numpy())
    names = {"input_names": ["x"], "output_names": ["loss", "y"]}
    for name, make in REGULARISERS.items():
        torch.manual_seed(2)
        net = Network(make)
        with torch.no_grad():
            np.save(folder / "y.npy", net.eval()(x)[1].numpy())
        net.train()
        path = folder / f"{name}.dynamo.onnx"
        torch.onnx.export(net, (x,), path, **names, verbose=False, optimize=False, external_data=False,
                          dynamic_shapes={"x": {0: torch.export.Dim.DYNAMIC}})
        stripped(path)
        if name in NOT_BY_TORCHSCRIPT:
            continue
        path = folder / f"{name}.torchscript.onnx"
        torch.onnx.export(net, (x,), path, **names, dynamo=False, dynamic_axes={"x": {0: "N"}},
                          training=torch.onnx.TrainingMode.PRESERVE, do_constant_folding=False)
        stripped(path)


main()
