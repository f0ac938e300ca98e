// SPDX-License-Identifier: Apache-2.0
// DFT and STFT.
#include <algorithm>
#include <numeric>

#include "graph/opset/fourier.h"
#include "graph/opset/rewrites.h"

namespace lockstep {
namespace {

constexpr int64_t kMostSamples = int64_t{1} << 22;  // of a transform; its tables are constants

int64_t integer(const NewerNode& node, std::size_t i, const char* what) {
  const std::vector<int64_t> values = node.integers(i, what);
  if (values.size() != 1)
    fail(node.description(), ": its ", what, " has ", values.size(), " elements, should have one");
  return values[0];
}

DType float_type(const NewerNode& node) {
  const DType type = node.dtype();
  if (type != DType::float32 && type != DType::float64)
    node.refuse("takes float32 or float64, not ", type);
  return type;
}

int64_t parts_of(const NewerNode& node, std::size_t axis) {
  const int64_t parts = node.size(0, static_cast<int64_t>(axis));
  if (parts != 1 && parts != 2)
    fail(node.description(), ": the last dimension should be 1 (real) or 2 (complex), is ", parts);
  return parts;
}

// Gives y, [rows, ..last], the first dimensions of x again.
Value with_first_dims(NewerNode& node, Value y, Value x, const std::vector<int64_t>& last) {
  const Shape shape = node.graph().shape(x);
  const std::size_t first = shape.size() - last.size();
  std::vector<int64_t> sizes;
  for (std::size_t d = 0; d < first; ++d) sizes.push_back(shape[d].known() ? shape[d].size() : -1);
  sizes.insert(sizes.end(), last.begin(), last.end());
  if (std::count(sizes.begin(), sizes.end(), -1) <= 1) return node.reshape(y, sizes);
  const Value known = node.slice(node.shape_of(x), 0, 0, static_cast<int64_t>(first));
  return node.add("Reshape",
                  {y, node.add("Concat", {known, node.vector(last)}, {{"axis", int64_t{0}}})});
}

// The whole spectrum of a real signal from its first half: x[length - k] is conjugate to x[k].
Value both_halves(NewerNode& node, Value x, int64_t length, DType type) {
  std::vector<int64_t> places(static_cast<std::size_t>(length));
  std::vector<double> signs;
  for (int64_t k = 0; k < length; ++k) {
    const bool second = k > length / 2;
    places[k] = second ? length - k : k;
    signs.insert(signs.end(), {1.0, second ? -1.0 : 1.0});
  }
  const Value all = node.add("Gather", {x, node.vector(places)}, {{"axis", int64_t{1}}});
  return node.add("Mul", {all, node.constant(Literal::rounded<double>(type, signs, {length, 2}))});
}

// Cuts the signal into frames: signal [N, samples] -> [N, frames, length], in blocks of a step if
// few blocks make a frame.
Value framed(NewerNode& node, Value signal, int64_t samples, int64_t frames, int64_t length,
             int64_t step) {
  constexpr int64_t kMostBlocks = 16;
  const int64_t blocks = (length + step - 1) / step;
  if (blocks > kMostBlocks) {
    constexpr int64_t kMostPlaces = int64_t{1} << 26;
    if (frames > kMostPlaces / length)
      node.refuse(frames, " frames of ", length, " samples overlap too much");
    std::vector<int64_t> places;
    for (int64_t f = 0; f < frames; ++f)
      for (int64_t t = 0; t < length; ++t) places.push_back(f * step + t);
    const Value at = node.constant(Literal::of<int64_t>(places, {frames, length}));
    return node.add("Gather", {signal, at}, {{"axis", int64_t{1}}});
  }
  const int64_t used = (frames - 1 + blocks) * step;
  if (used > samples)
    signal = node.add("Pad", {signal, node.vector({0, 0, 0, used - samples})});
  else if (used < samples)
    signal = node.slice(signal, 1, 0, used);
  const Value steps = node.reshape(signal, {-1, frames - 1 + blocks, step});
  std::vector<Value> parts;
  for (int64_t b = 0; b < blocks; ++b) {
    Value part = node.slice(steps, 1, b, b + frames);
    const int64_t rest = length - b * step;
    parts.push_back(rest < step ? node.slice(part, 2, 0, rest) : part);
  }
  return parts.size() == 1 ? parts[0] : node.add("Concat", parts, {{"axis", int64_t{2}}});
}

}  // namespace

// Until opset 19 the axis is an attribute, from 20 on an operand.
void write_dft(NewerNode& node) {
  const DType type = float_type(node);
  const std::size_t rank = node.shape(0).size();
  if (rank < 2) fail(node.description(), ": the data has ", rank, " dimensions, needs two");
  int64_t axis = node.opset() < 20 ? node.attributes().integer("axis", 1)
                 : node.input(2)   ? integer(node, 2, "axis")
                                   : -2;
  axis = normal_axis(node, axis, rank);
  const auto last = static_cast<int64_t>(rank - 1);
  if (axis == last) fail(node.description(), ": axis ", axis, " has the real and imaginary parts");
  const bool inverse = node.attributes().integer("inverse", 0) != 0;
  const bool half = node.attributes().integer("onesided", 0) != 0;
  const int64_t parts = parts_of(node, rank - 1);
  if (half && parts != (inverse ? 2 : 1))
    node.refuse(inverse ? "the inverse of half a spectrum takes complex numbers"
                        : "half a spectrum is made of a real signal, not of complex numbers");
  int64_t given = node.size(0, axis);
  const int64_t length = node.input(1)     ? integer(node, 1, "dft_length")
                         : half && inverse ? 2 * (given - 1)
                                           : given;
  if (length < 1 || length > kMostSamples)
    fail(node.description(), ": the length is ", length, ", should be 1 to ", kMostSamples);

  std::vector<int64_t> order(rank);
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[axis], order[rank - 2]);  // the order is its own inverse
  const bool moves = axis != last - 1;
  const Value moved =
      moves ? node.add("Transpose", {node.input(0)}, {{"perm", order}}) : node.input(0);
  Value x = node.reshape(moved, {-1, given, parts});
  const int64_t needed = half && inverse ? length / 2 + 1 : length;
  if (given > needed) {
    x = node.slice(x, 1, 0, needed);
    given = needed;
  }
  Fourier fourier(node, type);
  int64_t made = length, made_parts = 2;
  if (half && inverse) {
    if (given < needed) x = node.add("Pad", {x, node.vector({0, 0, 0, 0, needed - given, 0})});
    x = fourier.transform(both_halves(node, x, length, type), {length, length, length, 2}, true);
    x = node.slice(x, 2, 0, 1);
    made_parts = 1;
  } else {
    made = half ? length / 2 + 1 : length;
    x = fourier.transform(x, {given, length, made, parts}, inverse);
  }
  const Value y = with_first_dims(node, x, moved, {made, made_parts});
  if (moves) return node.become("Transpose", {y}, {{"perm", order}});
  node.become("Identity", {y});
}

void write_stft(NewerNode& node) {
  const DType type = float_type(node);
  const std::size_t rank = node.shape(0).size();
  if (rank != 2 && rank != 3)
    fail(node.description(), ": the signal has ", rank, " dimensions, should have two or three");
  const int64_t samples = node.size(0, 1), parts = rank == 3 ? parts_of(node, 2) : 1;
  const bool half = node.attributes().integer("onesided", 1) != 0;
  if (half && parts == 2) node.refuse("a complex signal has no half spectrum; set onesided to 0");
  const int64_t step = integer(node, 1, "frame_step");
  const int64_t length = node.input(3)   ? integer(node, 3, "frame_length")
                         : node.input(2) ? node.size(2, 0)
                                         : samples;
  if (length > kMostSamples)
    fail(node.description(), ": frames of ", length, " samples, at most ", kMostSamples,
         " are supported");
  if (step < 1 || length < 1 || length > samples)
    fail(node.description(), ": frames of ", length, " samples at steps of ", step,
         " from a signal of ", samples);
  if (node.input(2) && node.size(2, 0) != length)
    fail(node.description(), ": a window of ", node.size(2, 0), " for frames of ", length);
  const int64_t frames = (samples - length) / step + 1;
  const Value signal =
      rank == 3 ? node.reshape(node.input(0), {-1, samples * parts}) : node.input(0);
  Value x = framed(node, signal, samples * parts, frames, length * parts, step * parts);
  if (Value window = node.input(2)) {
    if (parts == 2) {
      x = node.reshape(x, {-1, frames, length, 2});
      window = node.reshape(window, {length, 1});
    }
    x = node.add("Mul", {x, window});
  }
  const int64_t made = half ? length / 2 + 1 : length;
  const Value y =
      Fourier(node, type)
          .transform(node.reshape(x, {-1, length, parts}), {length, length, made, parts}, false);
  node.become("Reshape", {y, node.vector({-1, frames, made, 2})});
}

}  // namespace lockstep
