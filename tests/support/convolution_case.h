// SPDX-License-Identifier: Apache-2.0
// Convolutions and their gradients for tests of kernels, with results in float64.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "lockstep/operators.h"
#include "operators/conv/conv.h"
#include "operators/conv/pass.h"
#include "tests/support/laid_out.h"

namespace lockstep::testing {

using Pass = ConvPass;

struct ConvolutionCase {
  int64_t images, inputs, outputs, height, width;
  int64_t top = 1, left = 1, bottom = 1, right = 1;
  bool bias = false, relu = false;
  int64_t window_height = 3, window_width = 3;
  int64_t step_down = 1, step_across = 1, hole_down = 1, hole_across = 1;
  bool addition = false;

  int64_t out_height() const {
    return (height + top + bottom - hole_down * (window_height - 1) - 1) / step_down + 1;
  }
  int64_t out_width() const {
    return (width + left + right - hole_across * (window_width - 1) - 1) / step_across + 1;
  }
};

// A convolution and its gradients, each as a request. Operands are x, w, dy, the bias and z.
class Convolution {
 public:
  explicit Convolution(const ConvolutionCase& c)
      : case_(c),
        x_{DType::float32, {c.images, c.inputs, c.height, c.width}},
        w_{DType::float32, {c.outputs, c.inputs, c.window_height, c.window_width}},
        y_{DType::float32, {c.images, c.outputs, c.out_height(), c.out_width()}},
        x(draw(x_, 1)),
        w(draw(w_, 2)),
        dy(draw(y_, 3)),
        bias(draw({DType::float32, {c.outputs}}, 4)),
        z(draw(y_, 5)) {
    const Attributes window{
        {"pads", std::vector<int64_t>{c.top, c.left, c.bottom, c.right}},
        {"strides", std::vector<int64_t>{c.step_down, c.step_across}},
        {"dilations", std::vector<int64_t>{c.hole_down, c.hole_across}},
    };
    const auto with = [&](Attributes::value_type own) {
      Attributes all = window;
      all.push_back(std::move(own));
      return all;
    };
    const Value image = graph_.input("x", {x_.dtype, to_shape(x_.dims)});
    const Value filter = graph_.input("w", {w_.dtype, to_shape(w_.dims)});
    const Value gradient = graph_.input("dy", {y_.dtype, to_shape(y_.dims)});
    std::vector<Value> operands{image, filter};
    if (c.bias || c.addition)
      operands.push_back(c.bias ? graph_.input("bias", {DType::float32, {c.outputs}}) : none);
    if (c.addition) operands.push_back(graph_.input("z", {y_.dtype, to_shape(y_.dims)}));
    graph_.add({"FusedConv", kOwnDomain, operands, with({"relu", int64_t{c.relu}})}, "y");
    graph_.add({"ConvGradX",
                kOwnDomain,
                {gradient, filter},
                with({"x_shape", std::vector<int64_t>{c.height, c.width}})},
               "dx");
    graph_.add({"ConvGradW",
                kOwnDomain,
                {image, gradient},
                with({"kernel_shape", std::vector<int64_t>{c.window_height, c.window_width}})},
               "dw");
    for (int i = 0; i < graph_.node_count(); ++i) nodes_.push_back(graph_.node(i));
  }

  // Images have channel blocks of size `block`, or are row-major if `block` is 1.
  KernelRequest request(Pass pass, int block, int threads) const {
    TensorDesc x = x_, y = y_;
    x.layout = y.layout = Layout::blocks(block);
    const TensorDesc bias{DType::float32, {case_.outputs}};
    KernelRequest request{.node = nodes_[static_cast<std::size_t>(pass)], .threads = threads};
    if (pass == Pass::forward) {
      request.in = {x, w_};
      if (case_.bias || case_.addition) request.in.push_back(case_.bias ? bias : TensorDesc{});
      if (case_.addition) request.in.push_back(y);
      request.out = {y};
    } else if (pass == Pass::grad_x) {
      request.in = {y, w_};
      request.out = {x};
    } else {
      request.in = {x, y};
      request.out = {w_};
    }
    return request;
  }

  // The kernel's result, row-major.
  std::vector<float> run(Kernel& kernel, const KernelRequest& request, Pass pass) const {
    std::vector<std::vector<float>> buffers;
    const std::vector<float>* const operands[3][4] = {{&x, &w, &bias, &z}, {&dy, &w}, {&x, &dy}};
    for (std::size_t i = 0; i < request.in.size(); ++i)
      buffers.push_back(request.in[i].present()
                            ? laid_out(*operands[static_cast<int>(pass)][i], request.in[i])
                            : std::vector<float>{});
    std::vector<float> result(static_cast<std::size_t>(request.out[0].count()), NAN);
    std::vector<Tensor> in;
    for (std::size_t i = 0; i < buffers.size(); ++i)
      in.push_back({request.in[i], buffers[i].data()});
    std::vector<Tensor> out{{request.out[0], result.data()}};
    std::vector<float> workspace(kernel.workspace_bytes() / sizeof(float) + 1, NAN);
    kernel.run({in, out, reinterpret_cast<std::byte*>(workspace.data()), RunContext{}});
    return row_major(result, request.out[0]);
  }

  // The results, computed in float64.
  std::vector<double> exact(Pass pass) const {
    const Dims &a = x_.dims, &b = y_.dims;
    const int64_t taps = case_.window_height * case_.window_width;
    std::vector<double> to(static_cast<std::size_t>(pass == Pass::forward  ? y_.count()
                                                    : pass == Pass::grad_x ? x_.count()
                                                                           : w_.count()));
    for (int64_t n = 0; n < a[0]; ++n)
      for (int64_t k = 0; k < b[1]; ++k)
        for (int64_t c = 0; c < a[1]; ++c)
          for (int64_t u = 0; u < taps; ++u)
            for (int64_t i = 0; i < b[2]; ++i)
              for (int64_t j = 0; j < b[3]; ++j) {
                const int64_t row =
                    i * case_.step_down - case_.top + u / case_.window_width * case_.hole_down;
                const int64_t column =
                    j * case_.step_across - case_.left + u % case_.window_width * case_.hole_across;
                if (row < 0 || row >= a[2] || column < 0 || column >= a[3]) continue;
                const auto at_x =
                    static_cast<std::size_t>(((n * a[1] + c) * a[2] + row) * a[3] + column);
                const auto at_w = static_cast<std::size_t>((k * a[1] + c) * taps + u);
                const auto at_y = static_cast<std::size_t>(((n * b[1] + k) * b[2] + i) * b[3] + j);
                if (pass == Pass::forward)
                  to[at_y] += double{x[at_x]} * w[at_w];
                else if (pass == Pass::grad_x)
                  to[at_x] += double{dy[at_y]} * w[at_w];
                else
                  to[at_w] += double{x[at_x]} * dy[at_y];
              }
    if (pass != Pass::forward) return to;
    for (std::size_t i = 0; i < to.size(); ++i) {
      if (case_.bias) to[i] += bias[i / static_cast<std::size_t>(b[2] * b[3]) % bias.size()];
      if (case_.addition) to[i] += z[i];
      if (case_.relu) to[i] = std::max(0.0, to[i]);
    }
    return to;
  }

 private:
  static std::vector<float> draw(const TensorDesc& desc, unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    std::vector<float> values(static_cast<std::size_t>(desc.count()));
    for (float& value : values) value = normal(random);
    return values;
  }

  ConvolutionCase case_;
  TensorDesc x_, w_, y_;
  Graph graph_{all_ops(), "convolution"};
  std::vector<Node> nodes_;  // by pass

 public:
  std::vector<float> x, w, dy, bias, z;
};

// The root mean squared error, relative to the root mean square of the values.
inline double error_of(const std::vector<float>& values, const std::vector<double>& exact) {
  double error = 0, size = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    error += (values[i] - exact[i]) * (values[i] - exact[i]);
    size += exact[i] * exact[i];
  }
  return std::sqrt(error / size);
}

// Expects sums in float32 that are rounded once to bfloat16. The error is at most 2^-8 of the
// value, plus a small fraction of all sums.
inline void expect_rounded_once(const std::vector<float>& found, const std::vector<double>& exact,
                                const std::string& what) {
  ASSERT_EQ(found.size(), exact.size()) << what;
  double size = 0;
  for (const double value : exact) size += value * value;
  const double sums = 1e-5 * std::sqrt(size / static_cast<double>(exact.size()));
  for (std::size_t i = 0; i < exact.size(); ++i)
    ASSERT_NEAR(found[i], exact[i], std::abs(exact[i]) / 256 + sums) << what << ", element " << i;
}

}  // namespace lockstep::testing
