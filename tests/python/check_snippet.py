# SPDX-License-Identifier: Apache-2.0
"""Runs the first Python block of docs/bring_your_own.md and the command below it, as printed.

    check_snippet.py LOCKSTEP FOLDER DOCUMENT      Exit code 77: no PyTorch with the dynamo exporter.
"""
import copy
import inspect
import os
import pathlib
import re
import shutil
import subprocess
import sys

try:
    import numpy as np
    import torch
    import torchvision  # noqa: F401: the snippet wants it
    if inspect.signature(torch.onnx.export).parameters["dynamo"].default is not True:
        raise ImportError(f"PyTorch {torch.__version__} exports by TorchScript")
except (ImportError, KeyError) as missing:
    print(f"skipped: {missing}")
    sys.exit(77)


def step(model, data, target, kind):
    """The loss and gradients of two halves, each with its own batch statistics."""
    net = copy.deepcopy(model).to(kind)
    loss = sum(net(x.to(kind), y) / 2 for x, y in zip(data.chunk(2), target.chunk(2)))
    loss.backward()
    return loss.item(), {name: p.grad.double().numpy() for name, p in net.named_parameters()}


def difference(ours, theirs):
    return np.linalg.norm(ours - theirs) / np.linalg.norm(theirs)


def main():
    lockstep, folder, document = os.path.abspath(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3])
    text = document.read_text()
    code = re.search(r"```python\n(.*?)```", text, re.S)
    command = re.search(r"```\n(lockstep step .*?)\n```", text[code.end():], re.S).group(1)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(f"{folder}/bin")
    os.symlink(lockstep, f"{folder}/bin/lockstep")
    pathlib.Path(folder, "snippet.py").write_text("import torch\ntorch.manual_seed(3)\n" + code.group(1))
    subprocess.run([sys.executable, "snippet.py"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    path = os.path.abspath(f"{folder}/bin") + ":" + os.environ["PATH"]
    run = subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True, text=True,
                         env={**os.environ, "PATH": path})
    print(run.stdout + run.stderr)
    if run.returncode != 0 or "warning" in run.stderr:
        return 1
    scope = {}
    torch.manual_seed(3)
    exec(code.group(1).split("torch.onnx.export")[0], scope)  # the network, the batch, the loss
    model = scope["WithLoss"](scope["net"]).train()
    loss, exact = step(model, scope["data"], scope["target"], torch.float64)
    ours = float(np.load(f"{folder}/out/loss.npy"))
    assert abs(ours - loss) <= 1e-5 * loss, f"loss is {ours}, should be {loss}"
    for name, there in exact.items():
        off = difference(np.load(f"{folder}/out/{name}_grad.npy"), there)
        # With this many ReLUs, some inputs are near 0 and switch with the order of a sum.
        assert off <= 2e-2, f"the gradient of {name} is off by {off}"
    print(f"PyTorch {torch.__version__}: the snippet's step is PyTorch's")
    return 0


if __name__ == "__main__":
    sys.exit(main())
