// SPDX-License-Identifier: Apache-2.0
// Writes image files for tests.
#pragma once

#include <string>

#include "data/image.h"

namespace lockstep::testing {

// A smooth gradient that differs by `kind`.
Image gradient_image(int64_t height, int64_t width, int kind = 0);
void write_png(const std::string& path, const Image& image);
void write_jpeg(const std::string& path, const Image& image, bool grey = false);

}  // namespace lockstep::testing
