// SPDX-License-Identifier: Apache-2.0
#include "operators/conv/epilogue.h"

namespace lockstep {

ConvEpilogue read_epilogue(const KernelRequest& request) {
  AttributeReader reader = request.attributes();
  const auto has = [&](std::size_t i) { return request.in.size() > i && request.in[i].present(); };
  return {has(ConvIn::bias), has(ConvIn::z), read_fused_conv(reader).relu,
          request.out.size() > ConvOut::sums};
}

std::string text_of(const ConvEpilogue& epilogue) {
  return join(epilogue.bias ? ", bias" : "", epilogue.addition ? ", addition" : "",
              epilogue.relu ? ", ReLU" : "", epilogue.statistics ? ", statistics" : "");
}

void lay_z_as_result(const KernelRequest& request, Layouts& layouts) {
  if (read_epilogue(request).addition) layouts.in[ConvIn::z] = layouts.out[ConvOut::y];
}

void check_z_lies_as_result(const KernelRequest& request) {
  if (!read_epilogue(request).addition) return;
  const TensorDesc &z = request.in[ConvIn::z], &y = request.out[ConvOut::y];
  supported(z.layout == y.layout, "takes a z in the layout of its result ", text_of(y), ", not ",
            text_of(z));
}

}  // namespace lockstep
