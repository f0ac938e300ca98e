# SPDX-License-Identifier: Apache-2.0
"""Compares results and gradients of operators with PyTorch: scatters that combine values, Fourier
transforms, fake quantisation.

    check_operators.py LOCKSTEP FOLDER [CASE...]

PyTorch 1.13 cannot export some of the operators, so each case says how its operator is written in ONNX, in the form
in which later versions export it. Exit code 77: PyTorch is not installed.
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
    from torch.onnx import register_custom_op_symbolic
    from torch.onnx.symbolic_helper import _maybe_get_const as known
except ImportError as missing:
    print(f"skipped: {missing} (Debian: python3-torch)")
    sys.exit(77)

warnings.filterwarnings("ignore")
OPSET, LIMIT = 17, 2e-5


def constant(g, values):
    return g.op("Constant", value_t=torch.tensor(values, dtype=torch.int64))


def scatter_reduce(g, x, axis, index, updates, how, include):
    reduction = {"amax": "max", "amin": "min", "prod": "mul"}[known(how, "s")]
    return g.op("ScatterElements", x, index, updates, axis_i=known(axis, "i"), reduction_s=reduction)


def stft(g, x, length, step, width, window, normalized, half, as_complex):
    number = lambda value: constant(g, known(value, "i"))
    y = g.op("STFT", g.op("Unsqueeze", x, constant(g, [2])), number(step), window, number(length),
             onesided_i=int(known(half, "i")))
    return g.op("Transpose", y, perm_i=[0, 2, 1, 3])


def node(name, *operands, **attributes):
    """An ONNX node as a function whose result and gradient PyTorch computes with `compute`."""
    def make(compute, *values):
        class Node(torch.autograd.Function):
            @staticmethod
            def forward(ctx, *given):
                with torch.enable_grad():
                    ctx.given = [v.detach().requires_grad_(v.is_floating_point()) for v in given]
                    ctx.made = compute(*ctx.given)
                return ctx.made.detach()

            @staticmethod
            def backward(ctx, dy):
                floats = [v for v in ctx.given if v.is_floating_point()]
                found = iter(torch.autograd.grad(ctx.made, floats, dy))
                return tuple(next(found) if v.is_floating_point() else None for v in ctx.given)

            @staticmethod
            def symbolic(g, *given):
                extra = [constant(g, value) for value in operands]
                return g.op(name, *given, *extra, **attributes)

        return Node.apply(*values)
    return make


class Case(nn.Module):
    """The sum of the result with random weights; `values` are parameters."""

    def __init__(self, function, values):
        super().__init__()
        self.function, self.count = function, len(values)
        for n, value in enumerate(values):
            setattr(self, f"x{n}", nn.Parameter(value))

    def forward(self, scale):
        y = self.function(*[getattr(self, f"x{n}") for n in range(self.count)])
        return (y * self.weights * scale).sum(), y * scale

    def draw_weights(self):
        y = self.function(*[getattr(self, f"x{n}") for n in range(self.count)])
        self.register_buffer("weights", torch.rand(y.shape))


def scatters():
    """Few different values, so that most targets have several extreme values or zeros."""
    index = torch.randint(0, 5, (40, 3))
    few = lambda *shape: torch.randint(-2, 3, shape).float()
    for how in ("amax", "amin", "prod"):
        yield f"scatter_{how}", Case(lambda x, u, how=how: torch.scatter_reduce(x, 0, index, u, how),
                                     [few(6, 3), few(40, 3)])
        yield f"scatter_{how}_of_reals", Case(
            lambda x, u, how=how: torch.scatter_reduce(x, 0, index % 7, u, how), [torch.rand(7, 3), torch.rand(40, 3)])


def transforms():
    real = lambda *shape: torch.rand(*shape) * 2 - 1
    as_parts = torch.view_as_real
    for length in (1, 2, 7, 16, 400, 1483, 2048, 3000):
        fft = node("DFT", axis_i=1)
        yield f"dft_{length}", Case(
            lambda x, f=fft: f(lambda v: as_parts(torch.fft.fft(torch.view_as_complex(v))), x), [real(2, length, 2)])
        back = node("DFT", axis_i=1, inverse_i=1)
        yield f"idft_{length}", Case(
            lambda x, f=back: f(lambda v: as_parts(torch.fft.ifft(torch.view_as_complex(v))), x), [real(2, length, 2)])
        half = node("DFT", axis_i=1, onesided_i=1)
        yield f"rdft_{length}", Case(
            lambda x, f=half: f(lambda v: as_parts(torch.fft.rfft(v[..., 0])), x), [real(2, length, 1)])
        if length > 1:
            whole = node("DFT", length, axis_i=1, onesided_i=1, inverse_i=1)
            yield f"irdft_{length}", Case(
                lambda x, f=whole, n=length: f(
                    lambda v: torch.fft.irfft(torch.view_as_complex(v), n)[..., None], x),
                [real(2, length // 2 + 1, 2)])
    for length in (5, 12):
        other = node("DFT", length, axis_i=2)
        yield f"dft_of_{length}", Case(
            lambda x, f=other, n=length: f(
                lambda v: as_parts(torch.fft.fft(torch.view_as_complex(v), n, dim=2)), x), [real(2, 3, 9, 4, 2)])


def spectrograms():
    x = torch.rand(2, 1000) * 2 - 1
    window = torch.hann_window(64)
    for step in (1, 16, 20, 64, 100):
        yield f"stft_{step}", Case(lambda x, w, s=step: torch.stft(x, 64, s, window=w, center=False, onesided=True,
                                                                  return_complex=False), [x, window])
    yield "spectrogram", Case(
        lambda x: torch.stft(x, 64, 16, window=window, center=True, pad_mode="constant", onesided=True,
                             return_complex=False).pow(2).sum(-1).add(0.1).sqrt().log(), [x])


def quantized():
    x = torch.randn(4, 3, 5)
    yield "fake_quantize", Case(lambda x: torch.fake_quantize_per_tensor_affine(x, 0.02, 100, 0, 255), [x])
    yield "fake_quantize_signed", Case(lambda x: torch.fake_quantize_per_tensor_affine(x, 0.01, 3, -128, 127), [x])
    scales, zeros = torch.tensor([0.01, 0.02, 0.005]), torch.tensor([0, 5, -7], dtype=torch.int32)
    yield "fake_quantize_channels", Case(
        lambda x: torch.fake_quantize_per_channel_affine(x, scales, zeros, 1, -128, 127), [x])


def learned():
    """The gradient of a learned scale."""
    def fake(g, x, scale, zero, low, high, factor):
        q = g.op("QuantizeLinear", x, scale, g.op("Constant", value_t=torch.tensor(0, dtype=torch.int8)))
        return g.op("DequantizeLinear", q, scale, g.op("Constant", value_t=torch.tensor(0, dtype=torch.int8)))
    register_custom_op_symbolic("aten::_fake_quantize_learnable_per_tensor_affine", fake, OPSET)
    yield "learned_scale", Case(
        lambda x, s: torch._fake_quantize_learnable_per_tensor_affine(x, s, torch.zeros(1), -128, 127, 1.0),
        [torch.randn(50), torch.tensor([0.01])])


def relative(ours, theirs):
    theirs = theirs.detach().numpy()
    if ours.shape != theirs.shape:
        return float("inf")
    return float(np.abs(ours - theirs).max() / max(np.abs(theirs).max(), 1e-3))


def run(lockstep, folder, module):
    """The worst difference of the loss, the result and the gradients."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(f"{folder}/in")
    module.train()
    module.draw_weights()
    scale = torch.ones(())
    torch.onnx.export(module, (scale,), f"{folder}/model.onnx", opset_version=OPSET, input_names=["scale"],
                      output_names=["loss", "y"], do_constant_folding=False,
                      training=torch.onnx.TrainingMode.PRESERVE)
    np.save(f"{folder}/in/scale.npy", scale.numpy())
    found = {}
    for command, options in (("run", []), ("step", ["--loss", "loss", "--devices", "cpu"])):
        out = f"{folder}/{command}"
        done = subprocess.run([lockstep, command, f"{folder}/model.onnx", "--inputs", f"{folder}/in",
                               "--outputs", out, *options], capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"lockstep {command}: exit code {done.returncode}: {done.stderr.strip()}")
        found.update({file[:-4]: np.load(f"{out}/{file}") for file in os.listdir(out) if file.endswith(".npy")})
    loss, y = module(scale)
    loss.backward()
    worst = relative(found["y"], y)
    for n in range(module.count):
        worst = max(worst, relative(found[f"x{n}_grad"], getattr(module, f"x{n}").grad))
    return worst


def main():
    lockstep, folder = sys.argv[1:3]
    register_custom_op_symbolic("aten::scatter_reduce", scatter_reduce, OPSET)
    register_custom_op_symbolic("aten::stft", stft, OPSET)
    torch.manual_seed(3)
    failed = count = 0
    for cases in (scatters, transforms, spectrograms, quantized, learned):
        for name, module in cases():
            if sys.argv[3:] and name not in sys.argv[3:]:
                continue
            count += 1
            try:
                worst = run(lockstep, f"{folder}/{name}", module)
            except Exception as error:  # the export or the run
                print(f"fail {name} {error}")
                failed += 1
                continue
            good = worst <= LIMIT
            failed += not good
            print(f"{'pass' if good else 'fail'} {name} worst relative difference {worst:.1e}")
    print(f"PyTorch {torch.__version__}: {failed} of {count} cases differ")
    return 1 if failed else 0


sys.exit(main())
