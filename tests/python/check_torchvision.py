# SPDX-License-Identifier: Apache-2.0
"""Compares operators of detectors with torchvision's: results and gradients, to 1e-5.

    check_torchvision.py LOCKSTEP FOLDER [CHECK...]

A check draws random cases, combines several in a network written by torch.onnx.export, and compares
the results of `lockstep run` and `lockstep step`. Exit code 77: torchvision is not installed.
"""
import os
import shutil
import subprocess
import sys
import warnings

try:
    import numpy as np
    import torch
    from torch import nn
    from torchvision import ops
    import torchvision
    import torchvision_boxes
except ImportError as missing:
    print(f"skipped: {missing} (Debian: python3-torchvision)")
    sys.exit(77)

import torchvision_targets

warnings.filterwarnings("ignore")
CASES, TOGETHER, LIMIT = 200, 20, 1e-5


def relative(found, expected):
    """The largest difference, relative to the largest number, or to 1."""
    if found.shape != tuple(expected.shape):
        return float("inf")
    if expected.numel() == 0:
        return 0.0
    scale = max(1.0, expected.abs().max().item())
    return np.abs(found - expected.numpy()).max().item() / scale


class Weighed(nn.Module):
    """Several cases in one network: `make(n, x, operands)` for each parameter x_n and its operands, and the
    sum of all results, weighted by constants."""

    def __init__(self, make, parameters, weights):
        super().__init__()
        self.make, self.count = make, len(parameters)
        for n, (x, weight) in enumerate(zip(parameters, weights)):
            self.register_parameter(f"x{n}", nn.Parameter(x))
            self.register_buffer(f"weight{n}", weight)

    def forward(self, *operands):
        results = [self.make(n, getattr(self, f"x{n}"), operands[n]) for n in range(self.count)]
        loss = sum((y * getattr(self, f"weight{n}")).sum() for n, y in enumerate(results))
        return loss, *results


class Lockstep:
    def __init__(self, binary, folder):
        self.binary, self.folder = binary, folder

    def network(self, module, operands, opset):
        """Exports the network and runs it both ways: {name: array} of its results and gradients."""
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(f"{self.folder}/in")
        names = [f"operand{n}" for n in range(len(operands))]
        results = ["loss"] + [f"y{n}" for n in range(len(operands))]
        torch.onnx.export(module, tuple(operands), f"{self.folder}/model.onnx", opset_version=opset,
                          input_names=names, output_names=results, do_constant_folding=False,
                          training=torch.onnx.TrainingMode.PRESERVE)
        for name, operand in zip(names, operands):
            np.save(f"{self.folder}/in/{name}.npy", operand.numpy())
        found = self.command("run")
        found.update(self.command("step", "--loss", "loss"))
        return found

    def command(self, name, *options):
        out = f"{self.folder}/{name}"
        run = subprocess.run([self.binary, name, f"{self.folder}/model.onnx", "--inputs",
                              f"{self.folder}/in", "--outputs", out, *options],
                             capture_output=True, text=True)
        if run.returncode != 0:
            raise RuntimeError(f"lockstep {name}: exit code {run.returncode}: {run.stderr.strip()}")
        return {file[:-4]: np.load(f"{out}/{file}") for file in os.listdir(out)
                if file.endswith(".npy")}


def pooled(lockstep, draw, opset=13, count=CASES):
    """Runs cases of draw() -> (x, rois, function of both). Returns the worst difference."""
    worst = 0.0
    for _ in range(count // TOGETHER):
        cases = [draw() for _ in range(TOGETHER)]
        functions = [function for _, _, function in cases]
        make = lambda n, x, rois: functions[n](x, rois)
        operands = [rois for _, rois, _ in cases]
        with torch.no_grad():
            weights = [torch.rand_like(f(x, rois)) for x, rois, f in cases]
        module = Weighed(make, [x for x, _, _ in cases], weights)
        module.train()
        loss, *results = module(*operands)
        loss.backward()
        found = lockstep.network(module, operands, opset)
        for n, y in enumerate(results):
            worst = max(worst, relative(found[f"y{n}"], y.detach()))
            worst = max(worst, relative(found[f"x{n}_grad"], getattr(module, f"x{n}").grad))
    return worst


def draw_map_and_rois(scale):
    images, channels, height, width = (int(torch.randint(1, most, ())) for most in (4, 9, 17, 17))
    count = int(torch.randint(1, 12, ()))
    x = torch.rand(images, channels, height, width) - 0.5
    # Some boxes extend beyond the map; some are smaller than a cell.
    start = (torch.rand(count, 2) * 1.4 - 0.2) * torch.tensor([width, height]) / scale
    size = torch.rand(count, 2) ** 2 * torch.tensor([width, height]) / scale
    image = torch.randint(0, images, (count, 1)).float()
    return x, torch.cat([image, start, start + size], 1)


def draw_size():
    return tuple(int(torch.randint(1, 8, ())) for _ in range(2))


def roi_align(lockstep):
    def draw(aligned):
        scale = float(2.0 ** -torch.randint(0, 3, ()))
        x, rois = draw_map_and_rois(scale)
        size, ratio = draw_size(), int(torch.randint(0, 4, ()))
        return x, rois, lambda x, rois: ops.roi_align(x, rois, size, scale, ratio, aligned)
    # This exporter writes no coordinate mode. The default is half_pixel in opset 16 and the other mode before.
    return max(pooled(lockstep, lambda: draw(True), 16, CASES // 2),
               pooled(lockstep, lambda: draw(False), 13, CASES // 2))


def roi_pool(lockstep):
    def draw():
        scale = float(2.0 ** -torch.randint(0, 3, ()))
        x, rois = draw_map_and_rois(scale)
        size = draw_size()
        return x, rois, lambda x, rois: ops.roi_pool(x, rois, size, scale)
    return pooled(lockstep, draw)


# name -> function of a Lockstep that returns the worst relative difference of its cases
CHECKS = {"roi_align": roi_align, "roi_pool": roi_pool, **torchvision_boxes.CHECKS,
          **torchvision_targets.CHECKS}


def main():
    binary, folder = sys.argv[1:3]
    failed = 0
    for name in sys.argv[3:] or CHECKS:
        torch.manual_seed(sum(map(ord, name)))
        try:
            worst = CHECKS[name](Lockstep(binary, f"{folder}/{name}"))
            good = worst <= LIMIT
            text = f"{CASES} cases, worst relative difference {worst:.1e}"
        except RuntimeError as error:
            good, text = False, str(error)
        failed += not good
        print(f"{'pass' if good else 'fail'} {name} {text}")
    print(f"torchvision {torchvision.__version__}: {failed} of {len(sys.argv[3:] or CHECKS)} differ")
    return 1 if failed else 0


sys.exit(main())
