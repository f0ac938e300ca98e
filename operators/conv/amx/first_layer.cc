// SPDX-License-Identifier: Apache-2.0
#include "operators/conv/amx/first_layer.h"

#include <algorithm>
#include <cstring>

#include "operators/conv/amx/driver.h"

namespace lockstep::amx {
namespace {

constexpr int64_t kPlaces = Windows::kRowPlaces;

// Packs one row of the windows of a row of pixels, from a row of an image.
void pack_row(const Windows& windows, const BFloat16* row, BFloat16* to) {
  constexpr int64_t kWords = kPlaces / 4;
  const ConvAxis& across = windows.across;
  uint64_t kept[kWords] = {};  // elements that the window has
  for (int64_t i = 0; i < across.window; ++i) kept[i / 4] |= uint64_t{0xFFFF} << i % 4 * 16;
  for (int64_t x = 0; x < across.result; ++x, to += kDeep) {
    const int64_t first = x * across.step - across.pad;
    if (first >= 0 && first + kPlaces <= across.image) {
      uint64_t seen[kWords];
      std::memcpy(seen, row + first, sizeof seen);
      for (int64_t w = 0; w < kWords; ++w) seen[w] &= kept[w];
      std::memcpy(to, seen, sizeof seen);
      continue;
    }
    for (int64_t i = 0; i < kPlaces; ++i) {
      const int64_t column = first + i;
      const bool sees = i < across.window && column >= 0 && column < across.image;
      to[i] = sees ? row[column] : BFloat16();
    }
  }
}

}  // namespace

void Windows::pack(const BFloat16* image, int64_t plane, int64_t first_row, int64_t count,
                   BFloat16* to) const {
  for (int64_t y = first_row; y < first_row + count; ++y, to += across.result * kDeep) {
    for (int64_t place = 0; place < kDeep; place += kPlaces) {
      const int64_t number = (plane * kDeep + place) / kPlaces;
      const int64_t row = y * down.step - down.pad + number % down.window;
      if (y >= down.result || number >= rows() || row < 0 || row >= down.image) {
        for (int64_t x = 0; x < across.result; ++x)
          std::fill_n(to + x * kDeep + place, kPlaces, BFloat16());
        continue;
      }
      const BFloat16* const from = image + (number / down.window * down.image + row) * across.image;
      pack_row(*this, from, to + place);
    }
  }
}

void Windows::fill_tiles(const BFloat16* filters, BFloat16* to) const {
  std::fill_n(to, filter_places(), BFloat16());
  for (int64_t output = 0; output < outputs; ++output) {
    BFloat16* const tiles =
        to + output / kBlock * places() * kBlock + kForwardTiles.place_of_output(output % kBlock);
    for (int64_t row = 0; row < rows(); ++row)
      for (int64_t i = 0; i < across.window; ++i) {
        const int64_t place = row * kPlaces + i;
        tiles[place / kDeep * kTile + kForwardTiles.place_of_input(place % kDeep)] = *filters++;
      }
  }
}

void Windows::take_filters(const BFloat16* with_zeros, BFloat16* to) const {
  for (int64_t output = 0; output < outputs; ++output, with_zeros += places())
    for (int64_t row = 0; row < rows(); ++row, to += across.window)
      std::copy_n(with_zeros + row * kPlaces, across.window, to);
}

}  // namespace lockstep::amx
