// SPDX-License-Identifier: Apache-2.0
#include "tests/support/naive_shapes.h"

#include <cmath>
#include <utility>

#include "operators/targets/attributes.h"

namespace lockstep::testing {
namespace {

using GridPoints = std::vector<std::pair<int64_t, int64_t>>;  // x, y in fifths of a pixel

int64_t to_grid(double value) { return static_cast<int64_t>(value + 0.5); }

// Appends the points of a side. Their distance is 1 along the longer axis.
void trace_side(std::pair<int64_t, int64_t> from, std::pair<int64_t, int64_t> to,
                GridPoints& points) {
  const int64_t dx = std::abs(to.first - from.first), dy = std::abs(to.second - from.second);
  const bool flat = dx >= dy;
  const bool back = flat ? from.first > to.first : from.second > to.second;
  if (back) std::swap(from, to);
  const int64_t steps = flat ? dx : dy;
  GridPoints side;
  for (int64_t step = 0; step <= steps; ++step) {
    const auto at = static_cast<double>(step);
    const auto slope = [&](int64_t rise) {
      return steps > 0 ? static_cast<double>(rise) / static_cast<double>(steps) : 0.0;
    };
    if (flat)
      side.emplace_back(from.first + step, to_grid(static_cast<double>(from.second) +
                                                   slope(to.second - from.second) * at));
    else
      side.emplace_back(
          to_grid(static_cast<double>(from.first) + slope(to.first - from.first) * at),
          from.second + step);
  }
  if (back)
    points.insert(points.end(), side.rbegin(), side.rend());
  else
    points.insert(points.end(), side.begin(), side.end());
}

// One flag for each of side x side pixels, column by column.
std::vector<bool> drawn_mask(const std::vector<double>& xy, int64_t side) {
  GridPoints corners, points;
  for (std::size_t i = 0; i < xy.size(); i += 2)
    corners.emplace_back(to_grid(5 * xy[i]), to_grid(5 * xy[i + 1]));
  for (std::size_t i = 0; i < corners.size(); ++i)
    trace_side(corners[i], corners[(i + 1) % corners.size()], points);
  std::vector<bool> mask(static_cast<std::size_t>(side * side), false);
  for (std::size_t i = 1; i < points.size(); ++i) {
    if (points[i].first == points[i - 1].first) continue;
    const double column =
        (static_cast<double>(std::min(points[i].first, points[i - 1].first)) + 0.5) / 5 - 0.5;
    if (std::floor(column) != column || column < 0 || column >= static_cast<double>(side)) continue;
    const double row =
        (static_cast<double>(std::min(points[i].second, points[i - 1].second)) + 0.5) / 5 - 0.5;
    const double top = std::ceil(std::min(std::max(row, 0.0), static_cast<double>(side)));
    auto pixel = static_cast<std::size_t>(column * static_cast<double>(side) + top);
    for (; pixel < mask.size(); ++pixel) mask[pixel] = !mask[pixel];
  }
  return mask;
}

struct NaiveFrame {
  float x1, y1, x2, y2;  // to the last pixel
  explicit NaiveFrame(const Doubles& rois, int64_t roi)
      : x1(static_cast<float>(rois[4 * roi])),
        y1(static_cast<float>(rois[4 * roi + 1])),
        x2(static_cast<float>(rois[4 * roi + 2]) - 1),
        y2(static_cast<float>(rois[4 * roi + 3]) - 1) {}
  bool has_an_area() const {
    return x2 + 1 > x1 && y2 + 1 > y1 && std::isfinite((x2 + 1 - x1) * (y2 + 1 - y1));
  }
  float width() const { return x2 - x1 > 1 ? x2 - x1 : 1; }
  float height() const { return y2 - y1 > 1 ? y2 - y1 : 1; }
};

// The mask of an object, or nothing if it does not count.
std::vector<bool> mask_of(const std::vector<Doubles>& in, int64_t image, double object,
                          const NaiveFrame& frame, int64_t side) {
  const int64_t places = in[2].dims[1];
  std::vector<std::pair<double, std::vector<double>>> rings;
  for (int64_t v = image * places; v < (image + 1) * places; ++v) {
    if (in[3][2 * v] != object) continue;
    const double ring = in[3][2 * v + 1];
    const bool goes_on =
        v > image * places && in[3][2 * v - 2] == object && in[3][2 * v - 1] == ring;
    if (!goes_on) rings.push_back({ring, {}});
    const auto cells = static_cast<float>(side);
    const float x = (static_cast<float>(in[2][2 * v]) - frame.x1) * cells / frame.width();
    const float y = (static_cast<float>(in[2][2 * v + 1]) - frame.y1) * cells / frame.height();
    if (!(std::abs(x) < 1e6F && std::abs(y) < 1e6F)) return {};
    rings.back().second.insert(rings.back().second.end(), {x, y});
  }
  std::vector<bool> mask;
  for (const auto& [ring, xy] : rings) {
    const std::vector<bool> inside = drawn_mask(xy, side);
    mask.resize(inside.size(), false);
    for (std::size_t i = 0; i < mask.size(); ++i)
      if (inside[i]) mask[i] = std::fmod(ring, 2) == 0;
  }
  return mask;
}

}  // namespace

Reference naive_mask_targets(const MaskTargetsAttrs& attrs) {
  return [side = attrs.resolution](const std::vector<Doubles>& in) {
    const int64_t rois = in[0].dims[1], all = in[0].dims[0] * rois;
    Doubles out{{in[0].dims[0], rois, side, side},
                std::vector<double>(static_cast<std::size_t>(all * side * side), -1)};
    for (int64_t roi = 0; roi < all; ++roi) {
      const NaiveFrame frame(in[0], roi);
      if (in[1][roi] < 0 || !frame.has_an_area()) continue;
      const std::vector<bool> mask = mask_of(in, roi / rois, in[1][roi], frame, side);
      for (std::size_t i = 0; i < mask.size(); ++i) {
        const auto at = static_cast<int64_t>(i);
        out[(roi * side + at % side) * side + at / side] = mask[i];
      }
    }
    return std::vector<Doubles>{out};
  };
}

Reference naive_keypoint_targets(const KeypointTargetsAttrs& attrs) {
  return [size = attrs.size](const std::vector<Doubles>& in) {
    const int64_t rois = in[0].dims[1], all = in[0].dims[0] * rois;
    const int64_t objects = in[2].dims[1], points = in[2].dims[2];
    Doubles out{{in[0].dims[0], rois, points},
                std::vector<double>(static_cast<std::size_t>(all * points), -1)};
    for (int64_t roi = 0; roi < all; ++roi) {
      const NaiveFrame frame(in[0], roi);
      if (in[1][roi] < 0 || !frame.has_an_area()) continue;
      const int64_t first = (roi / rois * objects + static_cast<int64_t>(in[1][roi])) * points * 3;
      const auto cells = static_cast<float>(size);
      for (int64_t k = 0; k < points; ++k) {
        const auto px = static_cast<float>(in[2][first + 3 * k]);
        const auto py = static_cast<float>(in[2][first + 3 * k + 1]);
        float x = std::floor((px - frame.x1) * (cells / frame.width()));
        float y = std::floor((py - frame.y1) * (cells / frame.height()));
        if (px == frame.x2) x = cells - 1;
        if (py == frame.y2) y = cells - 1;
        if (in[2][first + 3 * k + 2] > 0 && x >= 0 && x < cells && y >= 0 && y < cells)
          out[roi * points + k] = static_cast<double>(y * cells + x);
      }
    }
    return std::vector<Doubles>{out};
  };
}

OpCase mask_targets_case(const std::string& name, const MaskOperands& operands,
                         const MaskTargetsAttrs& attrs) {
  return {.name = name,
          .type = "MaskTargets",
          .domain = kOwnDomain,
          .attributes = write_mask_targets(attrs),
          .inputs = {operands.rois, operands.matches, operands.vertices, operands.vertex_of},
          .reference = naive_mask_targets(attrs),
          .gradient = false,
          .oracle = false};
}

OpCase keypoint_targets_case(const std::string& name, CaseInput rois, CaseInput matches,
                             CaseInput keypoints, const KeypointTargetsAttrs& attrs) {
  return {.name = name,
          .type = "KeypointTargets",
          .domain = kOwnDomain,
          .attributes = write_keypoint_targets(attrs),
          .inputs = {std::move(rois), std::move(matches), std::move(keypoints)},
          .reference = naive_keypoint_targets(attrs),
          .gradient = false,
          .oracle = false};
}

void set_rings(MaskOperands& operands, const std::vector<std::vector<NaiveRing>>& images,
               int64_t places) {
  const auto count = static_cast<int64_t>(images.size());
  std::vector<float> vertices(static_cast<std::size_t>(count * places * 2), 0);
  std::vector<int64_t> vertex_of(vertices.size(), -1);
  for (int64_t image = 0; image < count; ++image) {
    auto at = static_cast<std::size_t>(image * places * 2);
    for (const NaiveRing& each : images[static_cast<std::size_t>(image)])
      for (std::size_t i = 0; i < each.xy.size(); ++i, ++at) {
        vertices.at(at) = each.xy[i];
        vertex_of.at(at) = i % 2 == 0 ? each.object : each.ring;
      }
  }
  operands.vertices = given(Literal::of<float>(vertices, {count, places, 2}));
  operands.vertex_of = labels(vertex_of, {count, places, 2});
}

}  // namespace lockstep::testing
