// SPDX-License-Identifier: Apache-2.0
#include "data/formats/bmp_layout.h"

#include <algorithm>
#include <bit>

#include "lockstep/error.h"

namespace lockstep {
namespace {

// The layout of the first header: "BM", the file's size, 4 reserved bytes, the offset of the
// pixels. A second header follows, which begins with its own size.
constexpr uint64_t kPixels = 10, kSecond = 14;
constexpr uint32_t kOs2 = 12, kOs2Long = 64, kWindows = 40;  // sizes of second headers

BmpLayout::Packing packing_of(uint32_t number, int bits, uint32_t header, const std::string& path) {
  constexpr uint32_t kRuns8 = 1, kRuns4 = 2, kMasks = 3, kJpeg = 4, kPng = 5, kMasksAlpha = 6;
  const bool masked = number == kMasks || number == kMasksAlpha;
  if (number == 0 &&
      (bits == 1 || bits == 2 || bits == 4 || bits == 8 || bits == 16 || bits == 24 || bits == 32))
    return BmpLayout::kPlain;
  if (number == kRuns8 && bits == 8) return BmpLayout::kRuns8;
  if (number == kRuns4 && bits == 4) return BmpLayout::kRuns4;
  if (masked && header != kOs2Long && (bits == 16 || bits == 32)) return BmpLayout::kMasks;
  const char* kind = number == kJpeg && header != kOs2Long    ? " (JPEG)"
                     : number == kPng                         ? " (PNG)"
                     : number == kJpeg                        ? " (RLE24)"
                     : number == kMasks && header == kOs2Long ? " (Huffman)"
                                                              : "";
  fail(path, ": a BMP file of ", bits, " bits a pixel with compression ", number, kind,
       "; Lockstep reads 1 to 32 bits without compression, RLE8, RLE4 and masks of colours");
}

void read_masks(std::string_view bytes, BmpLayout& layout, const std::string& path) {
  constexpr uint64_t kMasksAt = kSecond + kWindows;  // in longer headers, or after a shorter one
  for (unsigned c = 0; c < 3; ++c) {
    const uint32_t mask = little_endian(bytes, kMasksAt + 4 * c, 4);
    const uint32_t low = mask == 0 ? 0 : mask >> std::countr_zero(mask);
    check((low & (low + 1)) == 0, path, ": a BMP file whose mask ", c + 1,
          " of colours has a gap (", mask, ")");
    layout.masks[c] = mask;
  }
}

}  // namespace

uint32_t little_endian(std::string_view bytes, uint64_t at, unsigned count) {
  uint32_t value = 0;
  for (unsigned i = count; i-- > 0;) value = value << 8 | static_cast<uint8_t>(bytes[at + i]);
  return value;
}

BmpLayout bmp_layout(const PictureFile& file) {
  const std::string_view bytes = file.bytes;
  const auto check_reach = [&](uint64_t end) {
    check(end <= bytes.size(), file.path, ": a BMP file that is cut off in its header (",
          bytes.size(), " bytes)");
  };
  check_reach(kSecond + kOs2);
  const uint32_t header = little_endian(bytes, kSecond, 4);
  constexpr uint32_t kKnown[]{kOs2, kWindows, 52, 56, kOs2Long, 108, 124};
  check(std::find(std::begin(kKnown), std::end(kKnown), header) != std::end(kKnown), file.path,
        ": a BMP file with a header of ", header,
        " bytes; Lockstep does not read this kind of BMP");
  check_reach(kSecond + header);

  BmpLayout layout;
  layout.pixels = little_endian(bytes, kPixels, 4);
  layout.palette = kSecond + header;
  uint32_t colours = 0, packing = 0;
  if (header == kOs2) {
    layout.width = little_endian(bytes, 18, 2);
    layout.height = little_endian(bytes, 20, 2);
    layout.bits = static_cast<int>(little_endian(bytes, 24, 2));
    layout.entry_bytes = 3;
  } else {
    layout.width = static_cast<int32_t>(little_endian(bytes, 18, 4));
    layout.height = static_cast<int32_t>(little_endian(bytes, 22, 4));
    layout.bits = static_cast<int>(little_endian(bytes, 28, 2));
    packing = little_endian(bytes, 30, 4);
    colours = little_endian(bytes, 46, 4);
  }
  layout.top_down = layout.height < 0;
  layout.height = std::abs(layout.height);
  layout.packing = packing_of(packing, layout.bits, header, file.path);
  if (layout.bits == 16) layout.masks = {0x7C00, 0x03E0, 0x001F};
  if (layout.bits == 32) layout.masks = {0xFF0000, 0x00FF00, 0x0000FF};
  if (layout.packing == BmpLayout::kMasks) {
    check_reach(kSecond + kWindows + 12);
    read_masks(bytes, layout, file.path);
  }
  if (layout.has_palette()) {
    const uint64_t most = uint64_t{1} << layout.bits;
    layout.colours = colours == 0 ? most : std::min<uint64_t>(colours, most);
    if (layout.pixels > layout.palette)  // old files have fewer entries than stated
      layout.colours =
          std::min(layout.colours, (layout.pixels - layout.palette) / layout.entry_bytes);
    check_reach(layout.palette + layout.colours * layout.entry_bytes);
  }
  return layout;
}

}  // namespace lockstep
