# SPDX-License-Identifier: Apache-2.0
"""Writes gpt2.onnx: a small GPT-2 of Hugging Face's transformers with its loss, by PyTorch's newer
exporter, without the weights. Needs the newest PyTorch and transformers.

    write_gpt2.py [LOCKSTEP FOLDER]

Compares loss and gradients with the network of gpt2.py, whose weights the test writes beside the file.
With LOCKSTEP, then trains transformers' own network by PyTorch and the file by `lockstep train`, in
FOLDER, exported with and without the exporter's optimisation, and compares the losses.
"""
import copy
import pathlib
import sys
import warnings

import onnx
import torch
from onnx.external_data_helper import set_external_data
from transformers import GPT2Config, GPT2LMHeadModel

sys.path.append(str(pathlib.Path(__file__).parent.parent / "exported"))

import gpt2
from slim import slim

warnings.filterwarnings("ignore")


class WithLoss(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = GPT2LMHeadModel(GPT2Config(
            vocab_size=gpt2.VOCABULARY, n_positions=gpt2.PLACES, n_embd=gpt2.WIDTH, n_layer=gpt2.LAYERS,
            n_head=gpt2.HEADS, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0, use_cache=False, bos_token_id=0,
            eos_token_id=0))

    def forward(self, input_ids, labels):
        out = self.net(input_ids=input_ids, labels=labels)
        return out.loss, out.logits


def same_weights(theirs, plain):
    """Copies the weights of `plain`, whose names are a part of theirs."""
    with torch.no_grad():
        state = theirs.net.state_dict()
        for name, value in plain.named_parameters():
            state[name].copy_(value)


def compare(theirs, plain, ids):
    theirs(ids, ids)[0].backward()
    plain(ids, ids)[0].backward()
    grads = dict(theirs.net.named_parameters())
    grads["lm_head.weight"] = grads["transformer.wte.weight"]  # one parameter with two names
    assert len(grads) == len(dict(plain.named_parameters())) + 1
    for name, value in plain.named_parameters():
        off = (grads[name].grad - value.grad).abs().max() / value.grad.abs().max()
        assert off < 1e-4, f"the gradient of {name} differs by {off}"


def export(model, path, optimize):
    ids = torch.zeros(2, gpt2.LENGTH, dtype=torch.long)
    torch.onnx.export(model, (ids, ids), path, input_names=["input_ids", "labels"],
                      output_names=["loss", "logits"], dynamic_shapes={"input_ids": {0: "N"}, "labels": {0: "N"}},
                      optimize=optimize, external_data=False, verbose=False)


def without_weights(model, plain):
    """Moves the parameters to a file that does not exist yet."""
    tensors = {tensor.name: tensor for tensor in model.graph.initializer}
    offset = 0
    for name, value in plain.named_parameters():
        size = value.numel() * 4
        tensor = tensors[f"net.{name}"]
        assert list(tensor.dims) == list(value.shape)
        set_external_data(tensor, gpt2.WEIGHTS, offset, size)
        tensor.ClearField("raw_data")
        offset += size
    return model


def main():
    torch.manual_seed(1)
    theirs, plain = WithLoss().train(), gpt2.Gpt2()
    same_weights(theirs, plain)
    compare(theirs, plain, torch.randint(0, gpt2.VOCABULARY, (4, gpt2.LENGTH)))
    export(theirs, gpt2.FILE, False)
    onnx.save(without_weights(slim(onnx.load(gpt2.FILE)), plain), gpt2.FILE)
    print(f"{gpt2.FILE.name}: {gpt2.FILE.stat().st_size} bytes")
    if len(sys.argv) > 2:
        train(sys.argv[1], pathlib.Path(sys.argv[2]), theirs)


def train(lockstep, folder, theirs):
    import check  # which reads gpt2.onnx
    import networks
    for optimize in (False, True):
        task = networks.gpt2_of_transformers()
        task.net, task.stored = copy.deepcopy(theirs), None
        errors = check.check(lockstep, lambda: task, folder / ("optimized" if optimize else "as_documented"),
                             lambda _, path: export(task.net, path, optimize))
        print("; ".join(errors) or "as transformers by PyTorch")


if __name__ == "__main__":
    main()
