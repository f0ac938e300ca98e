// SPDX-License-Identifier: Apache-2.0
#include "graph/known.h"

namespace lockstep {

std::optional<Literal> literal_of(const Shape& content, const TensorType& type) {
  if (type.dtype != DType::int64) return std::nullopt;
  Dims numbers;
  for (const Dim& entry : content) {
    if (!entry.symbol().empty()) return std::nullopt;
    numbers.push_back(entry.size());  // not to_dims(): a shape vector may hold -1
  }
  if (type.shape.size() > 1) return Literal::of<int64_t>(numbers, to_dims(type.shape));
  const Dims dims = type.shape.empty() ? Dims{} : Dims{static_cast<int64_t>(numbers.size())};
  return Literal::of<int64_t>(numbers, dims);
}

}  // namespace lockstep
