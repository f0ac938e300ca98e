// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/conv_case.h"

#include <charconv>
#include <cmath>

#include "graph/limits.h"
#include "lockstep/error.h"
#include "lockstep/random.h"
#include "lockstep/tensor.h"
#include "lockstep/types.h"

namespace lockstep {
namespace {

// The numbers in a text of the form `pattern`, in which each # stands for a number.
std::vector<int64_t> numbers_in(const std::string& text, const std::string& pattern) {
  std::vector<int64_t> numbers;
  const char *at = text.data(), *const end = at + text.size();
  for (const char sign : pattern) {
    if (sign != '#') {
      if (at == end || *at++ != sign) return {};
      continue;
    }
    int64_t number = 0;
    const auto read = std::from_chars(at, end, number);
    if (read.ec != std::errc() || number < 1 || number > 1'000'000) return {};
    numbers.push_back(number);
    at = read.ptr;
  }
  return at == end ? numbers : std::vector<int64_t>();
}

ConvAxis axis_of(const ConvShapeOptions& options, int64_t image, int64_t window) {
  ConvAxis axis{.image = image, .result = 0, .window = window};
  axis.step = options.step;
  axis.hole = options.hole;
  axis.pad = options.pad >= 0 ? options.pad : window / 2 * options.hole;
  const int64_t covered = axis.hole * (window - 1) + 1;
  check(image + 2 * axis.pad >= covered, "--shape ", options.shape, ": a window over ", covered,
        " pixels does not fit into ", image, " with ", axis.pad, " of padding on each side");
  axis.result = (image + 2 * axis.pad - covered) / axis.step + 1;
  return axis;
}

float rounded(float value, DType type) {
  if (type == DType::bfloat16) return static_cast<float>(BFloat16(value));
  return type == DType::float16 ? static_cast<float>(Half(value)) : value;
}

std::vector<float> draw(const Dims& dims, DType type, uint64_t stream) {
  check_memory(TensorDesc{DType::float32, dims}.bytes(), "an operand of --shape");
  PhiloxSequence random(1, stream);
  std::vector<float> values(element_count(dims));
  for (float& value : values) value = rounded(static_cast<float>(random.uniform(-1, 1)), type);
  return values;
}

// Sums in float64, element by element.
class Reference {
 public:
  Reference(const ConvCase& of, const ConvOperands& operands)
      : conv_(of.conv),
        inputs_(of.conv.inputs / of.group),
        outputs_(of.conv.outputs / of.group),
        operands_(operands) {}

  double element(ConvPass pass, int64_t number) const {
    switch (pass) {
      case ConvPass::forward:
        return result(number);
      case ConvPass::grad_x:
        return grad_x(number);
      case ConvPass::grad_w:
        return grad_w(number);
    }
    return 0;
  }

 private:
  double x(int64_t n, int64_t c, int64_t row, int64_t column) const {
    const int64_t height = conv_.down.image, width = conv_.across.image;
    if (row < 0 || row >= height || column < 0 || column >= width) return 0;
    return operands_.x[((n * conv_.inputs + c) * height + row) * width + column];
  }
  double dy(int64_t n, int64_t m, int64_t row, int64_t column) const {
    return operands_
        .dy[((n * conv_.outputs + m) * conv_.down.result + row) * conv_.across.result + column];
  }
  double w(int64_t m, int64_t c, int64_t u, int64_t v) const {
    return operands_.w[((m * inputs_ + c) * conv_.down.window + u) * conv_.across.window + v];
  }
  static int64_t seen(const ConvAxis& axis, int64_t result, int64_t tap) {
    return result * axis.step - axis.pad + tap * axis.hole;
  }
  // The result with a window that covers a pixel of the image by this tap; -1 if there is none.
  static int64_t seeing(const ConvAxis& axis, int64_t image, int64_t tap) {
    const int64_t place = image + axis.pad - tap * axis.hole;
    if (place < 0 || place % axis.step != 0 || place / axis.step >= axis.result) return -1;
    return place / axis.step;
  }
  template <class Visit>
  void each_tap(const Visit& visit) const {
    for (int64_t u = 0; u < conv_.down.window; ++u)
      for (int64_t v = 0; v < conv_.across.window; ++v) visit(u, v);
  }

  double result(int64_t number) const {
    const int64_t j = number % conv_.across.result, i = number / conv_.across.result;
    const int64_t row = i % conv_.down.result, m = i / conv_.down.result % conv_.outputs;
    const int64_t n = i / conv_.down.result / conv_.outputs, first = m / outputs_ * inputs_;
    double sum = 0;
    for (int64_t c = 0; c < inputs_; ++c)
      each_tap([&](int64_t u, int64_t v) {
        sum += x(n, first + c, seen(conv_.down, row, u), seen(conv_.across, j, v)) * w(m, c, u, v);
      });
    return sum;
  }
  double grad_x(int64_t number) const {
    const int64_t column = number % conv_.across.image, i = number / conv_.across.image;
    const int64_t row = i % conv_.down.image, c = i / conv_.down.image % conv_.inputs;
    const int64_t n = i / conv_.down.image / conv_.inputs, first = c / inputs_ * outputs_;
    double sum = 0;
    each_tap([&](int64_t u, int64_t v) {
      const int64_t by = seeing(conv_.down, row, u), across = seeing(conv_.across, column, v);
      if (by < 0 || across < 0) return;
      for (int64_t m = first; m < first + outputs_; ++m)
        sum += dy(n, m, by, across) * w(m, c % inputs_, u, v);
    });
    return sum;
  }
  double grad_w(int64_t number) const {
    const int64_t v = number % conv_.across.window, i = number / conv_.across.window;
    const int64_t u = i % conv_.down.window, c = i / conv_.down.window % inputs_;
    const int64_t m = i / conv_.down.window / inputs_, first = m / outputs_ * inputs_;
    double sum = 0;
    for (int64_t n = 0; n < conv_.images; ++n)
      for (int64_t row = 0; row < conv_.down.result; ++row)
        for (int64_t j = 0; j < conv_.across.result; ++j)
          sum += dy(n, m, row, j) *
                 x(n, first + c, seen(conv_.down, row, u), seen(conv_.across, j, v));
    return sum;
  }

  Conv2d conv_;
  int64_t inputs_, outputs_;  // of a group
  const ConvOperands& operands_;
};

}  // namespace

ConvCase conv_case(const ConvShapeOptions& options) {
  std::vector<int64_t> n = numbers_in(options.shape, "#x#x#x#,#,#x#");
  if (n.empty()) {
    n = numbers_in(options.shape, "#x#x#x#,#,#");
    check(!n.empty(), "--shape is '", options.shape,
          "', should be like 16x64x56x56,64,3: images x channels x height x width, the result's "
          "channels, the window");
    n.push_back(n.back());
  }
  check(n[1] % options.group == 0 && n[4] % options.group == 0, "--groups ", options.group,
        " should divide the channels of --shape ", options.shape);
  return {{n[0], n[1], n[4], axis_of(options, n[2], n[5]), axis_of(options, n[3], n[6])},
          options.group};
}

ConvOperands draw_operands(const ConvCase& of) {
  return {draw(of.x(), of.type, 1), draw(of.w(), of.type, 2), draw(of.y(), of.type, 3)};
}

double error_of(const ConvCase& of, const ConvOperands& operands, const float* result) {
  constexpr int64_t kElements = 499;
  const Dims dims = of.pass == ConvPass::forward  ? of.y()
                    : of.pass == ConvPass::grad_x ? of.x()
                                                  : of.w();
  const int64_t count = element_count(dims), elements = std::min(count, kElements);
  const Reference reference(of, operands);
  double error = 0, size = 0;
  for (int64_t i = 0; i < elements; ++i) {
    const int64_t number = count / elements * i + count % elements * i / elements;
    const double exact = reference.element(of.pass, number);
    error += (result[number] - exact) * (result[number] - exact);
    size += exact * exact;
  }
  return std::sqrt(size > 0 ? error / size : error);
}

}  // namespace lockstep
