# SPDX-License-Identifier: Apache-2.0
"""Writes modules with buffers as files of PyTorch's newer exporter, and for each a batch, PyTorch's loss
and gradients, and the names of its buffers and frozen parameters. Needs the newest PyTorch.

    write_buffers.py FOLDER [MODULE...]

`write_buffers.py buffers STORED` writes the modules that are stored here for CI, which check_module_buffers.py
reads. To check all modules: write them to another folder, and give check_module_buffers.py the folder.
"""
import pathlib
import sys
import warnings

import numpy as np
import onnx
import torch

from modules_with_buffers import MODULES
from slim import slim

warnings.filterwarnings("ignore")
STORED = ["RunningStatistics", "FrozenBatchNorm", "BooleanMask", "RotaryFrequencies", "SinePositions",
          "Temperatures", "Codebook", "RandomFeatures", "DoubleTable", "EqualToParameter", "TiedParameters",
          "FrozenTeacher", "SpectralNorm"]


def export(net, batch, path):
    axes = {name: {0: torch.export.Dim.DYNAMIC} for name in batch}
    torch.onnx.export(net, tuple(batch.values()), path, input_names=list(batch), output_names=["loss"],
                      dynamic_shapes=axes, optimize=False, external_data=False, verbose=False)
    onnx.save(slim(onnx.load(path)), path)


def names(found):
    return np.array(sorted(name for name, _ in found), dtype=str)


def main():
    folder, only = pathlib.Path(sys.argv[1]), sys.argv[2:]
    only = STORED if only == ["STORED"] else only
    folder.mkdir(parents=True, exist_ok=True)
    for make in MODULES:
        if only and make.__name__ not in only:
            continue
        torch.manual_seed(1)
        net = make()
        batch = net.batch()
        export(net, batch, str(folder / f"{make.__name__}.onnx"))
        loss = net(**batch)
        loss.backward()
        parameters = list(net.named_parameters())
        np.savez_compressed(
            folder / f"{make.__name__}.npz", loss=loss.detach().numpy(), is_mean_over_rows=net.rows,
            buffers=names(net.named_buffers()),
            frozen=names((n, p) for n, p in parameters if not p.requires_grad),
            **{f"in_{name}": value.numpy() for name, value in batch.items()},
            **{f"{n}_grad": p.grad.numpy() for n, p in parameters if p.requires_grad})


if __name__ == "__main__":
    main()
