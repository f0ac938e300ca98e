// SPDX-License-Identifier: Apache-2.0
// Buckets: gradients that are reduced together. A bucket plan is a value: made by a rule, printed,
// edited, read back.
//   packing := "none" | "tf_cnn:" bytes ":" group | "ray:" bytes | "ready:" first ":" cap
// with numbers as in spec.h (4k, 25M). Rules see gradients in the order of their parameters:
//   tf_cnn  runs of neighbours of at most so many bytes each (tf_cnn_benchmarks)
//   ray     from the last to the first; a bin closes once it is larger than so many bytes (Ray)
//   ready   in the order of the backward pass, the last parameter's first: a small first bucket,
//           so that communication starts early, then buckets of `cap` bytes
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace lockstep {

enum class PackingRule { none, tf_cnn, ray, ready };

struct Packing {
  PackingRule rule = PackingRule::none;
  int64_t bytes = 0;  // tf_cnn: limit of a small tensor; ray: of a bin; ready: of a bucket
  int64_t group = 0;  // tf_cnn
  int64_t first = 0;  // ready: bytes of the first bucket
  friend bool operator==(const Packing&, const Packing&) = default;
};
Packing parse_packing(const std::string& text);
// Read back by parse_packing(): "ready:1M:25M".
std::string text_of(const Packing& packing);

struct GradientSize {
  std::string name;
  int64_t elements = 0;
  DType dtype = DType::float32;
  int64_t bytes() const { return elements * static_cast<int64_t>(size_of(dtype)); }
};

// Positions in the list of gradients; each is in exactly one bucket. A bucket of one is reduced as
// it is.
using Bucket = std::vector<int>;
using Buckets = std::vector<Bucket>;
Buckets pack(const Packing& packing, const std::vector<GradientSize>& gradients);

// One line per bucket: `bucket 8196000 bytes: predictions/kernel predictions/bias`.
std::string text_of(const Buckets& buckets, const std::vector<GradientSize>& gradients);
// Parses that text. Throws for an unknown, repeated or missing name, and for mixed types in a
// bucket. `source`: where the text is from, for errors.
Buckets parse_buckets(const std::string& text, const std::vector<GradientSize>& gradients,
                      const std::string& source = "buckets");

// The names that such a text lists, whether or not there are such gradients.
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
