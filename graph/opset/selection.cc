// SPDX-License-Identifier: Apache-2.0
// Compress, ReverseSequence and Col2Im.
#include <numeric>

#include "graph/opset/rewrites.h"

namespace lockstep {

// The condition is constant: else the result's size depends on data.
void write_compress(NewerNode& node) {
  const Literal* condition = node.graph().literal(node.input(1));
  if (!condition) node.refuse("its condition is not constant; shapes must be static");
  const auto values = condition->values<bool>();
  std::vector<int64_t> chosen;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i]) chosen.push_back(static_cast<int64_t>(i));
  const bool flat = !node.attributes().has("axis");
  const Value x = flat ? node.add("Reshape", {node.input(0), node.vector({-1})}) : node.input(0);
  node.become("Gather", {x, node.vector(chosen)}, {{"axis", node.attributes().integer("axis", 0)}});
}

// Step t of a sequence of `length` steps becomes step length - 1 - t; padding stays.
void write_reverse_sequence(NewerNode& node) {
  const std::size_t rank = node.shape(0).size();
  const int64_t batch = node.attributes().integer("batch_axis", 1);
  const int64_t time = node.attributes().integer("time_axis", 0);
  if (rank < 2 || batch + time != 1 || batch * time != 0)
    fail(node.description(), ": batch_axis is ", batch, ", time_axis ", time, " for ",
         node.graph().type(node.input(0)), "; should be 0 and 1 in any order");
  std::vector<int64_t> order(rank);
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[0], order[1]);
  const bool moves = batch == 1;
  const Value x = moves ? node.add("Transpose", {node.input(0)}, {{"perm", order}}) : node.input(0);
  std::vector<int64_t> steps(static_cast<std::size_t>(node.size(0, time)));
  std::iota(steps.begin(), steps.end(), 0);
  const Value t = node.vector(steps);
  const Value length = node.add("Unsqueeze", {node.input(1), node.vector({1})});
  const Value last = node.add("Sub", {length, node.vector({1})});
  const Value from =
      node.add("Where", {node.add("Less", {t, length}), node.add("Sub", {last, t}), t});
  const Value places = node.add("Unsqueeze", {from, node.vector({2})});
  if (!moves) return node.become("GatherND", {x, places}, {{"batch_dims", int64_t{1}}});
  const Value reversed = node.add("GatherND", {x, places}, {{"batch_dims", int64_t{1}}});
  node.become("Transpose", {reversed}, {{"perm", order}});
}

// Sums blocks into a picture: a transposed convolution whose filter for each place of a block has
// a single 1.
void write_col2im(NewerNode& node) {
  const std::vector<int64_t> image = node.integers(1, "image_shape");
  const std::vector<int64_t> block = node.integers(2, "block_shape");
  const std::size_t rank = image.size();
  const auto list = [&](const char* name, int64_t fallback, std::size_t count) {
    std::vector<int64_t> values = node.attributes().integers(name);
    if (values.empty()) values.assign(count, fallback);
    if (values.size() != count)
      fail(node.description(), ": ", name, " has ", values.size(), " numbers, should have ", count);
    return values;
  };
  if (rank == 0 || block.size() != rank)
    fail(node.description(), ": a block of ", block.size(), " dimensions for an image of ", rank);
  const auto dilations = list("dilations", 1, rank), strides = list("strides", 1, rank);
  const auto pads = list("pads", 0, 2 * rank);
  constexpr int64_t kMostPlaces = 4096;
  int64_t places = 1;
  std::vector<int64_t> shape{-1, 1}, rest(rank);
  Dims filter{1, 1};
  for (std::size_t d = 0; d < rank; ++d) {
    const int64_t span = dilations[d] * (block[d] - 1) + 1;
    const int64_t room = image[d] + pads[d] + pads[rank + d] - span;
    if (block[d] < 1 || strides[d] < 1 || dilations[d] < 1 || room < 0)
      fail(node.description(), ": a block of ", block[d], " in an image of ", image[d]);
    places *= block[d];
    if (places > kMostPlaces)
      node.refuse("blocks of ", places, " elements, at most ", kMostPlaces, " are supported");
    filter.push_back(block[d]);
    shape.push_back(room / strides[d] + 1);
    rest[d] = room % strides[d];  // a margin that no block reaches
  }
  shape[1] = filter[0] = places;
  std::vector<double> ones(static_cast<std::size_t>(places * places));
  for (int64_t i = 0; i < places; ++i) ones[i * places + i] = 1;
  const Value filters = node.constant(Literal::rounded<double>(node.dtype(), ones, filter));
  const Value blocks = node.add("Reshape", {node.input(0), node.vector(shape)});
  const Value sums = node.add(
      "ConvTranspose", {blocks, filters},
      {{"dilations", dilations}, {"strides", strides}, {"pads", pads}, {"output_padding", rest}});
  const Dim batch = node.shape(0)[0];
  std::vector<int64_t> result{batch.known() ? batch.size() : -1, node.size(0, 1) / places};
  result.insert(result.end(), image.begin(), image.end());
  node.become("Reshape", {sums, node.vector(result)});
}

}  // namespace lockstep
