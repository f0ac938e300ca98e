// SPDX-License-Identifier: Apache-2.0
// Compiled for one kind of processor: nothing here may be shared with other files, so no function
// of the standard library is used.
#include "operators/conv/amx/intrinsics.h"

namespace lockstep::amx {
namespace {

// Transposes 16 x 16 numbers of 32 bits.
void turn_numbers(Bits (&rows)[16]) {
  Bits pairs[16], fours[16];
#pragma GCC unroll 8
  for (int i = 0; i < 16; i += 2) {
    pairs[i] = _mm512_maskz_unpacklo_epi32(kAll, rows[i], rows[i + 1]);
    pairs[i + 1] = _mm512_maskz_unpackhi_epi32(kAll, rows[i], rows[i + 1]);
  }
  // fours[i + c] has, in its lane l, column 4 l + c of rows i to i + 3.
#pragma GCC unroll 4
  for (int i = 0; i < 16; i += 4) {
    fours[i] = _mm512_maskz_unpacklo_epi64(0xFF, pairs[i], pairs[i + 2]);
    fours[i + 1] = _mm512_maskz_unpackhi_epi64(0xFF, pairs[i], pairs[i + 2]);
    fours[i + 2] = _mm512_maskz_unpacklo_epi64(0xFF, pairs[i + 1], pairs[i + 3]);
    fours[i + 3] = _mm512_maskz_unpackhi_epi64(0xFF, pairs[i + 1], pairs[i + 3]);
  }
#pragma GCC unroll 4
  for (int c = 0; c < 4; ++c) {
    const Bits upper_even = _mm512_maskz_shuffle_i32x4(kAll, fours[c], fours[4 + c], 0x88);
    const Bits upper_odd = _mm512_maskz_shuffle_i32x4(kAll, fours[c], fours[4 + c], 0xDD);
    const Bits lower_even = _mm512_maskz_shuffle_i32x4(kAll, fours[8 + c], fours[12 + c], 0x88);
    const Bits lower_odd = _mm512_maskz_shuffle_i32x4(kAll, fours[8 + c], fours[12 + c], 0xDD);
    rows[c] = _mm512_maskz_shuffle_i32x4(kAll, upper_even, lower_even, 0x88);
    rows[4 + c] = _mm512_maskz_shuffle_i32x4(kAll, upper_odd, lower_odd, 0x88);
    rows[8 + c] = _mm512_maskz_shuffle_i32x4(kAll, upper_even, lower_even, 0xDD);
    rows[12 + c] = _mm512_maskz_shuffle_i32x4(kAll, upper_odd, lower_odd, 0xDD);
  }
}

// Transposes [32 pixels, 32 channels] to rows of channels.
void turn_tile(const Bits (&pixels)[32], int64_t row, BFloat16* to) {
  // Pairs of pixels: `low` has channels 0 to 3 of each lane's 8 channels, `high` has the others.
  Bits low[16], high[16];
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) {
    low[i] = _mm512_unpacklo_epi16(pixels[2 * i], pixels[2 * i + 1]);
    high[i] = _mm512_unpackhi_epi16(pixels[2 * i], pixels[2 * i + 1]);
  }
  turn_numbers(low);
  turn_numbers(high);
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) {
    BFloat16* const channel = to + (i / 4 * 8 + i % 4) * row;
    _mm512_storeu_si512(channel, low[i]);
    _mm512_storeu_si512(channel + 4 * row, high[i]);
  }
}

// Indices that interleave two vectors of 32 elements; the second vector begins at index 32. The
// first row gives the first 16 elements of each, the second row the last 16.
constexpr uint16_t kInterleaved[2][kDeep] = {
    {0, 32, 1, 33, 2,  34, 3,  35, 4,  36, 5,  37, 6,  38, 7,  39,
     8, 40, 9, 41, 10, 42, 11, 43, 12, 44, 13, 45, 14, 46, 15, 47},
    {16, 48, 17, 49, 18, 50, 19, 51, 20, 52, 21, 53, 22, 54, 23, 55,
     24, 56, 25, 57, 26, 58, 27, 59, 28, 60, 29, 61, 30, 62, 31, 63}};

// Writes a tile of sums, which has a row for each output.
void write_filters(const FilterPlace& to, const float* tile, int output, int input) {
  BFloat16* const dw = to.data + output * to.output_block + input * to.input_block;
  if (to.output == 0) {
    for (int64_t o = 0; o < kBlock; ++o)
      store_pixel(dw + o * kBlock, narrowed(_mm512_loadu_ps(tile + o * kBlock)));
    return;
  }
  for (int64_t o = 0; o < kBlock && output * kBlock + o < to.outputs; ++o) {
    alignas(32) uint16_t row[kBlock];
    _mm256_store_si256(reinterpret_cast<Pixel*>(row), narrowed(_mm512_loadu_ps(tile + o * kBlock)));
    for (int64_t i = 0; i < kBlock && input * kBlock + i < to.inputs; ++i)
      dw[o * to.output + i * to.input].bits = row[i];
  }
}

void turn_sums(float* tile) {
  Bits rows[kBlock];
  for (int64_t i = 0; i < kBlock; ++i) rows[i] = _mm512_load_si512(tile + i * kBlock);
  turn_numbers(rows);
  for (int64_t i = 0; i < kBlock; ++i) _mm512_store_si512(tile + i * kBlock, rows[i]);
}

}  // namespace

int64_t tiles_of(const Grid& grid, int64_t* firsts) {
  int64_t count = 0;
  for (Place place(grid); place.more(); place.skip(2 * kPixels)) firsts[count++] = place.pixel();
  return count;
}

void pair_up(const BFloat16* planes, int64_t pixels, const Paired& to) {
  const Bits low = _mm512_loadu_si512(kInterleaved[0]), high = _mm512_loadu_si512(kInterleaved[1]);
  const auto pair = [&](Bits one, Bits other, BFloat16* at) {
    _mm512_storeu_si512(at, _mm512_permutex2var_epi16(one, low, other));
    _mm512_storeu_si512(at + to.block, _mm512_permutex2var_epi16(one, high, other));
  };
  Bits one = _mm512_loadu_si512(planes);
  for (int64_t p = 0; p < pixels; p += 2) {
    const Bits other = _mm512_loadu_si512(planes + (p + 1) * kDeep);
    pair(one, other, to.even + p * kBlock);
    const bool more = p + 2 < pixels;
    one = more ? _mm512_loadu_si512(planes + (p + 2) * kDeep) : _mm512_setzero_si512();
    if (to.odd) pair(other, one, to.odd + p * kBlock);
  }
}

void turn(const BFloat16* from, const Grid& grid, const Distances& at, int64_t row, BFloat16* to) {
  Bits pixels[kDeep];
  for (Place tile(grid); tile.more(); tile.skip(kDeep), to += kDeep) {
    const int64_t first = tile.pixel();
    Place place = tile;
    int64_t next = 0;
    for (int64_t done = 0; done < kDeep && place.more(); done = place.pixel() - first) {
      for (; next < done; ++next) pixels[next] = _mm512_setzero_si512();
      const int64_t left = place.left_of_row();
      const int64_t end = left < kDeep - done ? done + left : kDeep;
      const BFloat16* seen = from + place.in(at);
      for (; next < end; ++next, seen += at.across)
        pixels[next] = _mm512_maskz_inserti64x4(0xFF, _mm512_castsi256_si512(load_pixel(seen)),
                                                load_pixel(seen + at.block), 1);
      place.skip(end - done);
    }
    for (; next < kDeep; ++next) pixels[next] = _mm512_setzero_si512();
    turn_tile(pixels, row, to);
  }
}

// Tiles 0 to 3 are sums, 4 and 5 belong to the transposed tensor, 6 and 7 to the paired tensor.
void add_products(const FilterSums& sums) {
  finish_writing();
  float* const to[4] = {sums.sums, sums.sums + sums.paired_block, sums.sums + sums.turned_block,
                        sums.sums + sums.turned_block + sums.paired_block};
  if (sums.first) {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  } else {
    _tile_loadd(0, to[0], kRowBytes);
    _tile_loadd(1, to[1], kRowBytes);
    _tile_loadd(2, to[2], kRowBytes);
    _tile_loadd(3, to[3], kRowBytes);
  }
  const int64_t row_bytes = sums.row * static_cast<int64_t>(sizeof(BFloat16));
  const BFloat16* turned = sums.turned;
  for (int64_t t = 0; t < sums.tiles; ++t, turned += kDeep) {
    const int64_t seen = sums.firsts[t] + sums.seen;
    const BFloat16* const pairs =
        seen % 2 != 0 ? sums.paired.odd + (seen - 1) * kBlock : sums.paired.even + seen * kBlock;
    _tile_loadd(4, turned, row_bytes);
    _tile_loadd(6, pairs, kRowBytes);
    _tile_dpbf16ps(0, 4, 6);
    _tile_loadd(7, pairs + sums.paired.block, kRowBytes);
    _tile_dpbf16ps(1, 4, 7);
    _tile_loadd(5, turned + kBlock * sums.row, row_bytes);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
    fetch(*sums.fetching);
  }
  if (!sums.last) {
    _tile_stored(0, to[0], kRowBytes);
    _tile_stored(1, to[1], kRowBytes);
    _tile_stored(2, to[2], kRowBytes);
    _tile_stored(3, to[3], kRowBytes);
    return;
  }
  alignas(64) float tiles[4][kBlock * kBlock];
  _tile_stored(0, tiles[0], kRowBytes);
  _tile_stored(1, tiles[1], kRowBytes);
  _tile_stored(2, tiles[2], kRowBytes);
  _tile_stored(3, tiles[3], kRowBytes);
  for (int i = 0; i < 4; ++i) {
    const int turned = i / 2, paired = i % 2;
    if (sums.of_outputs) {
      write_filters(sums.dw, tiles[i], turned, paired);
    } else {
      turn_sums(tiles[i]);
      write_filters(sums.dw, tiles[i], paired, turned);
    }
  }
}

}  // namespace lockstep::amx
