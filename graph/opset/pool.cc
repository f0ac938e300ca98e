// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "graph/opset/rewrites.h"

namespace lockstep {

// Before opset 19, only convolutions had dilations. So the window sum becomes a depthwise
// convolution with ones. Padding counts in the mean only with count_include_pad.
void average_dilated(NewerNode& node) {
  const std::vector<int64_t> dilations = node.attributes().integers("dilations");
  node.drop_attribute("dilations");
  if (std::all_of(dilations.begin(), dilations.end(), [](int64_t d) { return d == 1; })) return;
  const std::vector<int64_t> kernel = node.attributes().integers("kernel_shape");
  const Shape x = node.shape(0);
  const int64_t channels = node.size(0, 1);
  std::vector<int64_t> pads = node.attributes().integers("pads");
  std::vector<int64_t> strides = node.attributes().integers("strides");
  const std::size_t rank = kernel.size();
  if (node.attributes().text("auto_pad", "NOTSET") != "NOTSET")
    node.refuse("auto_pad with dilations is not supported");
  if (pads.empty()) pads.assign(2 * rank, 0);
  if (strides.empty()) strides.assign(rank, 1);
  if (x.size() != rank + 2 || pads.size() != 2 * rank || strides.size() != rank ||
      dilations.size() != rank)
    fail(node.description(), ": kernel_shape, strides, pads and dilations have ", rank, ", ",
         strides.size(), ", ", pads.size(), " and ", dilations.size(), " entries for data with ",
         x.size(), " dimensions");
  for (const std::vector<int64_t>& list : {kernel, strides, dilations})
    for (int64_t value : list)
      if (value < 1)
        fail(node.description(),
             ": kernel_shape, strides and dilations should be positive, one is ", value);
  const bool counts_pads = node.attributes().integer("count_include_pad", 0) != 0;
  std::vector<int64_t> beyond(rank, 0);  // positions past the padding that ceil_mode reads; never
                                         // counted
  if (node.attributes().integer("ceil_mode", 0) != 0)
    for (std::size_t i = 0; i < rank; ++i) {
      const int64_t size = node.size(0, static_cast<int64_t>(i) + 2);
      const int64_t reach = (kernel[i] - 1) * dilations[i] + 1;
      const int64_t room = size + pads[i] + pads[rank + i] - reach;
      const int64_t steps = room / strides[i] + 1;
      if (room % strides[i] != 0 && steps * strides[i] < size + pads[i])
        beyond[i] = steps * strides[i] - room;
    }

  std::vector<int64_t> weight{channels, 1};
  weight.insert(weight.end(), kernel.begin(), kernel.end());
  const Value ones = node.add("Expand", {node.scalar(1), node.vector(weight)});
  // Both sums are over x with explicit padding: `total` pads with zeros, `count` with 1 if padding
  // counts.
  std::vector<int64_t> around(2 * x.size(), 0), further(2 * x.size(), 0);
  for (std::size_t i = 0; i < rank; ++i) {
    around[i + 2] = pads[i];
    around[x.size() + i + 2] = pads[rank + i];
    further[x.size() + i + 2] = beyond[i];
  }
  auto sum = [&](Value data, double outside) {
    const Value padded = node.add("Pad", {data, node.vector(around), node.scalar(outside)});
    const Value whole = node.add("Pad", {padded, node.vector(further), node.scalar(0)});
    return node.add("Conv", {whole, ones},
                    {{"group", channels}, {"strides", strides}, {"dilations", dilations}});
  };
  const Value one = node.add("Expand", {node.scalar(1), node.shape_of(node.input(0))});
  const Value total = sum(node.input(0), 0), count = sum(one, counts_pads ? 1 : 0);
  node.become("Div", {total, count});
}

namespace {

int64_t power_of(const NewerNode& node) {
  const int64_t p = node.attributes().integer("p", 2);
  if (p < 1) fail(node.description(), ": p is ", p, ", should be positive");
  return p;
}

// |x|^p
Value powers(NewerNode& node, Value x, int64_t p) {
  if (p == 2) return node.add("Mul", {x, x});
  const Value size = node.add("Abs", {x});
  return p == 1 ? size : node.add("Pow", {size, node.scalar(static_cast<double>(p))});
}

void become_root(NewerNode& node, Value sum, int64_t p) {
  if (p == 1) return node.become("Identity", {sum});
  if (p == 2) return node.become("Sqrt", {sum});
  node.become("Pow", {sum, node.scalar(1.0 / static_cast<double>(p))});
}

}  // namespace

// (sum of |x|^p)^(1/p) over each window: a depthwise convolution with ones.
void write_lp_pool(NewerNode& node) {
  if (node.attributes().integer("ceil_mode", 0) != 0) node.refuse("ceil_mode is not supported");
  const std::vector<int64_t> kernel = node.attributes().integers("kernel_shape");
  const int64_t channels = node.size(0, 1), p = power_of(node);
  std::vector<int64_t> weight{channels, 1};
  weight.insert(weight.end(), kernel.begin(), kernel.end());
  Attributes window{{"group", channels},
                    {"auto_pad", node.attributes().text("auto_pad", "NOTSET")}};
  for (const char* name : {"strides", "pads", "dilations"})
    if (const auto list = node.attributes().integers(name); !list.empty())
      window.push_back({name, list});
  const Value ones = node.add("Expand", {node.scalar(1), node.vector(weight)});
  become_root(node, node.add("Conv", {powers(node, node.input(0), p), ones}, window), p);
}

void write_global_lp_pool(NewerNode& node) {
  const int64_t p = power_of(node);
  std::vector<int64_t> axes;
  for (std::size_t d = 2; d < node.shape(0).size(); ++d) axes.push_back(static_cast<int64_t>(d));
  const Value sum = node.add("ReduceSum", {powers(node, node.input(0), p), node.vector(axes)});
  become_root(node, sum, p);
}

// The indices count elements of the whole unpooled tensor. A larger size that is asked for adds
// zeros at the end of each dimension.
void write_max_unpool(NewerNode& node) {
  const std::vector<int64_t> kernel = node.attributes().integers("kernel_shape");
  std::vector<int64_t> strides = node.attributes().integers("strides");
  std::vector<int64_t> pads = node.attributes().integers("pads");
  const std::size_t rank = kernel.size();
  if (strides.empty()) strides.assign(rank, 1);
  if (pads.empty()) pads.assign(2 * rank, 0);
  if (node.shape(0).size() != rank + 2 || strides.size() != rank || pads.size() != 2 * rank)
    fail(node.description(), ": kernel_shape, strides and pads have ", rank, ", ", strides.size(),
         " and ", pads.size(), " entries for data with ", node.shape(0).size(), " dimensions");
  Dims dims{node.size(0, 0), node.size(0, 1)};
  for (std::size_t d = 0; d < rank; ++d)
    dims.push_back((node.size(0, static_cast<int64_t>(d) + 2) - 1) * strides[d] + kernel[d] -
                   pads[d] - pads[rank + d]);
  for (int64_t size : dims)
    if (size < 0) fail(node.description(), ": its pads are larger than the unpooled data");
  std::vector<int64_t> after(2 * dims.size(), 0);
  if (node.input(2)) {
    const std::vector<int64_t> wanted = node.integers(2, "output_shape");
    if (wanted.size() != dims.size())
      fail(node.description(), ": output_shape has ", wanted.size(), " numbers, should have ",
           dims.size());
    for (std::size_t d = 0; d < dims.size(); ++d) {
      after[dims.size() + d] = wanted[d] - dims[d];
      if (wanted[d] < dims[d]) node.refuse("its output_shape is smaller than the windows");
    }
  }
  const Value zeros = node.add("Expand", {node.scalar(0), node.vector({element_count(dims)})});
  const Value flat = node.add("ScatterElements", {zeros, node.reshape(node.input(1), {-1}),
                                                  node.reshape(node.input(0), {-1})});
  node.become("Pad", {node.reshape(flat, dims), node.vector(after)});
}

}  // namespace lockstep
