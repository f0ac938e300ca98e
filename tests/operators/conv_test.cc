// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "lockstep/op.h"
#include "operators/conv/conv.h"
#include "tests/support/case_run.h"
#include "tests/support/op_case.h"

namespace lockstep::testing {
namespace {

struct Conv2d {
  int64_t stride_h = 1, stride_w = 1;
  int64_t top = 0, left = 0, bottom = 0, right = 0;
  int64_t dilation_h = 1, dilation_w = 1;
  int64_t group = 1;
};

Attributes attributes_of(const Conv2d& p) {
  return {{"strides", std::vector<int64_t>{p.stride_h, p.stride_w}},
          {"pads", std::vector<int64_t>{p.top, p.left, p.bottom, p.right}},
          {"dilations", std::vector<int64_t>{p.dilation_h, p.dilation_w}},
          {"group", p.group}};
}

Reference naive(const Conv2d& p) {
  return [p](const std::vector<Doubles>& in) {
    const Doubles &x = in[0], &w = in[1];
    int64_t n = x.dims[0], c = x.dims[1], h = x.dims[2], wd = x.dims[3];
    int64_t m = w.dims[0], per = w.dims[1], kh = w.dims[2], kw = w.dims[3];
    int64_t oh = (h + p.top + p.bottom - ((kh - 1) * p.dilation_h + 1)) / p.stride_h + 1;
    int64_t ow = (wd + p.left + p.right - ((kw - 1) * p.dilation_w + 1)) / p.stride_w + 1;
    Doubles y{{n, m, oh, ow}, std::vector<double>(n * m * oh * ow)};
    for (int64_t b = 0; b < n; ++b)
      for (int64_t o = 0; o < m; ++o)
        for (int64_t i = 0; i < oh; ++i)
          for (int64_t j = 0; j < ow; ++j) {
            double total = in.size() > 2 ? in[2][o] : 0;
            for (int64_t q = 0; q < per; ++q)
              for (int64_t u = 0; u < kh; ++u)
                for (int64_t v = 0; v < kw; ++v) {
                  int64_t yy = i * p.stride_h - p.top + u * p.dilation_h;
                  int64_t xx = j * p.stride_w - p.left + v * p.dilation_w;
                  if (yy < 0 || yy >= h || xx < 0 || xx >= wd) continue;
                  int64_t channel = o / (m / p.group) * per + q;
                  total += x[((b * c + channel) * h + yy) * wd + xx] *
                           w[((o * per + q) * kh + u) * kw + v];
                }
            y[((b * m + o) * oh + i) * ow + j] = total;
          }
    return std::vector<Doubles>{y};
  };
}

OpCase conv(const std::string& name, const Dims& x, const Dims& w, const Conv2d& p = {},
            bool bias = false) {
  OpCase c{.name = name,
           .type = "Conv",
           .attributes = attributes_of(p),
           .inputs = {random(x), random(w, 2)},
           .reference = naive(p),
           .tolerance = 1e-4};
  if (bias) c.inputs.push_back(random({w[0]}, 3));
  return c;
}

// The shape of the result.
Dims result_of(const OpCase& c) {
  std::vector<Doubles> operands;
  for (const CaseInput& input : c.inputs) operands.push_back(to_doubles(input.value));
  return c.reference(operands)[0].dims;
}

// Adds z to the result and, with `relu`, applies a ReLU. NaN stays NaN.
OpCase added(OpCase c, bool relu) {
  const Dims y = result_of(c);
  const Reference convolve = c.reference;
  const bool bias = c.inputs.size() > ConvIn::bias;
  c.name = join("fused_added_", c.name);
  c.type = "FusedConv";
  c.domain = kOwnDomain;
  c.attributes.push_back({"relu", int64_t{relu}});
  c.gradient = false;
  if (!bias) c.inputs.push_back(left_out());
  c.inputs.push_back(random(y, 4));
  c.reference = [=](const std::vector<Doubles>& in) {
    std::vector<Doubles> out = convolve({in.begin(), in.begin() + (bias ? 3 : 2)});
    for (std::size_t i = 0; i < out[0].values.size(); ++i) {
      double& value = out[0].values[i];
      value += in[ConvIn::z].values[i];
      if (relu && value < 0) value = 0;
    }
    return out;
  };
  return c;
}

// The form in a plan: followed by a ReLU, with the sums of each channel and of its squares.
OpCase fused(const std::string& name, const Dims& x, const Dims& w, const Conv2d& p, bool bias,
             bool relu, bool statistics) {
  OpCase c = conv(join("fused_", name), x, w, p, bias);
  c.type = "FusedConv";
  c.domain = kOwnDomain;
  c.attributes.push_back({"relu", int64_t{relu}});
  c.outputs = statistics ? 3 : 1;
  c.gradient = false;
  c.reference = [=](const std::vector<Doubles>& in) {
    std::vector<Doubles> out = naive(p)(in);
    Doubles& y = out[0];
    if (relu)
      for (double& value : y.values) value = std::max(0.0, value);
    if (!statistics) return out;
    const int64_t channels = y.dims[1], plane = y.dims[2] * y.dims[3];
    Doubles sums{{channels}, std::vector<double>(channels, 0)}, squares = sums;
    for (int64_t i = 0; i < element_count(y.dims); ++i) {
      sums[i / plane % channels] += y[i];
      squares[i / plane % channels] += y[i] * y[i];
    }
    return std::vector<Doubles>{y, sums, squares};
  };
  return c;
}

// The gradient by x, added to another gradient. Each y spreads over the positions of its window.
OpCase fused_grad_x(const std::string& name, const Dims& x, const Dims& w, const Dims& y,
                    const Conv2d& p = {}) {
  OpCase c{.name = join("fused_grad_x_", name),
           .type = "FusedConvGradX",
           .domain = kOwnDomain,
           .attributes = attributes_of(p),
           .inputs = {random(y), random(w, 2), random(x, 3)},
           .tolerance = 1e-4,
           .gradient = false};
  c.attributes.push_back({"x_shape", std::vector<int64_t>{x[2], x[3]}});
  c.attributes.push_back({"kernel_shape", std::vector<int64_t>{w[2], w[3]}});
  c.reference = [p](const std::vector<Doubles>& in) {
    const Doubles &dy = in[0], &wv = in[1];
    Doubles dx = in[2];
    const Dims &x = dx.dims, &w = wv.dims, &y = dy.dims;
    for (int64_t i = 0; i < element_count(y); ++i) {
      const int64_t column = i % y[3], row = i / y[3] % y[2], o = i / y[3] / y[2] % y[1];
      const int64_t image = i / y[3] / y[2] / y[1];
      for (int64_t k = 0; k < w[1] * w[2] * w[3]; ++k) {
        const int64_t v = k % w[3], u = k / w[3] % w[2], q = k / w[3] / w[2];
        const int64_t xx = column * p.stride_w - p.left + v * p.dilation_w;
        const int64_t yy = row * p.stride_h - p.top + u * p.dilation_h;
        if (yy < 0 || yy >= x[2] || xx < 0 || xx >= x[3]) continue;
        const int64_t channel = o / (w[0] / p.group) * w[1] + q;
        dx.values[static_cast<std::size_t>(((image * x[1] + channel) * x[2] + yy) * x[3] + xx)] +=
            dy[i] * wv[o * w[1] * w[2] * w[3] + k];
      }
    }
    return std::vector<Doubles>{dx};
  };
  return c;
}

std::vector<OpCase> conv_cases() {
  std::vector<OpCase> all{
      fused_grad_x("one_by_one", {2, 3, 4, 4}, {5, 3, 1, 1}, {2, 5, 4, 4}),
      fused_grad_x("eights", {2, 8, 5, 5}, {16, 8, 3, 3}, {2, 16, 3, 3}),
      fused_grad_x("strided", {1, 2, 7, 7}, {3, 2, 3, 3}, {1, 3, 4, 4},
                   {.stride_h = 2, .stride_w = 2, .top = 1, .left = 1, .bottom = 1, .right = 1}),
      fused_grad_x("groups", {2, 4, 4, 4}, {6, 2, 3, 3}, {2, 6, 2, 2}, {.group = 2}),
      fused("relu", {2, 3, 5, 5}, {8, 3, 3, 3}, {}, false, true, false),
      fused("bias_relu", {2, 3, 4, 4}, {8, 3, 1, 1}, {.top = 1}, true, true, false),
      fused("bias_relu_odd", {2, 3, 4, 4}, {5, 3, 2, 2}, {.stride_w = 2}, true, true, false),
      fused("bias_relu_eights", {2, 8, 4, 4}, {16, 8, 1, 1}, {}, true, true, false),
      fused("statistics", {2, 3, 6, 6}, {8, 3, 3, 3}, {}, false, false, true),
      fused("statistics_odd", {3, 4, 4, 4}, {6, 2, 1, 1}, {.group = 2}, false, false, true),
      fused("statistics_eights", {2, 8, 4, 4}, {8, 8, 1, 1}, {}, false, false, true),
      fused("all", {2, 2, 5, 5}, {8, 2, 3, 3}, {.bottom = 1}, true, true, true),
      added(conv("one_by_one", {2, 3, 4, 4}, {5, 3, 1, 1}), false),
      added(conv("one_by_one_bias", {2, 3, 4, 4}, {5, 3, 1, 1}, {}, true), true),
      added(conv("odd", {2, 3, 4, 5}, {5, 3, 2, 2}, {.stride_w = 2}, true), true),
      added(conv("eights", {2, 8, 5, 5}, {16, 8, 3, 3}), true),
      added(conv("eights_bias", {2, 8, 4, 4}, {16, 8, 1, 1}, {}, true), false),
      added(conv("padded_block", {2, 16, 3, 3}, {28, 16, 1, 1}, {}, true), true),
      added(conv("groups", {2, 4, 4, 4}, {6, 2, 3, 3}, {.group = 2}, true), true),
      added(conv("depthwise", {1, 4, 5, 5}, {4, 1, 3, 3},
                 {.top = 1, .left = 1, .bottom = 1, .right = 1, .group = 4}),
            true),
      added(conv("dilated", {1, 2, 7, 7}, {2, 2, 3, 3}, {.dilation_h = 2, .dilation_w = 2}), true),
      added(conv("winograd", {1, 64, 12, 11}, {64, 64, 3, 3},
                 {.top = 1, .left = 1, .bottom = 1, .right = 1}, true),
            true),
      conv("one_by_one", {2, 3, 4, 4}, {5, 3, 1, 1}),
      conv("one_by_one_strided", {2, 3, 5, 5}, {4, 3, 1, 1}, {.stride_h = 2, .stride_w = 2}),
      conv("three", {2, 3, 5, 5}, {4, 3, 3, 3}),
      conv("three_bias", {1, 2, 5, 5}, {3, 2, 3, 3}, {}, true),
      conv("padded", {1, 2, 4, 4}, {3, 2, 3, 3}, {.top = 1, .left = 1, .bottom = 1, .right = 1},
           true),
      conv("asymmetric", {1, 2, 4, 5}, {3, 2, 3, 2},
           {.top = 0, .left = 1, .bottom = 2, .right = 0}),
      conv("strided", {1, 2, 7, 7}, {3, 2, 3, 3},
           {.stride_h = 2, .stride_w = 2, .top = 1, .left = 1, .bottom = 1, .right = 1}),
      conv("stride_leaves_rest", {1, 1, 6, 6}, {2, 1, 3, 3}, {.stride_h = 2, .stride_w = 2}),
      conv("uneven_strides", {1, 2, 6, 7}, {2, 2, 2, 3}, {.stride_h = 1, .stride_w = 3}),
      conv("dilated", {1, 2, 7, 7}, {2, 2, 3, 3}, {.dilation_h = 2, .dilation_w = 2}),
      conv("dilated_uneven", {1, 1, 7, 6}, {2, 1, 3, 2}, {.dilation_h = 3, .dilation_w = 2}),
      conv("groups", {2, 4, 4, 4}, {6, 2, 3, 3}, {.group = 2}, true),
      conv("depthwise", {1, 4, 5, 5}, {4, 1, 3, 3},
           {.top = 1, .left = 1, .bottom = 1, .right = 1, .group = 4}),
      conv("depthwise_double", {1, 3, 4, 4}, {6, 1, 3, 3}, {.group = 3}),
      conv("large_kernel", {1, 1, 8, 8}, {4, 1, 5, 5},
           {.top = 2, .left = 2, .bottom = 2, .right = 2}),
      conv("whole_image", {2, 3, 4, 4}, {5, 3, 4, 4}),
      conv("many_channels", {1, 17, 3, 3}, {33, 17, 3, 3},
           {.top = 1, .left = 1, .bottom = 1, .right = 1}),
      conv("single_pixel", {1, 1, 1, 1}, {1, 1, 1, 1}),
      conv("wide", {1, 2, 1, 9}, {2, 2, 1, 3}),
      conv("lenet1", {2, 1, 12, 12}, {20, 1, 5, 5}, {}, true),
  };
  for (int64_t step : {1, 2})
    for (const auto& [before, behind] : {std::pair{0, 1}, {1, 0}, {0, 2}, {2, 1}})
      for (int64_t channels : {3, 8})
        all.push_back(
            conv(join("padded_", before, "_", behind, "_in_steps_of_", step, "_of_", channels),
                 {2, channels, 6, 8}, {channels, channels, 3, 3},
                 {.stride_h = step,
                  .stride_w = step,
                  .top = before,
                  .left = before,
                  .bottom = behind,
                  .right = behind}));
  OpCase batch = conv("batch", {2, 2, 4, 4}, {3, 2, 3, 3});
  batch.symbolic_batch = true;
  batch.inputs[1].constant = true;
  batch.inputs[1].differentiable = false;
  all.push_back(batch);
  all.push_back({.name = "one_dimension",
                 .type = "Conv",
                 .inputs = {random({2, 3, 8}), random({4, 3, 3}, 2)},
                 .tolerance = 1e-4});
  all.push_back({.name = "three_dimensions",
                 .type = "Conv",
                 .inputs = {random({1, 2, 3, 4, 3}), random({2, 2, 2, 2, 2}, 2)},
                 .tolerance = 1e-4});
  all.push_back(
      {.name = "same_upper",
       .type = "Conv",
       .attributes = {{"auto_pad", "SAME_UPPER"}, {"strides", std::vector<int64_t>{2, 2}}},
       .inputs = {random({1, 2, 5, 5}), random({2, 2, 2, 2}, 2)},
       .tolerance = 1e-4});
  all.push_back({.name = "same_lower",
                 .type = "Conv",
                 .attributes = {{"auto_pad", "SAME_LOWER"}},
                 .inputs = {random({1, 2, 5, 5}), random({2, 2, 2, 2}, 2)},
                 .tolerance = 1e-4});
  return all;
}

// Every output element gathers the inputs with a window that covers the element.
Reference naive_transpose(const Conv2d& p, int64_t extra) {
  return [=](const std::vector<Doubles>& in) {
    const Doubles &x = in[0], &w = in[1];
    int64_t n = x.dims[0], c = x.dims[1], h = x.dims[2], wd = x.dims[3];
    int64_t per = w.dims[1], m = per * p.group, kh = w.dims[2], kw = w.dims[3];
    int64_t oh = (h - 1) * p.stride_h + (kh - 1) * p.dilation_h + 1 - p.top - p.bottom + extra;
    int64_t ow = (wd - 1) * p.stride_w + (kw - 1) * p.dilation_w + 1 - p.left - p.right + extra;
    Doubles y{{n, m, oh, ow}, std::vector<double>(n * m * oh * ow)};
    for (int64_t i = 0; i < n * m * oh * ow; ++i)
      if (in.size() > 2) y[i] = in[2][i / (oh * ow) % m];
    for (int64_t b = 0; b < n; ++b)
      for (int64_t q = 0; q < c; ++q)
        for (int64_t i = 0; i < h; ++i)
          for (int64_t j = 0; j < wd; ++j)
            for (int64_t o = 0; o < per; ++o)
              for (int64_t u = 0; u < kh; ++u)
                for (int64_t v = 0; v < kw; ++v) {
                  int64_t yy = i * p.stride_h - p.top + u * p.dilation_h;
                  int64_t xx = j * p.stride_w - p.left + v * p.dilation_w;
                  if (yy < 0 || yy >= oh || xx < 0 || xx >= ow) continue;
                  int64_t channel = q / (c / p.group) * per + o;
                  y[((b * m + channel) * oh + yy) * ow + xx] +=
                      x[((b * c + q) * h + i) * wd + j] * w[((q * per + o) * kh + u) * kw + v];
                }
    return std::vector<Doubles>{y};
  };
}

OpCase transposed(const std::string& name, const Dims& x, const Dims& w, const Conv2d& p = {},
                  bool bias = false, int64_t extra = 0) {
  OpCase c = conv(name, x, w, p);
  c.type = "ConvTranspose";
  c.reference = naive_transpose(p, extra);
  if (bias) c.inputs.push_back(random({w[1] * p.group}, 3));
  if (extra > 0) c.attributes.push_back({"output_padding", std::vector<int64_t>{extra, extra}});
  return c;
}

// Padding from an attribute. Strides and kernels of 2 and 3 leave one row and column too many.
OpCase padded_by(const std::string& name, Attributes::value_type attribute, const Conv2d& p) {
  OpCase c = transposed(name, {1, 2, 3, 4}, {2, 2, 3, 3}, p);
  std::erase_if(c.attributes, [](const auto& given) { return given.first == "pads"; });
  c.attributes.push_back(std::move(attribute));
  return c;
}

std::vector<OpCase> transposed_cases() {
  const Conv2d at_the_end{.stride_h = 2, .stride_w = 2, .bottom = 1, .right = 1},
      at_the_start{.stride_h = 2, .stride_w = 2, .top = 1, .left = 1};
  return {
      transposed("plain", {1, 2, 3, 3}, {2, 3, 3, 3}),
      transposed("bias", {2, 2, 3, 4}, {2, 3, 2, 2}, {}, true),
      transposed("strided", {1, 2, 3, 3}, {2, 3, 3, 3}, {.stride_h = 2, .stride_w = 2}),
      transposed("upsample", {1, 3, 4, 4}, {3, 2, 4, 4},
                 {.stride_h = 2, .stride_w = 2, .top = 1, .left = 1, .bottom = 1, .right = 1},
                 true),
      transposed("output_padding", {1, 2, 3, 3}, {2, 2, 3, 3},
                 {.stride_h = 2, .stride_w = 2, .top = 1, .left = 1, .bottom = 1, .right = 1},
                 false, 1),
      transposed("dilated", {1, 2, 3, 3}, {2, 2, 2, 2}, {.dilation_h = 2, .dilation_w = 2}),
      transposed("groups", {1, 4, 3, 3}, {4, 2, 3, 3}, {.group = 2}, true),
      padded_by("same_upper", {"auto_pad", "SAME_UPPER"}, at_the_end),
      padded_by("same_lower", {"auto_pad", "SAME_LOWER"}, at_the_start),
      padded_by("output_shape", {"output_shape", std::vector<int64_t>{6, 8}}, at_the_start),
  };
}

// NaN in any operand: the ReLU must not turn NaN into 0. On a GPU, NaN may reach further: some
// engines of cuDNN compute groups as one, with zeros for values that a group does not read, and 0 *
// NaN is NaN.
TEST(FusedConv, KeepsNaN) {
  for (const OpCase& c :
       {added(conv("columns", {2, 3, 4, 5}, {5, 3, 2, 2}, {.stride_h = 2}, true), true),
        added(conv("eights", {2, 8, 5, 5}, {16, 8, 3, 3}, {}, true), true),
        added(conv("groups", {1, 4, 4, 4}, {8, 2, 3, 3}, {.group = 2}, true), true)})
    for (const std::size_t operand : {ConvIn::x, ConvIn::w, ConvIn::bias, ConvIn::z}) {
      OpCase broken = c;
      const Literal& whole = c.inputs[operand].value;
      Doubles values = to_doubles(whole);
      values[1] = NAN;
      broken.inputs[operand].value = of_doubles(values.values, whole.dims());
      std::vector<Doubles> operands;
      for (const CaseInput& input : broken.inputs) operands.push_back(to_doubles(input.value));
      const Doubles expected = c.reference(operands)[0];
      const Built built = build(broken);
      const Doubles found = to_doubles(CaseRunner(built.graph, broken, built.feeds,
                                                  {built.graph.name(built.outputs[0])}, guarded())
                                           .run(fed_values(broken))[0]);
      const bool reaches_further = !runs_on_the_cpu() && c.name == "fused_added_groups";
      int unknown = 0;
      for (std::size_t i = 0; i < expected.values.size(); ++i) {
        unknown += std::isnan(expected.values[i]);
        if (reaches_further && !std::isnan(expected.values[i])) continue;
        EXPECT_EQ(std::isnan(found.values[i]), std::isnan(expected.values[i]))
            << c.name << ", operand " << operand << ", element " << i;
      }
      EXPECT_GT(unknown, 0);
    }
}

class ConvTranspose : public ::testing::TestWithParam<OpCase> {};
TEST_P(ConvTranspose, Case) { check_case(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Table, ConvTranspose, ::testing::ValuesIn(transposed_cases()));

class Conv : public ::testing::TestWithParam<OpCase> {};
TEST_P(Conv, Case) { check_case(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Table, Conv, ::testing::ValuesIn(conv_cases()));

}  // namespace
}  // namespace lockstep::testing
