// Winograd's convolutions against oneDNN's direct ones, and both against float64.
#include "operators/conv/winograd/winograd.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "operators/all.h"
#include "operators/conv/conv.h"
#include "operators/conv/winograd/loops_of.h"
#include "operators/cpu.h"
#include "tests/support/channel_blocks.h"
#include "tests/support/expect_error.h"
#include "tests/support/threads.h"

namespace lockstep::testing {
namespace {

// As a processor with sixteen lanes has them.
struct Sixteen {
  struct Vector {
    float lane[16];
  };
  static constexpr const char* kName = "sixteen";
  static constexpr int kLanes = 16, kRows = 12;

  template <class F>
  static Vector each(const F& f) {
    Vector result;
    for (int i = 0; i < kLanes; ++i) result.lane[i] = f(i);
    return result;
  }
  static Vector load(const float* x) {
    return each([&](int i) { return x[i]; });
  }
  static void store(float* y, const Vector& x) {
    for (int i = 0; i < kLanes; ++i) y[i] = x.lane[i];
  }
  static Vector all(float x) {
    return each([&](int) { return x; });
  }
  static Vector add(const Vector& x, const Vector& y) {
    return each([&](int i) { return x.lane[i] + y.lane[i]; });
  }
  static Vector subtract(const Vector& x, const Vector& y) {
    return each([&](int i) { return x.lane[i] - y.lane[i]; });
  }
  static Vector multiply(const Vector& x, const Vector& y) {
    return each([&](int i) { return x.lane[i] * y.lane[i]; });
  }
  static Vector fma(const Vector& x, const Vector& y, const Vector& z) {
    return each([&](int i) { return std::fma(x.lane[i], y.lane[i], z.lane[i]); });
  }
  static Vector relu(const Vector& x) {
    return each([&](int i) { return x.lane[i] < 0 ? 0.0F : x.lane[i]; });
  }
};
const winograd::LoopsOf<Sixteen> kSixteen;

enum class Pass { forward, grad_x, grad_w };

struct Case {
  int64_t images, inputs, outputs, height, width;
  int64_t top = 1, left = 1, bottom = 1, right = 1;
  bool bias = false, relu = false;
};

// A convolution and its gradients, each as a request; operands are x, w, dy and the bias.
class Convolution {
 public:
  explicit Convolution(const Case& c)
      : case_(c),
        x_{DType::float32, {c.images, c.inputs, c.height, c.width}},
        w_{DType::float32, {c.outputs, c.inputs, 3, 3}},
        y_{DType::float32,
           {c.images, c.outputs, c.height + c.top + c.bottom - 2, c.width + c.left + c.right - 2}},
        x(draw(x_, 1)),
        w(draw(w_, 2)),
        dy(draw(y_, 3)),
        bias(draw({DType::float32, {c.outputs}}, 4)) {
    const Attributes pads{{"pads", std::vector<int64_t>{c.top, c.left, c.bottom, c.right}}};
    const auto with = [&](Attributes::value_type own) {
      Attributes all = pads;
      all.push_back(std::move(own));
      return all;
    };
    const Value image = graph_.input("x", {x_.dtype, to_shape(x_.dims)});
    const Value filter = graph_.input("w", {w_.dtype, to_shape(w_.dims)});
    const Value gradient = graph_.input("dy", {y_.dtype, to_shape(y_.dims)});
    std::vector<Value> operands{image, filter};
    if (c.bias) operands.push_back(graph_.input("bias", {DType::float32, {c.outputs}}));
    graph_.add({"FusedConv", kOwnDomain, operands, with({"relu", int64_t{c.relu}})}, "y");
    graph_.add({"ConvGradX",
                kOwnDomain,
                {gradient, filter},
                with({"x_shape", std::vector<int64_t>{c.height, c.width}})},
               "dx");
    graph_.add({"ConvGradW",
                kOwnDomain,
                {image, gradient},
                with({"kernel_shape", std::vector<int64_t>{3, 3}})},
               "dw");
    for (int i = 0; i < graph_.node_count(); ++i) nodes_.push_back(graph_.node(i));
  }

  // Channel blocks of so many for images; 1: row-major.
  KernelRequest request(Pass pass, int block, int threads) const {
    TensorDesc x = x_, y = y_;
    x.channel_block = y.channel_block = block;
    const TensorDesc bias{DType::float32, {case_.outputs}};
    KernelRequest request{.node = nodes_[static_cast<std::size_t>(pass)], .threads = threads};
    if (pass == Pass::forward) {
      request.in = {x, w_};
      if (case_.bias) request.in.push_back(bias);
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
    const std::vector<float>* const operands[3][2] = {{&x, &w}, {&dy, &w}, {&x, &dy}};
    for (std::size_t i = 0; i < request.in.size(); ++i)
      buffers.push_back(
          laid_out(i < 2 ? *operands[static_cast<int>(pass)][i] : bias, request.in[i]));
    std::vector<float> result(static_cast<std::size_t>(request.out[0].count()), NAN);
    std::vector<Tensor> in;
    for (std::size_t i = 0; i < buffers.size(); ++i)
      in.push_back({request.in[i], buffers[i].data()});
    std::vector<Tensor> out{{request.out[0], result.data()}};
    std::vector<float> workspace(kernel.workspace_bytes() / sizeof(float) + 1, NAN);
    kernel.run({in, out, reinterpret_cast<std::byte*>(workspace.data()), RunContext{}});
    return row_major(result, request.out[0]);
  }

  // In float64.
  std::vector<double> exact(Pass pass) const {
    const Dims &a = x_.dims, &b = y_.dims;
    std::vector<double> to(static_cast<std::size_t>(pass == Pass::forward  ? y_.count()
                                                    : pass == Pass::grad_x ? x_.count()
                                                                           : w_.count()));
    for (int64_t n = 0; n < a[0]; ++n)
      for (int64_t k = 0; k < b[1]; ++k)
        for (int64_t c = 0; c < a[1]; ++c)
          for (int64_t u = 0; u < 9; ++u)
            for (int64_t i = 0; i < b[2]; ++i)
              for (int64_t j = 0; j < b[3]; ++j) {
                const int64_t row = i + u / 3 - case_.top, column = j + u % 3 - case_.left;
                if (row < 0 || row >= a[2] || column < 0 || column >= a[3]) continue;
                const auto at_x =
                    static_cast<std::size_t>(((n * a[1] + c) * a[2] + row) * a[3] + column);
                const auto at_w = static_cast<std::size_t>((k * a[1] + c) * 9 + u);
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

  Case case_;
  TensorDesc x_, w_, y_;
  Graph graph_{all_ops(), "convolution"};
  std::vector<Node> nodes_;  // by pass

 public:
  std::vector<float> x, w, dy, bias;
};

std::unique_ptr<Kernel> prepare(Pass pass, const KernelRequest& request,
                                const winograd::Loops& loops) {
  switch (pass) {
    case Pass::forward:
      return prepare_winograd_forward(request, loops);
    case Pass::grad_x:
      return prepare_winograd_grad_x(request, loops);
    default:
      return prepare_winograd_grad_w(request, loops);
  }
}

// The root of the mean squared error, relative to that of the values.
double error_of(const std::vector<float>& values, const std::vector<double>& exact) {
  double error = 0, size = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    error += (values[i] - exact[i]) * (values[i] - exact[i]);
    size += exact[i] * exact[i];
  }
  return std::sqrt(error / size);
}

std::vector<const winograd::Loops*> usable_loops() {
  std::vector<const winograd::Loops*> all{&kSixteen};
  if (const winograd::Loops* here = winograd::loops_here()) all.push_back(here);
  return all;
}

// Odd sizes, padding of all kinds, tiles that end beyond the image, one tile, and more tiles than
// are worked on at once.
const Case kCases[] = {
    {2, 32, 32, 8, 8},
    {1, 32, 64, 7, 9, 1, 1, 1, 1, true},
    {3, 64, 32, 5, 4, 0, 0, 0, 0, false, true},
    {1, 32, 32, 3, 3, 0, 0, 0, 0, true, true},
    {2, 32, 32, 6, 11, 2, 0, 1, 2},
    {1, 32, 32, 10, 6, 0, 2, 2, 1, true},
    {1, 32, 32, 6, 6, 4, 3, 3, 4},
    {1, 32, 32, 57, 61},
};

TEST(Winograd, RoundsLittleMoreThanADirectConvolution) {
  const KernelTable direct_kernels = [] {
    std::vector<KernelEntry> entries = conv_cpu();
    for (KernelEntry& entry : entries)
      std::erase_if(entry.candidates, [](const Candidate& c) { return c.name == "Winograd"; });
    return KernelTable(DeviceKind::cpu, all_ops(), std::move(entries));
  }();
  for (const Case& c : kCases) {
    const Convolution convolution(c);
    for (Pass pass : {Pass::forward, Pass::grad_x, Pass::grad_w}) {
      SCOPED_TRACE(join("case ", &c - kCases, ", pass ", static_cast<int>(pass)));
      const std::vector<double> exact = convolution.exact(pass);
      const KernelRequest plain = convolution.request(pass, 1, 1);
      const auto direct = direct_kernels.choose(plain).kernel;
      // Where few products are added, a direct convolution is nearly exact.
      const double allowed = 5e-7 + 5 * error_of(convolution.run(*direct, plain, pass), exact);
      for (const winograd::Loops* loops : usable_loops())
        for (int block : {loops->lanes(), 32}) {
          const KernelRequest request = convolution.request(pass, block, 1);
          const auto kernel = prepare(pass, request, *loops);
          const double error = error_of(convolution.run(*kernel, request, pass), exact);
          EXPECT_LT(error, allowed) << kernel->describe() << ", blocks of " << block;
        }
    }
  }
}

TEST(Winograd, HasTheSameBitsOnAnyNumberOfThreadsAndLanes) {
  const Convolution convolution({1, 32, 32, 61, 57, 1, 0, 1, 2, true, true});
  for (Pass pass : {Pass::forward, Pass::grad_x, Pass::grad_w}) {
    std::vector<float> first;
    for (const winograd::Loops* loops : usable_loops())
      for (int threads : {1, 2, 5}) {
        const KernelRequest request =
            convolution.request(pass, loops->lanes(), usable_threads(threads));
        const auto kernel = prepare(pass, request, *loops);
        const std::vector<float> result = convolution.run(*kernel, request, pass);
        if (first.empty()) first = result;
        EXPECT_TRUE(first == result) << kernel->describe() << ", " << threads << " threads";
      }
  }
}

TEST(Winograd, KeepsNaN) {
  Convolution convolution({1, 32, 32, 8, 8, 1, 1, 1, 1, false, true});
  convolution.x[9] = NAN;  // of the second row
  const winograd::Loops& loops = kSixteen;
  const KernelRequest request = convolution.request(Pass::forward, loops.lanes(), 1);
  const std::vector<float> y =
      convolution.run(*prepare(Pass::forward, request, loops), request, Pass::forward);
  for (std::size_t i : {0, 1, 2, 8, 9, 10, 16, 17, 18})
    EXPECT_TRUE(std::isnan(y[i])) << i << " of the first plane";
}

TEST(Winograd, RefusesWhatItCannotDoOrDoesNotGainFrom) {
  if (!winograd::loops_here()) GTEST_SKIP() << "skipped: this processor has no AVX2";
  const KernelTable table = cpu_kernels();
  const auto chosen = [&](const Case& c, Pass pass, bool exact = false) {
    const Convolution convolution(c);
    KernelRequest plain = convolution.request(pass, 1, 1);
    plain.exact = exact;
    KernelRequest laid = plain;
    const Layouts layouts = table.wished_layouts(plain);
    for (std::size_t i = 0; i < laid.in.size(); ++i) laid.in[i].channel_block = layouts.in[i];
    laid.out[0].channel_block = layouts.out[0];
    return table.choose(laid).candidate;
  };
  for (Pass pass : {Pass::forward, Pass::grad_x, Pass::grad_w}) {
    EXPECT_EQ(chosen({4, 64, 64, 28, 28}, pass), "Winograd");
    EXPECT_EQ(chosen({4, 64, 64, 28, 28}, pass, true), "oneDNN") << "exact";
    EXPECT_EQ(chosen({4, 40, 64, 28, 28}, pass), "oneDNN") << "channels";
    EXPECT_EQ(chosen({1, 64, 64, 5, 5}, pass), "oneDNN") << "few pixels";
    EXPECT_EQ(chosen({1, 512, 512, 7, 7}, pass), "oneDNN") << "few pixels for so many filters";
  }
}

TEST(Winograd, NamesLayoutsThatItCannotRead) {
  const Convolution convolution({4, 32, 32, 8, 8});
  const KernelRequest request = convolution.request(Pass::forward, 8, 1);
  expect_error([&] { prepare(Pass::forward, request, kSixteen); }, "takes channel blocks of 16",
               "/c8");
}

}  // namespace
}  // namespace lockstep::testing
