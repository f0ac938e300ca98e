// SPDX-License-Identifier: Apache-2.0
#include "builders/resident/summary.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "graph/print.h"
#include "operators/kit/dispatch.h"

namespace lockstep {
namespace {

using Summarised = Types<float, double, Half, BFloat16, int64_t, int32_t, uint8_t, bool>;

struct Range {
  double least = std::numeric_limits<double>::infinity(), most = -least, sum = 0;
  int64_t finite = 0;
};

template <class T>
Range range_of(const Tensor& tensor) {
  Range range;
  for (int64_t i = 0; i < tensor.count(); ++i) {
    const auto value = static_cast<double>(tensor.as<const T>()[i]);
    if (!std::isfinite(value)) continue;
    range.least = std::min(range.least, value);
    range.most = std::max(range.most, value);
    range.sum += value;
    ++range.finite;
  }
  return range;
}

std::string text_of(const Range& range, int64_t count) {
  const int64_t lost = count - range.finite;
  const std::string not_finite = lost > 0 ? join(", ", lost, " not finite") : "";
  if (range.finite == 0) return count == 0 ? "no values" : join("no finite value", not_finite);
  return join("from ", range.least, " to ", range.most, ", mean ",
              range.sum / static_cast<double>(range.finite), not_finite);
}

}  // namespace

std::vector<std::string> summary_of(const std::map<std::string, Tensor>& inputs) {
  std::vector<std::string> lines;
  for (const auto& input : inputs) {
    const Tensor& tensor = input.second;
    const Range range =
        dispatch<Summarised>(tensor.desc.dtype, [&]<class T>() { return range_of<T>(tensor); });
    lines.push_back(join(input.first, " ", tensor.desc, ": ", text_of(range, tensor.count())));
  }
  return lines;
}

}  // namespace lockstep
