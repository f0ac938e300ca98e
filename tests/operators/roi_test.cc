#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/support/case_run.h"
#include "tests/support/expect_error.h"
#include "tests/support/op_case.h"
#include "tests/support/own_operators.h"
#include "tests/support/threads.h"

namespace lockstep::testing {
namespace {

CaseInput rois_of(const std::vector<std::vector<float>>& rows, int64_t columns = 4) {
  std::vector<float> values;
  for (const auto& row : rows) values.insert(values.end(), row.begin(), row.end());
  return given(Literal::of<float>(values, {static_cast<int64_t>(rows.size()), columns}));
}

CaseInput indices_of(const std::vector<int64_t>& values) {
  return labels(values, {static_cast<int64_t>(values.size())});
}

struct Align {
  int64_t height = 2, width = 3, ratio = 2;
  float scale = 0.5F;
  bool half_pixel = true, max = false;
};

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

// One bin of one channel, point by point.
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
        for (const int64_t right : {0, 1}) {  // at the edge a place counts once more, by 0
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

std::vector<OpCase> align_cases() {
  // Inside, beyond two sides, wholly outside, covering everything.
  const std::vector<std::vector<float>> boxes{
      {1.1F, 2.3F, 7.4F, 9.2F}, {-5, 3, 4.3F, 30}, {40, 40, 60, 50}, {-3, -3, 19, 23}};
  const std::vector<int64_t> images{0, 1, 1, 0};
  std::vector<OpCase> all{
      align_case("points", {2, 2, 6, 5}, boxes, images, {}),
      align_case("one_point", {2, 1, 6, 5}, boxes, images, {.ratio = 1}),
      align_case("many_points", {2, 1, 6, 5}, boxes, images, {.height = 1, .width = 1, .ratio = 5}),
      align_case("by_size", {2, 1, 6, 5}, boxes, images, {.ratio = 0}),
      align_case("by_size_output_half", {2, 1, 6, 5}, boxes, images,
                 {.ratio = 0, .half_pixel = false}),
      align_case("output_half", {2, 1, 6, 5}, boxes, images, {.half_pixel = false}),
      align_case("many_channels", {1, 21, 5, 4}, {{1, 1, 7, 8}}, {0}, {.height = 3}),
      align_case("one_place", {1, 1, 1, 1}, {{0, 0, 2, 2}, {0.2F, 0.3F, 0.9F, 1}}, {0, 0}, {}),
      align_case("a_line", {1, 2, 1, 7}, {{0, 0, 9, 2}}, {0}, {.ratio = 0}),
      // At least a pixel, if not half_pixel.
      align_case("tiny", {1, 1, 4, 4}, {{3, 3, 3.1F, 3.1F}}, {0}, {.half_pixel = false}),
      align_case("no_channels", {1, 0, 4, 4}, {{0, 0, 4, 4}}, {0}, {}),
      align_case("max_one_point", {2, 1, 4, 5}, boxes, images, {.ratio = 1, .max = true}),
      align_case("max_points", {2, 2, 4, 5}, {boxes[0], boxes[2]}, {1, 0}, {.max = true})};
  OpCase open = align_case("batch", {3, 2, 4, 5}, {boxes[0], boxes[1], boxes[3]}, {2, 0, 1}, {});
  open.symbolic_batch = true;
  all.push_back(open);
  // What other engines refuse or hang on.
  std::vector<OpCase> alone{
      align_case("no_rois", {1, 2, 4, 4}, {}, {}, {}),
      align_case("nothing", {1, 2, 0, 4}, {{0, 0, 4, 4}}, {0}, {}),
      align_case("ends_exchanged", {1, 1, 5, 6}, {{9.1F, 8.2F, 2.3F, 1.4F}}, {0}, {}),
      align_case("ends_exchanged_by_size", {1, 1, 5, 6}, {{9, 8, 2, 1}}, {0}, {.ratio = 0}),
      align_case("wide", {1, 1, 5, 6}, {{-40, -1000, 170, 1200}}, {0}, {.ratio = 0})};
  for (OpCase& c : alone) {
    c.oracle = false;
    all.push_back(c);
  }
  return all;
}

OpCase multilevel_case(const std::string& name, const std::vector<Dims>& maps,
                       const std::vector<std::vector<float>>& rois,
                       const std::vector<int64_t>& images, const std::vector<int64_t>& levels,
                       const Align& a = {}) {
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

std::vector<OpCase> multilevel_cases() {
  const std::vector<Dims> maps{{2, 2, 6, 7}, {2, 2, 3, 4}, {2, 2, 2, 2}};
  const std::vector<std::vector<float>> boxes{
      {1.1F, 2.3F, 7.4F, 9.2F}, {-5, 3, 4.3F, 30}, {0, 0, 9, 8}, {-3, -3, 19, 23}, {2, 2, 9, 9}};
  std::vector<OpCase> all{
      multilevel_case("three", maps, boxes, {0, 1, 1, 0, 1}, {0, 1, -1, 2, 0}),
      multilevel_case("by_size", maps, boxes, {0, 1, 1, 0, 1}, {2, 1, 0, 0, 1}, {.ratio = 0}),
      multilevel_case("one_level", {{1, 9, 4, 4}}, {{1, 1, 6, 7}}, {0}, {0}, {.half_pixel = false}),
      // No image is looked up for an empty place.
      multilevel_case("empty_places", maps, {boxes[0], boxes[1]}, {-7, 99}, {-1, -1}),
      multilevel_case("no_rois", maps, {}, {}, {})};
  OpCase open = multilevel_case("batch", maps, {boxes[0], boxes[3]}, {1, 0}, {1, 0});
  open.symbolic_batch = true;
  all.push_back(open);
  return all;
}

// Bins of whole places; x2 and y2 are inside the box.
OpCase pool_case(const std::string& name, const Dims& dims,
                 const std::vector<std::vector<float>>& rois, int64_t height = 2, int64_t width = 2,
                 float scale = 0.5F) {
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

std::vector<OpCase> pool_roi_cases() {
  std::vector<OpCase> all{
      pool_case("boxes", {2, 2, 6, 5}, {{0, 1, 2, 7, 9}, {1, -5, 3, 4, 30}, {1, 0, 0, 9, 11}}),
      pool_case("outside", {1, 1, 4, 4}, {{0, 40, 40, 60, 50}, {0, -9, -9, -4, -4}}),
      pool_case("overlapping_bins", {1, 3, 5, 5}, {{0, 0, 0, 8, 8}}, 3, 4),
      pool_case("tiny", {1, 1, 4, 4}, {{0, 3, 3, 3, 3}, {0, 7, 7, 2, 2}}),
      pool_case("one_bin", {1, 9, 4, 4}, {{0, 0, 0, 3, 3}}, 1, 1, 1),
      pool_case("no_channels", {1, 0, 4, 4}, {{0, 0, 0, 3, 3}})};
  OpCase open = pool_case("batch", {2, 1, 4, 5}, {{1, 1, 2, 7, 9}, {0, 0, 0, 5, 5}});
  open.symbolic_batch = true;
  all.push_back(open);
  OpCase none = pool_case("no_rois", {1, 2, 4, 4}, {});
  none.oracle = false;
  all.push_back(none);
  return all;
}

class RoiPooling : public ::testing::TestWithParam<OpCase> {};
TEST_P(RoiPooling, Case) { check_case(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Align, RoiPooling, ::testing::ValuesIn(align_cases()));
INSTANTIATE_TEST_SUITE_P(Multilevel, RoiPooling, ::testing::ValuesIn(multilevel_cases()));
INSTANTIATE_TEST_SUITE_P(Max, RoiPooling, ::testing::ValuesIn(pool_roi_cases()));

std::vector<Literal> results(const OpCase& c, int threads = 1) {
  const Built built = build(c);
  std::vector<std::string> fetches;
  for (const Value output : built.outputs) fetches.push_back(built.graph.name(output));
  CompileOptions options = guarded();
  options.threads = threads;
  return CaseRunner(built.graph, c, built.feeds, fetches, options).run(fed_values(c));
}

TEST(RoiPoolingErrors, IndicesOutsideAreNamed) {
  OpCase c = align_case("bad", {2, 1, 4, 4}, {{0, 0, 4, 4}, {0, 0, 4, 4}}, {0, 2}, {});
  expect_error([&] { results(c); }, "RoiAlign: image 2 of RoI 1 is outside 0..1");
  c = align_case("bad", {2, 1, 4, 4}, {{0, 0, 4, 4}}, {-1}, {.max = true});
  expect_error([&] { results(c); }, "RoiAlign: image -1 of RoI 0 is outside 0..1");
  c = pool_case("bad", {2, 1, 4, 4}, {{2, 0, 0, 4, 4}});
  expect_error([&] { results(c); }, "MaxRoiPool: image 2 of RoI 0 is outside 0..1");
  c = pool_case("bad", {2, 1, 4, 4}, {{std::nanf(""), 0, 0, 4, 4}});
  expect_error([&] { results(c); }, "MaxRoiPool: image nan of RoI 0 is outside 0..1");
  c = multilevel_case("bad", {{1, 1, 4, 4}, {1, 1, 2, 2}}, {{0, 0, 4, 4}}, {0}, {2});
  expect_error([&] { results(c); }, "MultilevelRoiAlign: level 2 of RoI 0 is outside -1..1");
  c.inputs[2] = indices_of({1});
  c.inputs[1] = indices_of({1});
  expect_error([&] { results(c); }, "MultilevelRoiAlign: image 1 of RoI 0 is outside 0..0");
}

TEST(RoiPoolingErrors, OperandsThatDoNotFitAreNamed) {
  const OpCase good = align_case("bad", {1, 1, 4, 4}, {{0, 0, 4, 4}}, {0}, {});
  const auto refused = [](OpCase c, const auto& spoil, const std::string& why) {
    spoil(c);
    expect_error([&] { results(c); }, "node (" + c.type, why);
  };
  refused(
      good,
      [](OpCase& c) {
        c.inputs[1] = random({1, 5});
      },
      "its input 1, is float32[1,5]");
  refused(
      good,
      [](OpCase& c) {
        c.inputs[2] = indices_of({0, 0});
      },
      "2");
  refused(
      good, [](OpCase& c) { c.attributes[0].second = int64_t{0}; }, "the output is 0 x 3");
  refused(
      good, [](OpCase& c) { c.attributes[2].second = int64_t{-1}; }, "sampling_ratio is -1");
  refused(
      good, [](OpCase& c) { c.attributes[3].second = "pixel"; }, "'pixel'");
  refused(
      good, [](OpCase& c) { c.attributes[4].second = "median"; }, "mode is 'median'");
  refused(
      good, [](OpCase& c) { c.attributes[5].second = 0.0F; }, "spatial_scale is 0");
  refused(
      pool_case("bad", {1, 1, 4, 4}, {{0, 0, 0, 3, 3}}),
      [](OpCase& c) {
        c.inputs[1] = random({1, 4});
      },
      "its input 1, is float32[1,4]");
}

// Boxes of an untrained network: nothing hangs, reads outside, or sets another RoI's bins.
TEST(RoiPoolingOfNonsense, IsZeroWhereNothingIsOnTheMap) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  const std::vector<std::vector<float>> boxes{
      {nan, nan, nan, nan},   {-inf, -inf, inf, inf},
      {inf, inf, -inf, -inf}, {0, 0, inf, inf},
      {0, nan, 4, 4},         {-3e38F, -3e38F, 3e38F, 3e38F},
      {1e30F, 0, 2e30F, 4},   {0, 0, 8, 8}};
  const std::vector<int64_t> images(boxes.size(), 0);
  for (const int64_t ratio : {0, 2})
    for (const bool half_pixel : {false, true})
      for (const bool max : {false, true}) {
        const Align a{.ratio = ratio, .half_pixel = half_pixel, .max = max};
        const OpCase c = align_case("nonsense", {1, 1, 4, 4}, boxes, images, a);
        const Doubles y = to_doubles(results(c)[0]);
        for (const double value : y.values) EXPECT_TRUE(std::isfinite(value));
        const OpCase last = align_case("sense", {1, 1, 4, 4}, {boxes.back()}, {0}, a);
        const Doubles alone = to_doubles(results(last)[0]);
        for (std::size_t i = 0; i < alone.values.size(); ++i)
          EXPECT_EQ(y.values[y.values.size() - alone.values.size() + i], alone.values[i]);
      }
  std::vector<std::vector<float>> pooled;
  for (const auto& box : boxes) pooled.push_back({0, box[0], box[1], box[2], box[3]});
  for (const double value :
       to_doubles(results(pool_case("nonsense", {1, 1, 4, 4}, pooled))[0]).values)
    EXPECT_TRUE(std::isfinite(value));
}

// A maximum of a NaN or an infinity, and a mean, are what arithmetic makes of them.
TEST(RoiPoolingOfNonsense, TakesAnyFeatures) {
  OpCase c = align_case("infinite", {1, 1, 2, 2}, {{0, 0, 4, 4}}, {0}, {.height = 1, .width = 1});
  const float inf = std::numeric_limits<float>::infinity();
  c.inputs[0] = given(Literal::of<float>(std::vector<float>{inf, 1, 2, 3}, {1, 1, 2, 2}));
  EXPECT_EQ(to_doubles(results(c)[0])[0], inf);
  c = pool_case("infinite", {1, 1, 2, 2}, {{0, 0, 0, 2, 2}}, 1, 1);
  c.inputs[0] = given(Literal::of<float>(std::vector<float>{-inf, -inf, -inf, -inf}, {1, 1, 2, 2}));
  EXPECT_EQ(to_doubles(results(c)[0])[0], -inf);
}

// Many RoIs over the same places of many channels, and their gradients.
TEST(RoiPoolingThreads, DoNotChangeABit) {
  std::vector<std::vector<float>> boxes, pooled;
  std::vector<int64_t> images, levels;
  for (int i = 0; i < 40; ++i) {
    const auto at = static_cast<float>(i);
    boxes.push_back({0.3F * at, 0.2F * at, 9 + 0.4F * at, 7 + 0.5F * at});
    pooled.push_back(
        {static_cast<float>(i % 2), boxes[i][0], boxes[i][1], boxes[i][2], boxes[i][3]});
    images.push_back(i % 2);
    levels.push_back(i % 3 - 1);
  }
  const Dims large{2, 37, 9, 11}, small{2, 37, 5, 6};
  const CaseInput dy = random({40, 37, 2, 3}, 5), dy2 = random({40, 37, 2, 2}, 5);
  const CaseInput shape = fixed({2, 37, 9, 11}), small_shape = fixed({2, 37, 5, 6});
  std::vector<OpCase> cases{align_case("mean", large, boxes, images, {}),
                            align_case("max", large, boxes, images, {.max = true}),
                            multilevel_case("levels", {large, small}, boxes, images, levels),
                            pool_case("pool", large, pooled)};
  const std::size_t forward = cases.size();
  for (std::size_t i = 0; i < forward; ++i) {
    OpCase c = cases[i];
    c.type += "Grad";
    c.domain = kOwnDomain;
    if (i == 0) c.inputs = {dy, shape, c.inputs[1], c.inputs[2]};
    if (i == 1) c.inputs = {dy, shape, c.inputs[1], c.inputs[2], c.inputs[0]};
    if (i == 2) {
      c.inputs = {dy, c.inputs[0], c.inputs[1], c.inputs[2], shape, small_shape};
      c.outputs = 2;
    }
    if (i == 3) c.inputs = {dy2, c.inputs[0], c.inputs[1]};
    cases.push_back(c);
  }
  for (const OpCase& c : cases) {
    SCOPED_TRACE(c.type + " " + c.name);
    const std::vector<Literal> one = results(c, 1);
    EXPECT_TRUE(one == results(c, usable_threads(2)));
    EXPECT_TRUE(one == results(c, usable_threads(4)));
  }
}

}  // namespace
}  // namespace lockstep::testing
