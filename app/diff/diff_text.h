// SPDX-License-Identifier: Apache-2.0
// Differences as text for people, and as JSON.
#pragma once

#include <string>

#include "app/diff/diff.h"

namespace lockstep {

struct DiffTextOptions {
  bool all = false;             // a line for each difference
  std::size_t most_lines = 10;  // otherwise: fold more, except keys and metadata
};
std::string text_of(const DiffResult& result, const DiffTextOptions& options = {});

// A document `lockstep.diff/1`.
std::string json_of(const DiffResult& result);

}  // namespace lockstep
