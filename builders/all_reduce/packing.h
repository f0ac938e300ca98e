// SPDX-License-Identifier: Apache-2.0
// Bucket plans: lists of gradients that are reduced together. A rule (Packing in
// lockstep/all_reduce.h) makes a bucket plan; users can print, edit and reload it as text.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lockstep/all_reduce.h"

namespace lockstep {

struct GradientSize {
  std::string name;
  int64_t elements = 0;
  DType dtype = DType::float32;
  int64_t bytes() const { return elements * static_cast<int64_t>(size_of(dtype)); }
};

// Positions in the list of gradients; each is in exactly one bucket. A bucket of one gradient is
// not packed.
using Bucket = std::vector<int>;
using Buckets = std::vector<Bucket>;
Buckets pack(const Packing& packing, const std::vector<GradientSize>& gradients);

// One line per bucket: `bucket 8196000 bytes: predictions/kernel predictions/bias`.
std::string text_of(const Buckets& buckets, const std::vector<GradientSize>& gradients);
// Parses the text of text_of(). Throws for an unknown, repeated or missing name, and for mixed
// types in a bucket. `source`: the text's file or key, for errors.
Buckets parse_buckets(const std::string& text, const std::vector<GradientSize>& gradients,
                      const std::string& source = "buckets");

// All names in the text, including names of no gradient.
std::set<std::string> names_in_buckets(const std::string& text,
                                       const std::string& source = "buckets");

// Inclusive runs of consecutive numbers, and the numbers left alone. A run may grow while its ends
// are at most `limit` apart, so it holds up to limit + 2 numbers: tf_cnn_benchmarks' rule,
// unchanged.
struct Ranges {
  std::vector<std::pair<int, int>> runs;
  std::vector<int> singles;
};
Ranges extract_ranges(const std::vector<int>& numbers, int64_t limit);

}  // namespace lockstep
