// SPDX-License-Identifier: Apache-2.0
// The tensors of a convolution and of its gradients, as a request has them.
#pragma once

#include "operators/conv/conv.h"

namespace lockstep {

// For the gradients, too, x is the input and y the result.
struct ConvShapes {
  const TensorDesc &x, &w, &y;

  static ConvShapes of_forward(const KernelRequest& request) {
    return {request.in[ConvIn::x], request.in[ConvIn::w], request.out[ConvOut::y]};
  }
  static ConvShapes of_grad_x(const KernelRequest& request) {
    return {request.out[0], request.in[ConvGradXIn::w], request.in[ConvGradXIn::dy]};
  }
  static ConvShapes of_grad_w(const KernelRequest& request) {
    return {request.in[ConvGradWIn::x], request.out[0], request.in[ConvGradWIn::dy]};
  }

  ConvAttrs attrs(const KernelRequest& request) const {
    AttributeReader reader = request.attributes();
    ConvAttrs read = read_conv(reader);
    read.window = resolved(read.window, Dims(w.dims.begin() + 2, w.dims.end()),
                           to_shape(Dims(x.dims.begin() + 2, x.dims.end())));
    return read;
  }
};

}  // namespace lockstep
