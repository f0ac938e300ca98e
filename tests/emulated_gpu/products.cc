// SPDX-License-Identifier: Apache-2.0
// Implements the contracts of operators/gemm/cublas_product.h and
// operators/conv/cudnn_convolution.h literally, by loops over all terms.
#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>

#include "lockstep/attributes.h"
#include "lockstep/error.h"
#include "lockstep/types.h"
#include "operators/conv/cudnn_convolution.h"
#include "operators/gemm/cublas_product.h"
#include "runtime/accelerator.h"

namespace lockstep {
namespace {

void in_turn(cudaStream_t stream, std::function<void()> work) {
  reinterpret_cast<Queue*>(stream)->call(std::move(work));
}

// Rounds to ten bits of mantissa.
float as_tf32(float x) {
  if (!std::isfinite(x)) return x;
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  return std::bit_cast<float>((bits + 0xFFFU + (bits >> 13U & 1U)) & ~0x1FFFU);
}

double element(const void* data, DType type, int64_t i) {
  if (type == DType::float16) return static_cast<float>(static_cast<const Half*>(data)[i]);
  if (type == DType::bfloat16) return static_cast<float>(static_cast<const BFloat16*>(data)[i]);
  return static_cast<const float*>(data)[i];
}
void set_element(void* data, DType type, int64_t i, double value) {
  const auto x = static_cast<float>(value);
  if (type == DType::float16)
    static_cast<Half*>(data)[i] = Half(x);
  else if (type == DType::bfloat16)
    static_cast<BFloat16*>(data)[i] = BFloat16(x);
  else
    static_cast<float*>(data)[i] = x;
}

// A matrix [rows, columns]. Row i begins at i * row; in a transposed matrix, column j begins at j *
// row.
struct Operand {
  const void* data;
  int64_t rows, columns, row;
  bool turned;
};

std::vector<double> numbers_of(const MatrixProduct& p, const Operand& from, int64_t first) {
  std::vector<double> numbers(static_cast<std::size_t>(from.rows * from.columns));
  for (int64_t i = 0; i < from.rows; ++i)
    for (int64_t j = 0; j < from.columns; ++j) {
      const int64_t at = first + (from.turned ? j * from.row + i : i * from.row + j);
      const double x = element(from.data, p.type, at);
      numbers[i * from.columns + j] =
          p.tf32 && p.type == DType::float32 ? as_tf32(static_cast<float>(x)) : x;
    }
  return numbers;
}

// Each sum adds its terms in order. The sums of a row grow in parallel.
void multiply(const MatrixProduct& p, const void* a, const void* b, void* y) {
  for (const void* matrix : {a, b, static_cast<const void*>(y)})
    check(reinterpret_cast<std::uintptr_t>(matrix) % p.alignment == 0,
          "a product's matrix lies at ", matrix, ", which is no multiple of ", p.alignment);
  const Operand of_a{a, p.m, p.k, p.between_rows_of_a(), p.trans_a};
  const Operand of_b{b, p.k, p.n, p.between_rows_of_b(), p.trans_b};
  std::vector<double> totals(static_cast<std::size_t>(p.n));
  for (int64_t batch = 0; batch < p.batch; ++batch) {
    const auto from_a = numbers_of(p, of_a, batch * p.stride_a);
    const auto from_b = numbers_of(p, of_b, batch * p.stride_b);
    for (int64_t i = 0; i < p.m; ++i) {
      std::fill(totals.begin(), totals.end(), 0);
      for (int64_t k = 0; k < p.k; ++k) {
        const double factor = from_a[i * p.k + k];
        const double* const row = from_b.data() + k * p.n;
        for (int64_t j = 0; j < p.n; ++j) totals[j] += factor * row[j];
      }
      for (int64_t j = 0; j < p.n; ++j) {
        const int64_t at = batch * p.stride_y + i * p.between_rows_of_y() + j;
        const double before = p.beta == 0 ? 0 : p.beta * element(y, p.type, at);
        set_element(y, p.type, at, p.alpha * totals[j] + before);
      }
    }
  }
}

// A tensor [images, channels, spatial..] as numbers, channels last in any layout.
struct Numbers {
  int64_t channels, plane = 1;
  std::vector<float> at;

  explicit Numbers(const Dims& dims) : channels(dims[1]) {
    for (std::size_t d = 2; d < dims.size(); ++d) plane *= dims[d];
    at.resize(static_cast<std::size_t>(element_count(dims)));
  }
  float* of(int64_t image, int64_t place) { return at.data() + (image * plane + place) * channels; }

  // visit(index in the numbers, offset in memory)
  template <class Visit>
  void for_each(bool channels_last, const Visit& visit) {
    for (std::size_t i = 0; i < at.size(); ++i) {
      const auto here = static_cast<int64_t>(i);
      const int64_t channel = here % channels, place = here / channels % plane;
      const int64_t image = here / channels / plane;
      visit(at[i], channels_last ? here : (image * channels + channel) * plane + place);
    }
  }
};

// visit(position in y, position in w, position in x) for each position of the window inside the
// image.
template <class Visit>
void for_places(const Convolution& c, int64_t y_plane, int64_t w_plane, const Visit& visit) {
  for (int64_t to = 0; to < y_plane; ++to)
    for (int64_t tap = 0; tap < w_plane; ++tap) {
      int64_t to_rest = to, tap_rest = tap, from = 0, stride = 1;
      bool inside = true;
      for (std::size_t d = c.x.size(); d-- > 2;) {
        const int64_t at = to_rest % c.y[d] * c.strides[d - 2] - c.pads_before[d - 2] +
                           tap_rest % c.w[d] * c.dilations[d - 2];
        inside = inside && at >= 0 && at < c.x[d];
        from += at * stride;
        stride *= c.x[d];
        to_rest /= c.y[d];
        tap_rest /= c.w[d];
      }
      if (inside) visit(to, tap, from);
    }
}

// Transposes weights [filters, terms, taps..] to [taps.., terms, filters].
std::vector<float> filters_last(Numbers& weights, int64_t filters) {
  const int64_t terms = weights.channels;
  std::vector<float> turned(weights.at.size());
  for (int64_t m = 0; m < filters; ++m)
    for (int64_t tap = 0; tap < weights.plane; ++tap)
      for (int64_t k = 0; k < terms; ++k)
        turned[(tap * terms + k) * filters + m] = weights.of(m, tap)[k];
  return turned;
}

// Adds one term to each of several adjacent sums.
void add_multiple(float factor, const float* terms, int64_t count, float* sums) {
  for (int64_t i = 0; i < count; ++i) sums[i] += factor * terms[i];
}

void convolve(const Convolution& c, void* x, void* w, void* y) {
  Numbers nx(c.x), nw(c.w), ny(c.y);
  const bool to_y = c.pass == ConvPass::forward, to_x = c.pass == ConvPass::grad_x;
  auto load = [&](Numbers& numbers, const void* data) {
    numbers.for_each(c.channels_last, [&](float& number, int64_t place) {
      number = static_cast<float>(element(data, c.type, place));
      if (c.tf32) number = as_tf32(number);
    });
  };
  if (!to_x) load(nx, x);
  if (c.adds)
    nx.for_each(c.channels_last, [&](float& number, int64_t place) {
      number = static_cast<float>(element(x, c.type, place));
    });
  if (to_y || to_x) load(nw, w);
  if (!to_y) load(ny, y);
  const int64_t terms = c.w[1], filters_of_group = c.w[0] / (c.x[1] / terms);
  const std::vector<float> by_filter = to_y ? filters_last(nw, c.w[0]) : std::vector<float>();
  for_places(c, ny.plane, nw.plane, [&](int64_t to, int64_t tap, int64_t from) {
    for (int64_t n = 0; n < c.x[0]; ++n) {
      if (to_y)
        for (int64_t channel = 0; channel < c.x[1]; ++channel) {
          const int64_t first = channel / terms * filters_of_group;
          const float* const pw =
              by_filter.data() + (tap * terms + channel % terms) * c.w[0] + first;
          add_multiple(nx.of(n, from)[channel], pw, filters_of_group, ny.of(n, to) + first);
        }
      for (int64_t m = 0; !to_y && m < c.w[0]; ++m) {
        float* const px = nx.of(n, from) + m / filters_of_group * terms;
        if (to_x)
          add_multiple(ny.of(n, to)[m], nw.of(m, tap), terms, px);
        else
          add_multiple(ny.of(n, to)[m], px, terms, nw.of(m, tap));
      }
    }
  });
  Numbers& made = to_y ? ny : to_x ? nx : nw;
  void* const result = to_y ? y : to_x ? x : w;
  made.for_each(c.channels_last,
                [&](float number, int64_t place) { set_element(result, c.type, place, number); });
}

void finish(const Convolution& c, const ConvolutionData& data) {
  Numbers y(c.y);
  std::vector<double> sums(static_cast<std::size_t>(c.y[1])), squares(sums.size());
  y.for_each(c.channels_last, [&](const float& number, int64_t place) {
    const int64_t channel = (&number - y.at.data()) % y.channels;
    double value = element(data.y, c.type, place);
    if (c.bias) value += element(data.bias, c.type, channel);
    if (c.addition) value += element(data.z, c.type, place);
    if (c.relu && value < 0) value = 0;
    set_element(data.y, c.type, place, value);
    sums[channel] += value;
    squares[channel] += value * value;
  });
  for (std::size_t channel = 0; c.statistics && channel < sums.size(); ++channel) {
    static_cast<float*>(data.sums)[channel] = static_cast<float>(sums[channel]);
    static_cast<float*>(data.squares)[channel] = static_cast<float>(squares[channel]);
  }
}

}  // namespace

struct CublasProduct::Chosen {};
CublasProduct::CublasProduct(const MatrixProduct& product, bool) : product_(product) {}
CublasProduct::~CublasProduct() = default;
void CublasProduct::run(cudaStream_t stream, const void* a, const void* b, void* y, void*) {
  in_turn(stream, [=, product = product_] { multiply(product, a, b, y); });
}
bool cublas_is_there() { return false; }

// In cuDNN, some engines do the whole operation and others leave the rest to an epilogue. Here,
// engines for tensors with a multiple of eight channels do the whole operation.
struct ChosenEngine {
  bool apart;
};
CudnnConvolution::CudnnConvolution(const Convolution& convolution, const ConvolutionGpu& gpu,
                                   Epilogue epilogue)
    : convolution_(convolution),
      epilogue_(std::move(epilogue)),
      is_here_(gpu.is_here),
      chosen_(new ChosenEngine{!convolution.only_convolves() && convolution.x[1] % 8 != 0}) {}
CudnnConvolution::~CudnnConvolution() = default;
std::size_t CudnnConvolution::workspace_bytes() const { return epilogue_.workspace_bytes; }
std::string CudnnConvolution::describe() const {
  return convolution_.tf32 ? "emulated, tf32" : "emulated";
}
void CudnnConvolution::run(cudaStream_t stream, const ConvolutionData& data, void* workspace) {
  const bool apart = chosen_->apart;
  in_turn(stream, [=, c = convolution_] {
    convolve(c, data.x, data.w, data.y);
    if (!apart) finish(c, data);
  });
  if (apart) epilogue_.run(stream, data, workspace);
}
bool cudnn_is_there() { return false; }
std::string json_of_current_gpu() { fail("cuDNN knows nothing of an emulated GPU"); }

}  // namespace lockstep
