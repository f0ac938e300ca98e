"""Runs the first Python block of docs/bring_your_own.md and the command below it, as printed.

    check_snippet.py LOCKSTEP FOLDER DOCUMENT      Exit code 77: no PyTorch whose exporter is dynamo.
"""
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
    # The same step in PyTorch: each half of the batch with its own statistics.
    scope = {}
    torch.manual_seed(3)
    exec(code.group(1).split("torch.onnx.export")[0], scope)  # the network, the batch, the loss
    model = scope["WithLoss"](scope["net"]).train()
    loss = sum(model(x, y) / 2 for x, y in zip(scope["data"].chunk(2), scope["target"].chunk(2)))
    loss.backward()
    ours = float(np.load(f"{folder}/out/loss.npy"))
    assert abs(ours - loss.item()) <= 1e-5 * loss.item(), f"loss is {ours}, should be {loss.item()}"
    for name in ("net.fc.weight", "net.layer4.1.bn2.weight", "net.conv1.weight"):
        theirs = model.get_parameter(name).grad.numpy()
        off = np.linalg.norm(np.load(f"{folder}/out/{name}_grad.npy") - theirs) / np.linalg.norm(theirs)
        # Among so many ReLUs one is always at 0, and switches with the order of a sum.
        assert off <= 1e-2, f"the gradient of {name} is off by {off}"
    print(f"PyTorch {torch.__version__}: the snippet's step is PyTorch's")
    return 0


if __name__ == "__main__":
    sys.exit(main())
