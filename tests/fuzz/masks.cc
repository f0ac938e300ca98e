// SPDX-License-Identifier: Apache-2.0
// Polygons and run lengths. An input is a line "height width", then either "polygon" and a line of
// numbers, or "runs" and a line of COCO's string.
#include <sstream>

#include "data/coco/mask_overlap.h"
#include "data/coco/masks.h"
#include "data/coco/rle.h"
#include "data/detection/rings_of.h"
#include "lockstep/error.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/readers.h"

namespace lockstep::fuzz {
namespace {

constexpr int64_t kLargestMask = 1 << 14;  // more only take longer

RunLengths mask_in(std::istream& in) {
  int64_t height = 0, width = 0;
  std::string kind, text;
  in >> height >> width >> kind;
  check(height >= 1 && width >= 1 && height <= kLargestMask && width <= kLargestMask / height,
        "a mask of ", height, " x ", width);
  if (kind == "polygon") {
    std::vector<double> points;
    while (in >> text) points.push_back(std::strtod(text.c_str(), nullptr));
    return mask_of(points, height, width);
  }
  check(kind == "runs", "neither a polygon nor runs");
  in >> text;
  RunLengths mask{height, width, decode_run_lengths(text)};
  check_run_lengths(mask);
  expect(decode_run_lengths(encode_run_lengths(mask.counts)) == mask.counts);
  return mask;
}

}  // namespace

void read_mask(const std::string& text) {
  std::istringstream in(text);
  const RunLengths given = mask_in(in);
  const RunLengths mask = mask_of_bitmap(bitmap_of(given), given.height, given.width);
  const auto same = [&](const RunLengths& other) { return other.counts == mask.counts; };
  check_run_lengths(mask);
  expect(area_of(given) == area_of(mask) && box_of(given) == box_of(mask));
  expect(same(joined(std::vector{given, mask})) && same(common(std::vector{given, mask})));
  expect(same(mirrored(mirrored(given))));
  expect(same(mask_of(rings_of(given), mask.height, mask.width)));
  const std::vector<double> all =
      overlaps(std::vector{given, mirrored(given)}, std::vector{mask}, {false});
  expect(all[0] == (area_of(mask) > 0 ? 1 : 0) && all[1] >= 0 && all[1] <= 1);
}

Seeds mask_seeds() {
  return {"12 17 polygon 1.5 2 9 1.25 16.9 11 3 9.75\n",
          "5 7 polygon -3 -3 100 2 4 1e6 0.1 0.3\n",
          "9 9 polygon 0 0 9 0 9 9 0 9 3 3 6 6\n",
          "40 60 runs 02nZ2\n",
          join("4 6 runs ", encode_run_lengths({0, 2, 1, 3, 0, 1, 2, 15}), "\n"),
          join("3 3 runs ", encode_run_lengths({1, 1, 1, 1, 1, 1, 1, 1, 1}), "\n")};
}

}  // namespace lockstep::fuzz
