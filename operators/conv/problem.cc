// SPDX-License-Identifier: Apache-2.0
#include "operators/conv/problem.h"

#include "operators/conv/conv.h"

namespace lockstep {
namespace {

ConvEpilogue epilogue_of(const KernelRequest& request, ConvPass pass) {
  if (pass == ConvPass::forward) return read_epilogue(request);
  return {.addition = pass == ConvPass::grad_x && request.in.size() > ConvGradXIn::z};
}

}  // namespace

ConvPass pass_of(const Node& node) {
  const std::string& type = node.type();
  if (type == "ConvGradW") return ConvPass::grad_w;
  return type == "ConvGradX" || type == "FusedConvGradX" ? ConvPass::grad_x : ConvPass::forward;
}

ConvProblem::ConvProblem(const KernelRequest& request)
    : pass(pass_of(request.node)),
      x(pass == ConvPass::grad_x    ? request.out[0]
        : pass == ConvPass::forward ? request.in[ConvIn::x]
                                    : request.in[ConvGradWIn::x]),
      w(pass == ConvPass::grad_w    ? request.out[0]
        : pass == ConvPass::forward ? request.in[ConvIn::w]
                                    : request.in[ConvGradXIn::w]),
      y(pass == ConvPass::forward  ? request.out[ConvOut::y]
        : pass == ConvPass::grad_x ? request.in[ConvGradXIn::dy]
                                   : request.in[ConvGradWIn::dy]),
      epilogue(epilogue_of(request, pass)),
      threads(request.threads) {
  AttributeReader reader = request.attributes();
  const ConvAttrs attrs = read_conv(reader);
  window = resolved(attrs.window, Dims(w.dims.begin() + 2, w.dims.end()),
                    to_shape(Dims(x.dims.begin() + 2, x.dims.end())));
  group = attrs.group;
}

Conv2d ConvProblem::conv2d() const {
  const auto axis = [&](std::size_t i) {
    return ConvAxis{.image = x.dims[2 + i],
                    .result = y.dims[2 + i],
                    .window = w.dims[2 + i],
                    .step = window.strides[i],
                    .hole = window.dilations[i],
                    .pad = window.pads[i]};
  };
  return {x.dims[0], x.dims[1], y.dims[1], axis(0), axis(1)};
}

}  // namespace lockstep
