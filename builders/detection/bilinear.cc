// SPDX-License-Identifier: Apache-2.0
#include "builders/detection/bilinear.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "lockstep/layers.h"

namespace lockstep {

std::vector<float> bilinear_filter(int64_t scale) {
  const int64_t side = 2 * scale;
  const double centre = static_cast<double>(scale) - 0.5;
  const auto weight = [&](int64_t at) {
    return 1 - std::abs(static_cast<double>(at) - centre) / static_cast<double>(scale);
  };
  std::vector<float> filter;
  for (int64_t y = 0; y < side; ++y)
    for (int64_t x = 0; x < side; ++x) filter.push_back(static_cast<float>(weight(y) * weight(x)));
  return filter;
}

Value bilinear_layer(Net& net, Value x, int64_t scale, const Site& site) {
  check(scale >= 2 && scale % 2 == 0, site.name, " (", site.where.text(), "): maps are enlarged ",
        scale, " times, should be an even number");
  const Shape& shape = net.graph.shape(x);
  check(shape.size() == 4 && shape[1].known(), site.name, " (", site.where.text(), "): the maps ",
        shape, " should be [batch, channels, height, width] with known channels");
  const int64_t channels = shape[1].size(), side = 2 * scale;
  const std::vector<float> filter = bilinear_filter(scale);
  const auto size = static_cast<std::ptrdiff_t>(filter.size());
  std::vector<float> weight(static_cast<std::size_t>(channels * channels) * filter.size(), 0);
  for (int64_t k = 0; k < channels; ++k)
    std::copy(filter.begin(), filter.end(), weight.begin() + k * (channels + 1) * size);
  const bool fixed_after = std::exchange(net.fixed, true);
  const Value y = conv_transpose_layer(
      net, x, channels,
      {.kernel = side,
       .stride = scale,
       .pad = scale / 2,
       .weight = given(Literal::of<float>(weight, {channels, channels, side, side}))},
      site);
  net.fixed = fixed_after;
  return y;
}

}  // namespace lockstep
