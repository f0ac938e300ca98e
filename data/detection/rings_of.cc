// SPDX-License-Identifier: Apache-2.0
#include "data/detection/rings_of.h"

#include <algorithm>

#include "data/coco/mask_overlap.h"
#include "runtime/masks/polygon_runs.h"

namespace lockstep {
namespace {

// Follows the edges of a mask's pixels, with the mask on the right hand. Places count from the
// upper left corner of the mask's box, which has a margin of one empty pixel.
class ContourTracer {
 public:
  explicit ContourTracer(const RunLengths& mask) : box_(box_of(mask)) {
    height_ = static_cast<int64_t>(box_[3]);
    width_ = static_cast<int64_t>(box_[2]);
    pixels_.assign((height_ + 2) * (width_ + 2), false);
    passed_.assign((height_ + 1) * width_, false);
    const auto left = static_cast<int64_t>(box_[0]), top = static_cast<int64_t>(box_[1]);
    int64_t at = 0;
    for (std::size_t run = 0; run < mask.counts.size(); at += mask.counts[run++])
      for (int64_t i = run % 2 == 1 ? at : at + mask.counts[run]; i < at + mask.counts[run]; ++i)
        pixels_[place(i % mask.height - top, i / mask.height - left)] = true;
  }

  // Looks for contours column by column. The leftmost edge of a hole is right of the leftmost edge
  // of its outline, so each contour is found after the contours around it.
  Rings all() {
    for (int64_t column = 0; column < width_; ++column)
      for (int64_t row = 0; row <= height_; ++row)
        if (set(row - 1, column) != set(row, column) && !passed_[row * width_ + column])
          follow(row, column);
    return std::move(rings_);
  }

 private:
  enum Direction { kEast, kSouth, kWest, kNorth };

  std::size_t place(int64_t row, int64_t column) const {
    return (row + 1) * (width_ + 2) + column + 1;
  }
  bool set(int64_t row, int64_t column) const { return pixels_[place(row, column)]; }

  // The pixel beside the corner, ahead on the right or ahead on the left.
  bool ahead(int64_t y, int64_t x, int direction, bool right) const {
    constexpr int64_t kRow[] = {0, 0, -1, -1}, kColumn[] = {0, -1, -1, 0};  // clockwise from SE
    const int quarter = right ? direction : (direction + 3) % 4;
    return set(y + kRow[quarter], x + kColumn[quarter]);
  }

  // Follows a contour from the upper edge of pixel (row, column), its topmost edge in its first
  // column: of an outline if the pixel is set, else of a hole.
  void follow(int64_t row, int64_t column) {
    const bool outline = set(row, column);
    const int64_t number = next_number(outline);
    const int start = outline ? kEast : kWest;
    const int64_t first = outline ? column : column + 1;
    int64_t y = row, x = first;
    int direction = start;
    do {
      if (direction == kEast) passed_[y * width_ + x] = true;
      if (direction == kWest) passed_[y * width_ + x - 1] = true;
      x += (direction == kEast) - (direction == kWest);
      y += (direction == kSouth) - (direction == kNorth);
      const int before = direction;
      if (!ahead(y, x, direction, true))
        direction = (direction + 1) % 4;
      else if (ahead(y, x, direction, false))
        direction = (direction + 3) % 4;
      if (direction != before) {
        rings_.xy.push_back(box_[0] + static_cast<double>(x));
        rings_.xy.push_back(box_[1] + static_cast<double>(y));
        rings_.ring_of.push_back(number);
      }
    } while (y != row || x != first || direction != start);
  }

  int64_t next_number(bool outline) const {
    const int64_t next = rings_.ring_of.empty() ? 0 : rings_.ring_of.back() + 1;
    return next + (next % 2 == (outline ? 1 : 0));
  }

  CocoBox box_;
  int64_t height_ = 0, width_ = 0;
  std::vector<bool> pixels_;
  std::vector<bool> passed_;  // horizontal edges: row x width_ + column for the edge above a pixel
  Rings rings_;
};

// The rows where a column's pixels change: places 0, 2, .. begin set pixels, places 1, 3, .. end
// them.
using ColumnChanges = std::vector<int64_t>;

// The corners of contours on the line between two columns. A corner is where one column changes, or
// where both change in opposite ways: there two pixels touch at the corner, and so do two contours.
int64_t corners_between(const ColumnChanges& left, const ColumnChanges& right) {
  int64_t corners = 0;
  std::size_t i = 0, j = 0;
  while (i < left.size() && j < right.size()) {
    if (left[i] != right[j]) {
      ++corners;
      ++(left[i] < right[j] ? i : j);
    } else {
      corners += i % 2 != j % 2 ? 2 : 0;
      ++i;
      ++j;
    }
  }
  return corners + static_cast<int64_t>(left.size() - i + right.size() - j);
}

}  // namespace

int64_t vertices_of(const RunLengths& mask) {
  int64_t vertices = 0, column = -1, at = 0;
  ColumnChanges before, now;  // of the column before and of the column
  const auto go_to = [&](int64_t next) {
    vertices += corners_between(before, now);
    if (next > column + 1) vertices += corners_between(now, {});
    before = next > column + 1 ? ColumnChanges() : std::move(now);
    now.clear();
    column = next;
  };
  for (std::size_t run = 0; run < mask.counts.size(); at += mask.counts[run++]) {
    const int64_t end = run % 2 == 1 ? at + mask.counts[run] : at;
    for (int64_t first = at, stop = at; first < end; first = stop) {
      stop = std::min(end, (first / mask.height + 1) * mask.height);
      if (first / mask.height != column) go_to(first / mask.height);
      const int64_t row = first % mask.height;
      if (!now.empty() && now.back() == row)
        now.pop_back();  // a run of no pixels between
      else
        now.push_back(row);
      now.push_back(row + stop - first);
    }
  }
  go_to(column + 2);
  return vertices;
}

int64_t vertices_of(const Annotations& table, const CocoObject& object) {
  if (object.mask >= 0) return vertices_of(table.masks[object.mask]);
  int64_t vertices = 0;
  for (uint32_t i = 0; i < object.polygons.count; ++i)
    vertices += table.polygons[object.polygons.first + i].count / 2;
  return vertices;
}

Rings rings_of(const RunLengths& mask) { return ContourTracer(mask).all(); }

Rings rings_of(const Annotations& table, const CocoObject& object) {
  if (object.mask >= 0) return rings_of(table.masks[object.mask]);
  Rings rings;
  for (uint32_t i = 0; i < object.polygons.count; ++i) {
    const PoolPart part = table.polygons[object.polygons.first + i];
    const auto first = table.coordinates.begin() + part.first;
    rings.xy.insert(rings.xy.end(), first, first + part.count);
    rings.ring_of.insert(rings.ring_of.end(), part.count / 2, 2 * int64_t{i});
  }
  return rings;
}

RunLengths mask_of(const Rings& rings, int64_t height, int64_t width) {
  std::vector<uint32_t> runs = polygon_runs({}, height, width);
  for (std::size_t first = 0, end = 0; first < rings.vertices(); first = end) {
    while (end < rings.vertices() && rings.ring_of[end] == rings.ring_of[first]) ++end;
    const auto ring = std::span(rings.xy).subspan(2 * first, 2 * (end - first));
    const std::vector<uint32_t> drawn = polygon_runs(ring, height, width);
    if (rings.ring_of[first] % 2 == 0)
      runs = joined_runs(std::vector{std::move(runs), drawn});
    else
      runs = cleared_runs(runs, drawn);
  }
  return {height, width, std::move(runs)};
}

}  // namespace lockstep
