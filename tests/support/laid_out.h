// SPDX-License-Identifier: Apache-2.0
// Moves values between row-major order and channel blocks or tiles, element by element.
#pragma once

#include <vector>

#include "lockstep/tensor.h"

namespace lockstep::testing {

// Calls move(offset in row-major order, offset in the tensor) for each element.
template <class Move>
void each_place(const TensorDesc& desc, const Move& move) {
  const int64_t block = desc.block();
  if (desc.layout.is_rows()) {
    for (int64_t i = 0; i < desc.count(); ++i) move(i, i);
    return;
  }
  if (desc.layout.is_tiles()) {
    const FilterTiles tiles = desc.layout.tiles();
    const int64_t outputs = desc.dims[0], inputs = desc.dims[1],
                  plane = desc.dims[2] * desc.dims[3];
    // A tile holds `together` adjacent elements (outputs or, if transposed, inputs) for each of
    // `apart` other channels. With pairs, two of the other channels share each position.
    const bool turned = tiles.turned != Turned::no;
    const int64_t pair = tiles.pairs == Pairs::none ? 1 : 2, together = tiles.side;
    const int64_t apart = tiles.pairs == Pairs::deep ? 2 * tiles.side : tiles.side;
    const int64_t out = turned ? apart : together, in = turned ? together : apart;
    for (int64_t o = 0; o < outputs; ++o)
      for (int64_t i = 0; i < inputs; ++i)
        for (int64_t p = 0; p < plane; ++p) {
          const int64_t row = tiles.turned == Turned::all ? i / in * (outputs / out) + o / out
                                                          : o / out * (inputs / in) + i / in;
          const int64_t of_apart = turned ? o % out : i % in;
          const int64_t of_together = turned ? i % in : o % out;
          const int64_t place = of_apart / pair * together + of_together;
          move((o * inputs + i) * plane + p,
               ((row * plane + p) * (apart / pair * together) + place) * pair + of_apart % pair);
        }
    return;
  }
  const int64_t channels = desc.dims[1], plane = desc.count() / (desc.dims[0] * channels);
  const int64_t blocks = (channels + block - 1) / block;
  for (int64_t n = 0; n < desc.dims[0]; ++n)
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t p = 0; p < plane; ++p)
        move((n * channels + c) * plane + p,
             ((n * blocks + c / block) * plane + p) * block + c % block);
}

// Padding is 0.
inline std::vector<float> laid_out(const std::vector<float>& plain, const TensorDesc& desc) {
  std::vector<float> there(static_cast<std::size_t>(desc.places()));
  each_place(desc, [&](int64_t from, int64_t to) { there[to] = plain[from]; });
  return there;
}

inline std::vector<float> row_major(const std::vector<float>& there, const TensorDesc& desc) {
  std::vector<float> plain(static_cast<std::size_t>(desc.count()));
  each_place(desc, [&](int64_t to, int64_t from) { plain[to] = there[from]; });
  return plain;
}

// The values of the padding.
inline std::vector<float> padding_of(std::vector<float> there, const TensorDesc& desc) {
  std::vector<bool> is_element(there.size());
  each_place(desc, [&](int64_t, int64_t at) { is_element[static_cast<std::size_t>(at)] = true; });
  std::vector<float> padding;
  for (std::size_t i = 0; i < there.size(); ++i)
    if (!is_element[i]) padding.push_back(there[i]);
  return padding;
}

}  // namespace lockstep::testing
