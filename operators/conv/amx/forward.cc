// SPDX-License-Identifier: Apache-2.0
// Compiled for one kind of processor: nothing here may be shared with other files, so no function
// of the standard library is used.
#include "operators/conv/amx/intrinsics.h"

namespace lockstep::amx {
namespace {

struct alignas(64) Configuration {
  uint8_t palette = 1, start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};
};

// Tiles 0 to 3 are sums, 4 and 5 pixels, 6 and 7 filters.
template <int kTiles, int kBlocks>
void sum_up(const TileProducts& products, const BFloat16* first, const BFloat16* second,
            const BFloat16* filters) {
  _tile_zero(0);
  if constexpr (kBlocks > 1) _tile_zero(1);
  if constexpr (kTiles > 1) _tile_zero(2);
  if constexpr (kTiles > 1 && kBlocks > 1) _tile_zero(3);
  for (int64_t p = 0; p < products.planes; ++p) {
    const BFloat16* const plane_filters = filters + p * products.filter_plane;
    const int64_t plane = p * products.plane;
    for (int64_t t = 0; t < products.tap_count; ++t) {
      const Tap tap = products.taps[t];
      const BFloat16* const filter = plane_filters + tap.filter;
      const int64_t seen = plane + tap.pixels * kDeep;
      _tile_loadd(4, first + seen, kRowBytes);
      _tile_loadd(6, filter, kRowBytes);
      _tile_dpbf16ps(0, 4, 6);
      if constexpr (kBlocks > 1) {
        _tile_loadd(7, filter + products.filter_block, kRowBytes);
        _tile_dpbf16ps(1, 4, 7);
      }
      if constexpr (kTiles > 1) {
        _tile_loadd(5, second + seen, kRowBytes);
        _tile_dpbf16ps(2, 5, 6);
        if constexpr (kBlocks > 1) _tile_dpbf16ps(3, 5, 7);
      }
      fetch(*products.fetching);
    }
  }
}

// The channels that the result has in this block. Non-finite values in other channels would become
// NaN.
__mmask16 channels_of(const TileProducts& products, int64_t block) {
  const bool last = block + 1 == products.blocks;
  return static_cast<__mmask16>(kAll >> (last ? kBlock - products.last_channels : 0));
}

// Rounds and writes the pixels of a tile that the result has.
void write(const TileProducts& products, const float* sums, Place place, int64_t block) {
  const __mmask16 channels = channels_of(products, block);
  const __m512 bias =
      products.bias ? widened(_mm256_maskz_loadu_epi16(channels, products.bias + block * kBlock))
                    : _mm512_setzero_ps();
  const int64_t first = place.pixel(), across = products.at.across;
  const bool plain = !products.bias && !products.z && !products.relu;
  for (int64_t done = 0; done < kPixels && place.more(); done = place.pixel() - first) {
    const int64_t left = place.left_of_row();
    const int64_t end = left < kPixels - done ? done + left : kPixels;
    const int64_t at = place.in(products.at) + block * products.at.block;
    BFloat16* y = products.y + at;
    const BFloat16* z = products.z ? products.z + at : nullptr;
    const int64_t count = end - done;
    const float* sum = sums + done * kBlock;
    if (plain) {
      for (int64_t i = 0; i < count; ++i)
        store_pixel(y + i * across, narrowed(_mm512_loadu_ps(sum + i * kBlock), channels));
    } else {
      for (int64_t i = 0; i < count; ++i) {
        __m512 value = _mm512_add_ps(_mm512_loadu_ps(sum + i * kBlock), bias);
        if (z) value = _mm512_add_ps(value, widened(load_pixel(z + i * across)));
        // ReLU: the result is the second operand if either is NaN.
        if (products.relu) value = _mm512_maskz_max_ps(kAll, _mm512_setzero_ps(), value);
        store_pixel(y + i * across, narrowed(value, channels));
      }
    }
    place.skip(count);
  }
}

template <int kTiles, int kBlocks>
void make(const TileProducts& products, const Place& first, const Place& second, int64_t block) {
  alignas(64) float sums[kTiles * kBlocks][kPixels * kBlock];
  sum_up<kTiles, kBlocks>(products, products.packed + first.pixel() * kDeep,
                          products.packed + second.pixel() * kDeep,
                          products.filters + block * products.filter_block);
  _tile_stored(0, sums[0], kRowBytes);
  if constexpr (kBlocks > 1) _tile_stored(1, sums[1], kRowBytes);
  if constexpr (kTiles > 1) _tile_stored(2, sums[kBlocks], kRowBytes);
  if constexpr (kTiles > 1 && kBlocks > 1) _tile_stored(3, sums[3], kRowBytes);
  for (int b = 0; b < kBlocks; ++b) {
    write(products, sums[b], first, block + b);
    if constexpr (kTiles > 1) write(products, sums[kBlocks + b], second, block + b);
  }
}

void set_zero(BFloat16* to, int64_t pixels) {
  for (int64_t i = 0; i < pixels; ++i) _mm512_storeu_si512(to + i * kDeep, _mm512_setzero_si512());
}

}  // namespace

TileScope::TileScope() {
  Configuration configuration;
  for (int i = 0; i < 8; ++i) {
    configuration.row_bytes[i] = kRowBytes;
    configuration.rows[i] = kPixels;
  }
  finish_writing(&configuration);
  _tile_loadconfig(&configuration);
}

TileScope::~TileScope() { _tile_release(); }

void pack(const PlaneRows& from, BFloat16* to) {
  const int64_t step = from.step_across;
  // The columns of the plane that are in the image.
  int64_t begin = from.first_column < 0 ? (-from.first_column + step - 1) / step : 0;
  int64_t end =
      from.width > from.first_column ? (from.width - from.first_column + step - 1) / step : 0;
  if (end > from.columns) end = from.columns;
  if (begin > end) begin = end;
  for (int64_t r = 0; r < from.rows; ++r, to += from.columns * kDeep) {
    const int64_t row = from.first_row + r * from.step_down;
    if (row < 0 || row >= from.height) {
      set_zero(to, from.columns);
      continue;
    }
    set_zero(to, begin);
    const BFloat16* seen =
        from.data + (row * from.width + from.first_column + begin * step) * kBlock;
    for (int64_t c = begin; c < end; ++c, seen += step * kBlock) {
      store_pixel(to + c * kDeep, load_pixel(seen));
      store_pixel(to + c * kDeep + kBlock,
                  from.two ? load_pixel(seen + from.block) : _mm256_setzero_si256());
    }
    set_zero(to + end * kDeep, from.columns - end);
  }
}

void multiply(const TileProducts& products) {
  finish_writing();
  for (int64_t block = 0; block < products.blocks; block += 2) {
    const bool two = block + 1 < products.blocks;
    Place first(products.grid);
    while (first.more()) {
      Place second = first;
      second.skip(kPixels);
      if (second.more()) {
        two ? make<2, 2>(products, first, second, block)
            : make<2, 1>(products, first, second, block);
        second.skip(kPixels);
      } else {
        two ? make<1, 2>(products, first, first, block) : make<1, 1>(products, first, first, block);
      }
      first = second;
    }
  }
}

}  // namespace lockstep::amx
