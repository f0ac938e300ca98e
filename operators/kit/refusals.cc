// SPDX-License-Identifier: Apache-2.0
#include "operators/kit/refusals.h"

#include <algorithm>

namespace lockstep {
namespace {

std::string list_of(const std::vector<DType>& types) {
  std::string text;
  for (std::size_t i = 0; i < types.size(); ++i)
    text += join(i == 0 ? "" : i + 1 == types.size() ? " or " : ", ", types[i]);
  return text;
}

bool is_among(const std::vector<DType>& types, DType given) {
  return std::find(types.begin(), types.end(), given) != types.end();
}

}  // namespace

Refusal every(std::vector<Refusal> refusals) {
  return [refusals = std::move(refusals)](const KernelRequest& request) {
    for (const Refusal& refuses : refusals)
      if (std::string reason = refuses(request); !reason.empty()) return reason;
    return std::string();
  };
}

Refusal takes_types(std::vector<DType> types, std::size_t operand) {
  return [types = std::move(types), operand](const KernelRequest& request) -> std::string {
    if (operand >= request.in.size() || !request.in[operand].present()) return "";
    const DType given = request.in[operand].dtype;
    if (is_among(types, given)) return "";
    return join(text_of_types(types, given), operand == 0 ? "" : join(" as operand ", operand));
  };
}

Refusal makes_types(std::vector<DType> types) {
  return [types = std::move(types)](const KernelRequest& request) -> std::string {
    const DType given = request.out[0].dtype;
    return is_among(types, given) ? "" : join("makes ", list_of(types), ", not ", given);
  };
}

std::string text_of_types(const std::vector<DType>& types, DType given) {
  return join("takes ", list_of(types), ", not ", given);
}

Refusal up_to_dims(std::size_t most) {
  return [most](const KernelRequest& request) {
    const std::size_t dims = request.out[0].dims.size();
    return dims <= most ? "" : join("takes at most ", most, " dimensions, not ", dims);
  };
}

Refusal up_to_operands(std::size_t most) {
  return [most](const KernelRequest& request) {
    const std::size_t count = request.in.size();
    return count <= most ? "" : join("takes at most ", most, " operands, not ", count);
  };
}

std::string not_empty(const KernelRequest& request) {
  const bool some =
      request.in[0].count() > 0 && request.in[1].count() > 0 && request.out[0].count() > 0;
  return some ? "" : "takes no empty tensors";
}

Refusal whole_channels(std::size_t operand) {
  return [operand](const KernelRequest& request) -> std::string {
    const TensorDesc& x = request.in[operand];
    if (x.block() == 1 || x.block() == x.dims[1]) return "";
    return join("takes row-major images or whole channels, not blocks of ", x.block());
  };
}

}  // namespace lockstep
