// SPDX-License-Identifier: Apache-2.0
// HannWindow, HammingWindow, BlackmanWindow and MelWeightMatrix. Values are computed in double
// precision.
#include <cmath>
#include <numbers>

#include "graph/opset/rewrites.h"

namespace lockstep {
namespace {

// a - b cos(2 pi k / period) + c cos(4 pi k / period), for k = 0, 1, ..
struct Cosines {
  double a, b, c;
};

DType result_type(const NewerNode& node) {
  return static_cast<DType>(
      node.attributes().integer("output_datatype", static_cast<int64_t>(DType::float32)));
}

Literal window_of(const Cosines& of, const Literal& size, bool periodic, DType type) {
  const std::vector<int64_t> sizes = size.integers();
  constexpr int64_t kMost = int64_t{1} << 26;
  check(sizes.size() == 1 && sizes[0] >= 0 && sizes[0] <= kMost, "a window's size is ",
        text_of(size));
  const double period = static_cast<double>(sizes[0] - (periodic ? 0 : 1));
  std::vector<double> values;
  for (int64_t k = 0; k < sizes[0]; ++k) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(k) / period;
    values.push_back(of.a - of.b * std::cos(angle) + of.c * std::cos(2 * angle));
  }
  return Literal::rounded<double>(type, values, {sizes[0]});
}

// The size may be an operand that is only known when the network runs.
void write_window(NewerNode& node, const Cosines& of) {
  const DType type = result_type(node);
  if (!is_floating(type)) node.refuse("takes floats, not ", type);
  const bool periodic = node.attributes().integer("periodic", 1) != 0;
  if (const Literal* size = node.graph().literal(node.input(0)))
    return node.become("Identity", {node.constant(window_of(of, *size, periodic, type))});
  constexpr DType kDouble = DType::float64;
  const Value size = node.cast(node.input(0), kDouble);
  const Value period = periodic ? size : node.add("Sub", {size, node.scalar(1, kDouble)});
  const Value k = node.add("Range", {node.scalar(0, kDouble), size, node.scalar(1, kDouble)});
  const Value turn = node.add("Div", {node.scalar(2 * std::numbers::pi, kDouble), period});
  const Value angle = node.add("Mul", {k, turn});
  const auto cosine = [&](double amount, double harmonic) {
    const Value at = node.add("Mul", {angle, node.scalar(harmonic, kDouble)});
    return node.add("Mul", {node.add("Cos", {at}), node.scalar(amount, kDouble)});
  };
  Value y = node.add("Sub", {node.scalar(of.a, kDouble), cosine(of.b, 1)});
  if (of.c != 0) y = node.add("Add", {y, cosine(of.c, 2)});
  node.become("Cast", {y}, {{"to", static_cast<int64_t>(type)}});
}

// A constant operand of one number.
double number(const NewerNode& node, std::size_t i, const char* what) {
  const Literal* literal = node.graph().literal(node.input(i));
  if (!literal || literal->count() != 1) node.refuse("its ", what, " is not a constant number");
  if (literal->dtype() == DType::float32) return literal->values<float>()[0];
  if (literal->dtype() == DType::float64) return literal->values<double>()[0];
  return static_cast<double>(literal->integers()[0]);
}

}  // namespace

void write_hann_window(NewerNode& node) { write_window(node, {0.5, 0.5, 0}); }
void write_hamming_window(NewerNode& node) { write_window(node, {25.0 / 46, 21.0 / 46, 0}); }
void write_blackman_window(NewerNode& node) { write_window(node, {0.42, 0.5, 0.08}); }

// Triangles over the frequencies of a spectrum, at equal distances on the mel scale.
void write_mel_weights(NewerNode& node) {
  const DType type = result_type(node);
  const auto mels = static_cast<int64_t>(number(node, 0, "num_mel_bins"));
  const auto length = static_cast<int64_t>(number(node, 1, "dft_length"));
  const double rate = number(node, 2, "sample_rate");
  const auto mel_of = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  const double low = mel_of(number(node, 3, "lower_edge_hertz"));
  const double high = mel_of(number(node, 4, "upper_edge_hertz"));
  const int64_t bins = length / 2 + 1;
  if (mels < 1 || length < 1 || rate <= 0 || mels > (int64_t{1} << 26) / bins)
    fail(node.description(), ": ", mels, " mel bins, a spectrum of ", bins, " bins at ", rate,
         " samples per second");
  std::vector<int64_t> edges;
  for (int64_t i = 0; i < mels + 2; ++i) {
    const double mel = static_cast<double>(i) * (high - low) / static_cast<double>(mels + 2) + low;
    const double hertz = 700 * (std::pow(10, mel / 2595) - 1);
    edges.push_back(
        static_cast<int64_t>(std::floor(static_cast<double>(length + 1) * hertz / rate)));
    if (edges.back() < 0 || edges.back() >= bins)
      fail(node.description(), ": ", hertz, " Hz is outside of the spectrum's ", bins, " bins");
  }
  std::vector<double> weights(static_cast<std::size_t>(bins * mels));
  for (int64_t i = 0; i < mels; ++i) {
    const int64_t left = edges[i], centre = edges[i + 1], right = edges[i + 2];
    const auto share = [](int64_t a, int64_t b) {
      return static_cast<double>(a) / static_cast<double>(b);
    };
    for (int64_t j = left; j <= centre; ++j)
      weights[j * mels + i] = centre == left ? 1 : share(j - left, centre - left);
    for (int64_t j = centre; j < right; ++j)
      weights[j * mels + i] = share(right - j, right - centre);
  }
  node.become("Identity", {node.constant(Literal::rounded<double>(type, weights, {bins, mels}))});
}

}  // namespace lockstep
