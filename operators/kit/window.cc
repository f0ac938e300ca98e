// SPDX-License-Identifier: Apache-2.0
#include "operators/kit/window.h"

#include <algorithm>

namespace lockstep {
namespace {

void default_to(std::vector<int64_t>& list, std::size_t size, int64_t value, int64_t least,
                const char* name) {
  if (list.empty()) list.assign(size, value);
  check(list.size() == size, name, " has ", list.size(), " entries, should have ", size);
  for (int64_t entry : list) check(entry >= least, name, " ", list, " has ", entry);
}

}  // namespace

Window read_window(AttributeReader& attributes) {
  Window window;
  window.kernel = attributes.integers("kernel_shape");
  window.strides = attributes.integers("strides");
  window.pads = attributes.integers("pads");
  window.dilations = attributes.integers("dilations");
  window.ceil_mode = attributes.integer("ceil_mode", 0) != 0;
  window.auto_pad = attributes.text("auto_pad", "NOTSET");
  return window;
}

Window resolved(Window window, const std::vector<int64_t>& kernel, const Shape& spatial) {
  const std::size_t rank = spatial.size();
  if (window.kernel.empty()) window.kernel = kernel;
  check(window.kernel == kernel || kernel.empty(), "kernel_shape ", window.kernel,
        " does not match the weight's ", kernel);
  default_to(window.kernel, rank, 1, 1, "kernel_shape");
  default_to(window.strides, rank, 1, 1, "strides");
  default_to(window.dilations, rank, 1, 1, "dilations");
  if (window.auto_pad == "VALID" || window.auto_pad == "NOTSET" || window.auto_pad.empty()) {
    if (window.auto_pad == "VALID") window.pads.clear();
    default_to(window.pads, 2 * rank, 0, 0, "pads");
  } else {
    check(window.auto_pad == "SAME_UPPER" || window.auto_pad == "SAME_LOWER", "auto_pad is '",
          window.auto_pad, "'");
    window.pads.assign(2 * rank, 0);
    for (std::size_t i = 0; i < rank; ++i) {
      check(spatial[i].known(), "auto_pad needs known spatial sizes");
      int64_t input = spatial[i].size();
      int64_t output = (input + window.strides[i] - 1) / window.strides[i];
      int64_t reach = (window.kernel[i] - 1) * window.dilations[i] + 1;
      int64_t total = std::max<int64_t>(0, (output - 1) * window.strides[i] + reach - input);
      int64_t begin = window.auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
      window.pads[i] = begin;
      window.pads[rank + i] = total - begin;
    }
  }
  window.auto_pad = "NOTSET";
  return window;
}

Attributes write_window(const Window& window) {
  Attributes attributes;
  auto add = [&](const char* name, const std::vector<int64_t>& list) {
    if (!list.empty()) attributes.push_back({name, list});
  };
  add("kernel_shape", window.kernel);
  add("strides", window.strides);
  add("pads", window.pads);
  add("dilations", window.dilations);
  if (window.ceil_mode) attributes.push_back({"ceil_mode", int64_t{1}});
  return attributes;
}

int64_t output_size(const Window& window, std::size_t i, int64_t input) {
  const std::size_t rank = window.kernel.size();
  int64_t reach = (window.kernel[i] - 1) * window.dilations[i] + 1;
  int64_t room = input + window.pads[i] + window.pads[rank + i] - reach;
  check(room >= 0, "a window of ", reach, " does not fit into ", input, " with padding ",
        window.pads[i], " and ", window.pads[rank + i]);
  int64_t steps = room / window.strides[i];
  if (window.ceil_mode && room % window.strides[i] != 0) {
    ++steps;
    // The last window must start inside the input or its left padding.
    if (steps * window.strides[i] >= input + window.pads[i]) --steps;
  }
  return steps + 1;
}

int64_t covering_end_pad(const Window& window, std::size_t i, int64_t input, int64_t output) {
  int64_t reach = (window.kernel[i] - 1) * window.dilations[i] + 1;
  return (output - 1) * window.strides[i] + reach - input - window.pads[i];
}

}  // namespace lockstep
