// SPDX-License-Identifier: Apache-2.0
// The feeds of a network, bound to arrays: types, dimensions, lengths and buckets.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "data/arrays/arrays.h"
#include "data/arrays/collection.h"
#include "data/arrays/convert.h"
#include "data/arrays/ragged.h"

namespace lockstep {

struct BoundFeed {
  ArrayFacts facts;
  const StoredArray* array = nullptr;      // of a mask: the lengths
  const RaggedLengths* lengths = nullptr;  // null: not ragged
  bool is_mask = false;
  bool is_joined = false;        // the examples follow each other without padding
  Dims inner;                    // without the length of a ragged example
  std::vector<int64_t> buckets;  // of a ragged feed
  ConvertElements convert = nullptr;
  std::vector<std::byte> padding;  // one element
};

// The names of the arrays that the feeds need, and the types that they ask for.
std::set<std::string> arrays_of_feeds(const std::vector<ArrayFeed>& feeds);
std::map<std::string, DType> types_of_feeds(const std::vector<ArrayFeed>& feeds);

struct BoundFeeds {
  std::vector<BoundFeed> feeds;
  std::map<std::string, std::unique_ptr<RaggedLengths>> lengths;  // by name of the ragged array
  int64_t examples = 0;
  std::size_t buckets = 1;
};

// Throws, naming files and rows, for arrays that are missing or do not fit to each other or to the
// feeds. `all` must outlive the result.
BoundFeeds bind_feeds(const ArraySetOptions& options, const ArrayCollection& all);

}  // namespace lockstep
