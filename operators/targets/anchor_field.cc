// SPDX-License-Identifier: Apache-2.0
#include "operators/targets/anchor_field.h"

#include "operators/targets/attributes.h"

namespace lockstep {
namespace {

constexpr int64_t kRun = 64;  // anchors of a row with overlaps that are computed together

// The first of `count` indices for which holds(index) is true; `count` if there is none. holds()
// must be true for all later indices.
template <class Holds>
int64_t first_index(int64_t count, const Holds& holds) {
  int64_t low = 0, high = count;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (holds(middle))
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

float moved(float coordinate, float stride, int64_t cells) {
  return coordinate + stride * static_cast<float>(cells);
}

// The cells within `cells` with anchors that touch the object.
Cells cells_around(const AnchorGroup& group, const Cells& cells, const TargetBox& object) {
  const auto after = [&](float end, float start, int64_t count) {
    return first_index(count, [&](int64_t i) { return moved(end, group.stride, i) > start; });
  };
  const auto until = [&](float start, float end, int64_t count) {
    return first_index(count, [&](int64_t i) { return !(moved(start, group.stride, i) < end); });
  };
  return {std::max(cells.left, after(group.base.x2, object.x1, group.width)),
          std::min(cells.right, until(group.base.x1, object.x2, group.width)),
          std::max(cells.top, after(group.base.y2, object.y1, group.height)),
          std::min(cells.bottom, until(group.base.y1, object.y2, group.height))};
}

// Overlaps of one object with a row of anchors. Both passes over the anchors use this class, since
// the second pass compares bits computed by the first.
class RowOverlaps {
 public:
  RowOverlaps(const AnchorGroup& group, const TargetBox& object, int64_t y)
      : left_(group.base.x1),
        right_(group.base.x2),
        stride_(group.stride),
        from_(object.x1),
        to_(object.x2),
        areas_(area_of(group.base) + area_of(object)) {
    const float top = moved(group.base.y1, group.stride, y);
    const float bottom = moved(group.base.y2, group.stride, y);
    height_ = std::min(bottom, object.y2) - std::max(top, object.y1);
  }
  float at(int64_t x) const {
    const float shift = stride_ * static_cast<float>(static_cast<int32_t>(x));
    const float width = std::min(right_ + shift, to_) - std::max(left_ + shift, from_);
    const float shared = width * height_;
    return shared / (areas_ - shared);
  }

 private:
  float left_, right_, stride_, from_, to_, areas_, height_;
};

}  // namespace

TargetBox AnchorGroup::anchor(int64_t cell) const {
  const int64_t x = cell % width, y = cell / width;
  return {moved(base.x1, stride, x), moved(base.y1, stride, y), moved(base.x2, stride, x),
          moved(base.y2, stride, y)};
}

std::vector<AnchorGroup> groups_of(const AnchorTargetsAttrs& attrs) {
  std::vector<AnchorGroup> groups;
  for (int64_t a = 0; a < anchors_of_a_cell(attrs); ++a) {
    int64_t first = 0;
    for (std::size_t l = 0; l < attrs.levels.size(); ++l) {
      const AnchorLevel& level = attrs.levels[l];
      const int64_t place = a * level.height * level.width;
      groups.push_back({box_at(level.anchors.data(), a), static_cast<float>(level.stride),
                        level.height, level.width, static_cast<int64_t>(l), first + place, place});
      first += anchors_of(level);
    }
  }
  return groups;
}

Cells cells_inside(const AnchorGroup& group, const ImageBounds& image) {
  if (image.straddle == -1) return {0, group.width, 0, group.height};
  const auto from = [&](float start, int64_t count) {
    return first_index(count,
                       [&](int64_t i) { return moved(start, group.stride, i) >= -image.straddle; });
  };
  // Detectron requires its inclusive x2, which is Lockstep's x2 - 1, to be below the size of the
  // image.
  const auto until = [&](float end, float size, int64_t count) {
    return first_index(count, [&](int64_t i) {
      return !(moved(end, group.stride, i) - 1 < size + image.straddle);
    });
  };
  return {from(group.base.x1, group.width), until(group.base.x2, image.width, group.width),
          from(group.base.y1, group.height), until(group.base.y2, image.height, group.height)};
}

float match_object(const AnchorGroup& group, const Cells& cells, const TargetBox& object,
                   int32_t row, const GroupMatches& matches) {
  const Cells around = cells_around(group, cells, object);
  float highest = 0;
  for (int64_t y = around.top; y < around.bottom; ++y) {
    const RowOverlaps overlaps(group, object, y);
    float* best = matches.best + y * group.width;
    int32_t* rows = matches.rows + y * group.width;
    for (int64_t x = around.left; x < around.right; x += kRun) {
      // A separate loop without the comparisons, which branch, so that compilers vectorise it.
      float overlap[kRun];
      const int64_t count = std::min(kRun, around.right - x);
      for (int64_t i = 0; i < count; ++i) overlap[i] = overlaps.at(x + i);
      for (int64_t i = 0; i < count; ++i) {
        if (overlap[i] > highest) highest = overlap[i];
        if (overlap[i] > best[x + i]) {
          best[x + i] = overlap[i];
          rows[x + i] = row;
        }
      }
    }
  }
  return highest;
}

void mark_best(const AnchorGroup& group, const Cells& cells, const TargetBox& object, float highest,
               const GroupMatches& matches) {
  const Cells around = cells_around(group, cells, object);
  for (int64_t y = around.top; y < around.bottom; ++y) {
    const RowOverlaps overlaps(group, object, y);
    for (int64_t x = around.left; x < around.right; ++x)
      if (overlaps.at(x) == highest) matches.best[y * group.width + x] = kBestAnchor;
  }
}

}  // namespace lockstep
