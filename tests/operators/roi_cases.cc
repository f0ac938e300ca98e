// SPDX-License-Identifier: Apache-2.0
#include "tests/operators/roi_cases.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "lockstep/op.h"

namespace lockstep::testing {
namespace {

CaseInput rois_of(const std::vector<std::vector<float>>& rows, int64_t columns = 4) {
  std::vector<float> values;
  for (const auto& row : rows) values.insert(values.end(), row.begin(), row.end());
  return given(Literal::of<float>(values, {static_cast<int64_t>(rows.size()), columns}));
}

Attributes bins_of(const Align& a) {
  return {{"output_height", a.height},
          {"output_width", a.width},
          {"sampling_ratio", a.ratio},
          {"coordinate_transformation_mode", a.half_pixel ? "half_pixel" : "output_half_pixel"}};
}

Attributes attributes_of(const Align& a) {
  Attributes attributes = bins_of(a);
  attributes.push_back({"mode", a.max ? "max" : "avg"});
  attributes.push_back({"spatial_scale", a.scale});
  return attributes;
}

// Computes one bin of one channel, point by point.
double naive_bin(const Align& a, const double* plane, int64_t h, int64_t w, const double* box,
                 int64_t i, int64_t j) {
  const double offset = a.half_pixel ? 0.5 : 0;
  const double left = box[0] * a.scale - offset, top = box[1] * a.scale - offset;
  double width = box[2] * a.scale - offset - left, height = box[3] * a.scale - offset - top;
  if (!a.half_pixel) {
    width = std::max(width, 1.0);
    height = std::max(height, 1.0);
  }
  const double bin_h = height / static_cast<double>(a.height);
  const double bin_w = width / static_cast<double>(a.width);
  const double rows = a.ratio > 0 ? static_cast<double>(a.ratio) : std::ceil(bin_h);
  const double columns = a.ratio > 0 ? static_cast<double>(a.ratio) : std::ceil(bin_w);
  double total = 0, most = -std::numeric_limits<double>::infinity();
  for (double p = 0; p < rows; ++p)
    for (double q = 0; q < columns; ++q) {
      double y = top + (static_cast<double>(i) + (p + 0.5) / rows) * bin_h;
      double x = left + (static_cast<double>(j) + (q + 0.5) / columns) * bin_w;
      const bool beside =
          y < -1 || y > static_cast<double>(h) || x < -1 || x > static_cast<double>(w);
      if (beside || h == 0 || w == 0) {
        most = std::max(most, 0.0);
        continue;
      }
      y = std::clamp(y, 0.0, static_cast<double>(h - 1));
      x = std::clamp(x, 0.0, static_cast<double>(w - 1));
      const auto y0 = static_cast<int64_t>(y), x0 = static_cast<int64_t>(x);
      const double ly = y - static_cast<double>(y0), lx = x - static_cast<double>(x0);
      for (const int64_t down : {0, 1})
        for (const int64_t right : {0, 1}) {  // at the edge, a position also counts with weight 0
          const double weight = (down ? ly : 1 - ly) * (right ? lx : 1 - lx);
          const double part =
              weight * plane[std::min(y0 + down, h - 1) * w + std::min(x0 + right, w - 1)];
          total += part;
          most = std::max(most, part);
        }
    }
  if (a.max) return std::isfinite(most) ? most : 0;
  return total / std::max(1.0, rows * columns);
}

Doubles naive_align(const Align& a, const std::vector<const Doubles*>& maps,
                    const std::vector<double>& scales, const Doubles& rois, const Doubles& images,
                    const std::vector<double>& levels) {
  const int64_t channels = maps[0]->dims[1];
  Doubles y{{rois.dims[0], channels, a.height, a.width}, {}};
  for (int64_t r = 0; r < rois.dims[0]; ++r)
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t i = 0; i < a.height; ++i)
        for (int64_t j = 0; j < a.width; ++j) {
          const auto level = static_cast<int64_t>(levels[r]);
          if (level < 0) {
            y.values.push_back(0);
            continue;
          }
          const Doubles& x = *maps[level];
          Align of_level = a;
          of_level.scale = static_cast<float>(scales[level]);
          const int64_t h = x.dims[2], w = x.dims[3];
          const double* plane =
              x.values.data() + (static_cast<int64_t>(images[r]) * channels + c) * h * w;
          y.values.push_back(naive_bin(of_level, plane, h, w, rois.values.data() + 4 * r, i, j));
        }
  return y;
}

}  // namespace

CaseInput indices_of(const std::vector<int64_t>& values) {
  return labels(values, {static_cast<int64_t>(values.size())});
}

OpCase align_case(const std::string& name, const Dims& x,
                  const std::vector<std::vector<float>>& rois, const std::vector<int64_t>& images,
                  const Align& a) {
  return {.name = name,
          .type = "RoiAlign",
          .attributes = attributes_of(a),
          .inputs = {random(x), rois_of(rois), indices_of(images)},
          .reference = [a](const std::vector<Doubles>& in) {
            return std::vector<Doubles>{naive_align(a, {&in[0]}, {a.scale}, in[1], in[2],
                                                    std::vector<double>(in[1].dims[0], 0))};
          }};
}

OpCase multilevel_case(const std::string& name, const std::vector<Dims>& maps,
                       const std::vector<std::vector<float>>& rois,
                       const std::vector<int64_t>& images, const std::vector<int64_t>& levels,
                       const Align& a) {
  std::vector<float> scales;
  for (std::size_t l = 0; l < maps.size(); ++l)
    scales.push_back(a.scale / static_cast<float>(1 << l));
  OpCase c{.name = name,
           .type = "MultilevelRoiAlign",
           .domain = kOwnDomain,
           .attributes = bins_of(a),
           .inputs = {rois_of(rois), indices_of(images), indices_of(levels)},
           .reference = [=](const std::vector<Doubles>& in) {
             std::vector<const Doubles*> of;
             for (std::size_t l = 3; l < in.size(); ++l) of.push_back(&in[l]);
             return std::vector<Doubles>{
                 naive_align(a, of, {scales.begin(), scales.end()}, in[0], in[1], in[2].values)};
           }};
  c.attributes.push_back({"spatial_scales", scales});
  for (std::size_t l = 0; l < maps.size(); ++l)
    c.inputs.push_back(random(maps[l], static_cast<int>(l) + 1));
  return c;
}

// Bins of whole positions; x2 and y2 are inside the box.
OpCase pool_case(const std::string& name, const Dims& dims,
                 const std::vector<std::vector<float>>& rois, int64_t height, int64_t width,
                 float scale) {
  return {
      .name = name,
      .type = "MaxRoiPool",
      .attributes = {{"pooled_shape", std::vector<int64_t>{height, width}},
                     {"spatial_scale", scale}},
      .inputs = {random(dims), rois_of(rois, 5)},
      .reference = [=](const std::vector<Doubles>& in) {
        const Doubles &x = in[0], &boxes = in[1];
        const int64_t h = dims[2], w = dims[3];
        Doubles y{{boxes.dims[0], dims[1], height, width}, {}};
        const auto inside = [](double low, double high, int64_t bins, int64_t bin, int64_t place) {
          const double size = std::max(high - low + 1, 1.0) / static_cast<double>(bins);
          const double begin = std::floor(static_cast<double>(bin) * size) + low;
          const double end = std::ceil(static_cast<double>(bin + 1) * size) + low;
          return static_cast<double>(place) >= begin && static_cast<double>(place) < end;
        };
        for (int64_t i = 0; i < element_count(y.dims); ++i) {
          const int64_t q = i % width, p = i / width % height;
          const int64_t c = i / width / height % dims[1], r = i / width / height / dims[1];
          const double* box = boxes.values.data() + 5 * r;
          double edge[4];
          for (int64_t k = 0; k < 4; ++k) edge[k] = std::round(box[1 + k] * scale);
          double most = -std::numeric_limits<double>::infinity();
          for (int64_t v = 0; v < h; ++v)
            for (int64_t u = 0; u < w; ++u)
              if (inside(edge[1], edge[3], height, p, v) && inside(edge[0], edge[2], width, q, u))
                most = std::max(most,
                                x[((static_cast<int64_t>(box[0]) * dims[1] + c) * h + v) * w + u]);
          y.values.push_back(std::isfinite(most) ? most : 0);
        }
        return std::vector<Doubles>{y};
      }};
}

// Caffe2's rule in doubles: every cell of the map is asked if it is inside the bin.
OpCase position_case(const std::string& name, const Dims& map,
                     const std::vector<std::vector<float>>& rois,
                     const std::vector<int64_t>& images, int64_t grid, float scale) {
  return {.name = name,
          .type = "PSRoIPool",
          .domain = kOwnDomain,
          .attributes = {{"group_size", grid}, {"spatial_scale", scale}},
          .inputs = {random(map), rois_of(rois), indices_of(images)},
          .reference = [=](const std::vector<Doubles>& in) {
            const Doubles &x = in[0], &boxes = in[1];
            const int64_t h = map[2], w = map[3], channels = map[1] / (grid * grid);
            Doubles y{{boxes.dims[0], channels, grid, grid}, {}};
            const auto inside = [&](double low, double high, int64_t bin, int64_t cell) {
              const double start = std::round(low) * scale;
              const double size = std::max((std::round(high) + 1) * scale - start, 0.1);
              const double of_bin = size / static_cast<double>(grid);
              const double begin = std::floor(static_cast<double>(bin) * of_bin + start);
              const double end = std::ceil(static_cast<double>(bin + 1) * of_bin + start);
              return static_cast<double>(cell) >= begin && static_cast<double>(cell) < end;
            };
            for (int64_t at = 0; at < element_count(y.dims); ++at) {
              const int64_t j = at % grid, i = at / grid % grid;
              const int64_t c = at / grid / grid % channels, r = at / grid / grid / channels;
              const double* box = boxes.values.data() + 4 * r;
              const auto image = static_cast<int64_t>(in[2][r]);
              const int64_t plane = (image * channels + c) * grid * grid + i * grid + j;
              double total = 0, cells = 0;
              for (int64_t v = 0; v < h; ++v)
                for (int64_t u = 0; u < w; ++u)
                  if (inside(box[1], box[3], i, v) && inside(box[0], box[2], j, u)) {
                    total += x[(plane * h + v) * w + u];
                    ++cells;
                  }
              y.values.push_back(cells > 0 ? total / cells : 0);
            }
            return std::vector<Doubles>{y};
          }};
}

}  // namespace lockstep::testing
