// SPDX-License-Identifier: Apache-2.0
#include "app/detection/shapes/pasted_mask.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "lockstep/error.h"
#include "operators/resize/line.h"
#include "runtime/masks/runs.h"

namespace lockstep {
namespace {

constexpr float kFarthest = 1 << 30;  // coordinates of a box, so that sides are integers

// The pixels of a box along one dimension, and the cells that each of them is interpolated from.
struct PastedLine {
  int64_t first = 0;             // in the picture
  std::vector<ResizeTaps> taps;  // of the pixels inside the picture

  // `from` and `to` are the box's first and last coordinate. Like Detectron, cuts them towards
  // zero. The mask has `cells` cells.
  PastedLine(float from, float to, int64_t cells, int64_t pixels) {
    const auto begin = static_cast<int64_t>(from), last = static_cast<int64_t>(to);
    ResizeLine line;
    line.mode = ResizeMode::linear;
    line.before = cells;
    line.after = std::max<int64_t>(last - begin + 1, 1);
    line.scale = static_cast<double>(line.after) / static_cast<double>(cells);
    first = std::clamp<int64_t>(begin, 0, pixels);
    // A box that is narrower than a pixel may have no pixel.
    const int64_t end = std::clamp<int64_t>(last + 1, first, pixels);
    for (int64_t i = first; i < end; ++i) taps.push_back(line.taps(i - begin));
  }
  auto count() const { return static_cast<uint32_t>(taps.size()); }
};

float interpolated(const float* cells, const ResizeTaps& taps) {
  return cells[taps.place[0]] * taps.weight[0] + cells[taps.place[1]] * taps.weight[1];
}

// The mask with an empty cell on each side. Without these cells, the mask's border would be
// stretched.
std::vector<float> surrounded(std::span<const float> mask, int64_t resolution) {
  const int64_t side = resolution + 2;
  std::vector<float> cells(static_cast<std::size_t>(side * side));
  for (int64_t row = 0; row < resolution; ++row)
    std::copy_n(mask.data() + row * resolution, resolution, cells.data() + (row + 1) * side + 1);
  return cells;
}

// Adds a column of pixels. `cells` are interpolated between columns already.
void add_column(RunWriter& writer, const std::vector<float>& cells, const PastedLine& rows,
                float threshold) {
  uint32_t run = 0;
  bool set = false;
  for (const ResizeTaps& taps : rows.taps) {
    const bool here = interpolated(cells.data(), taps) > threshold;
    if (here != set) {
      writer.add(set, run);
      run = 0;
      set = here;
    }
    ++run;
  }
  writer.add(set, run);
}

}  // namespace

RunLengths pasted_mask(std::span<const float> mask, int64_t resolution, const Corners& box,
                       const PictureSize& picture, double threshold) {
  check(resolution > 0 && mask.size() == static_cast<std::size_t>(resolution * resolution),
        "a mask of ", mask.size(), " numbers, should be ", resolution, " x ", resolution);
  check(picture.area() <= std::numeric_limits<uint32_t>::max(), "a picture of ", picture.height,
        " x ", picture.width, " pixels is too large for a mask");
  check(std::all_of(box.begin(), box.end(), [](float at) { return std::abs(at) < kFarthest; }),
        "a mask cannot be drawn in a box of ", box[0], ", ", box[1], ", ", box[2], ", ", box[3]);
  const int64_t side = resolution + 2;
  // Detectron expands the box from its first to its last pixel.
  const Corners frame = expanded({box[0], box[1], box[2] - 1, box[3] - 1},
                                 static_cast<float>(side) / static_cast<float>(resolution));
  const PastedLine columns(frame[0], frame[2], side, picture.width),
      rows(frame[1], frame[3], side, picture.height);
  const std::vector<float> cells = surrounded(mask, resolution);
  std::vector<float> of_column(static_cast<std::size_t>(side));
  const auto height = static_cast<uint32_t>(picture.height),
             above = static_cast<uint32_t>(rows.first), below = height - above - rows.count();
  RunWriter writer;
  writer.add(false, static_cast<uint32_t>(columns.first) * height);
  for (const ResizeTaps& taps : columns.taps) {
    for (int64_t row = 0; row < side; ++row)
      of_column[row] = interpolated(cells.data() + row * side, taps);
    writer.add(false, above);
    add_column(writer, of_column, rows, static_cast<float>(threshold));
    writer.add(false, below);
  }
  writer.add(false,
             (static_cast<uint32_t>(picture.width - columns.first) - columns.count()) * height);
  return {picture.height, picture.width, std::move(writer.runs)};
}

}  // namespace lockstep
