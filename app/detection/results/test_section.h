// SPDX-License-Identifier: Apache-2.0
// The test of a detector as a part of report.html.
#pragma once

#include <string>

#include "app/detection/results/box_test.h"
#include "data/detection/picture_set.h"

namespace lockstep {

// Empty without scores, as on ranks above 0.
std::string section_of(const BoxTestResult& result, const PictureSet& pictures, int64_t iterations);

}  // namespace lockstep
