# SPDX-License-Identifier: Apache-2.0
"""A ResNet-50 of torchvision with random weights and fitting statistics, as a safetensors file."""
import json

import torch
from torchvision.models import resnet50


def write_safetensors(path, tensors):
    header, place = {}, 0
    for name, tensor in tensors.items():
        size = 4 * tensor.numel()
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [place, place + size]}
        place += size
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for tensor in tensors.values():
            file.write(tensor.contiguous().float().numpy().tobytes())


@torch.no_grad()
def write_body(path, images):
    """Statistics are the images' own, so that features have a usual size. A trained body would do as
    well; its time is the same."""
    torch.manual_seed(1)
    body = resnet50(weights=None).train()
    for norm in body.modules():
        if isinstance(norm, torch.nn.BatchNorm2d):
            norm.momentum = None  # the mean over all batches, here one
    body(images)
    state = {name: value for name, value in body.state_dict().items()
             if not name.endswith("num_batches_tracked")}
    write_safetensors(path, state)
    return state
