// SPDX-License-Identifier: Apache-2.0
// Sliding windows, shared by convolution and pooling.
#pragma once

#include <string>
#include <vector>

#include "lockstep/attributes.h"
#include "lockstep/graph.h"
#include "lockstep/types.h"

namespace lockstep {

// The dimensions after batch and channels.
inline Shape spatial_of(const Shape& shape) { return {shape.begin() + 2, shape.end()}; }

// All vectors have one entry per spatial dimension; `pads` has two: all begins, then all ends.
struct Window {
  std::vector<int64_t> kernel = {};
  std::vector<int64_t> strides = {};
  std::vector<int64_t> pads = {};
  std::vector<int64_t> dilations = {};
  bool ceil_mode = false;
  std::string auto_pad = "NOTSET";
};

// Reads the window's attributes; omitted lists are empty. auto_pad is not resolved yet.
Window read_window(AttributeReader& attributes);
// Fills in defaults and resolves auto_pad for an input of these spatial sizes. The sizes may be
// symbols if auto_pad is not used. Throws if a list has the wrong length or a size is below one.
Window resolved(Window window, const std::vector<int64_t>& kernel, const Shape& spatial);
Attributes write_window(const Window& window);

// Size of the output along dimension `i`; throws if the window does not fit.
int64_t output_size(const Window& window, std::size_t i, int64_t input);

// The end padding with which the last window ends exactly at the end of the padding: more than
// declared if ceil_mode adds a window, less if windows leave a remainder.
int64_t covering_end_pad(const Window& window, std::size_t i, int64_t input, int64_t output);

}  // namespace lockstep
