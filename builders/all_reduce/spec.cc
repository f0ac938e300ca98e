// SPDX-License-Identifier: Apache-2.0
#include "builders/all_reduce/spec.h"

#include "builders/all_reduce/algorithm.h"
#include "builders/all_reduce/number.h"
#include "lockstep/error.h"
#include "lockstep/graph.h"

namespace lockstep {
namespace {

AllReduceRange range_of(const std::string& text) {
  const auto hash = text.find('#');
  check(hash == text.npos || text.find('/', hash) == text.npos, "'", text,
        "': only the second level can have a number of shards, as in pscpu/pscpu#2");
  const std::vector<std::string> parts = split(text, '#');
  check(parts.size() <= 2, "'", text, "' has two numbers of shards");
  AllReduceRange range;
  range.algorithm = parts[0];
  const AllReduceAlgorithm* const algorithm =
      range.algorithm == "auto" ? nullptr : &algorithm_named(range.algorithm);
  const bool has_shards = algorithm && algorithm->most_shards;
  if (parts.size() == 1) {
    range.shards = algorithm && algorithm->usual_shards ? 0 : 1;
    return range;
  }
  range.shards = parse_number(parts[1], "shards").value;
  check(range.shards >= 1, "'", text, "': the number of shards should be at least 1");
  check(range.shards == 1 || has_shards, "'", text, "': ", range.algorithm,
        " cannot have a number of shards");
  return range;
}

}  // namespace

AllReduceSpec parse_all_reduce(const std::string& text) {
  AllReduceSpec spec;
  try {
    std::vector<std::string> fields = split(text, ':');
    if (fields.size() > 1 && (fields[0] == "sum" || fields[0] == "mean")) {
      if (fields[0] == "mean") spec.reduction = Reduction::mean;
      fields.erase(fields.begin());
    }
    for (std::size_t i = 0; i < fields.size(); i += 2) spec.ranges.push_back(range_of(fields[i]));
    check(fields.size() % 2 == 1, "it ends with a limit; an algorithm must follow it");
    for (std::size_t i = 1; i < fields.size(); i += 2) {
      const Number limit = parse_number(fields[i], "limit");
      AllReduceRange& range = spec.ranges[i / 2];
      range.limit = limit.value;
      range.limit_in_bytes = limit.bytes;
      if (i == 1) continue;
      const AllReduceRange& before = spec.ranges[i / 2 - 1];
      check(before.limit_in_bytes == limit.bytes,
            "limits must be all in elements or all in bytes (B)");
      check(before.limit < limit.value, "limits must increase: ", before.limit, " comes before ",
            limit.value);
    }
  } catch (const Error& error) {
    fail("all-reduce spec '", text, "': ", error.what());
  }
  return spec;
}

std::string text_of(const AllReduceSpec& spec) {
  std::string text = spec.reduction == Reduction::mean ? "mean:" : "";
  for (const AllReduceRange& range : spec.ranges) {
    text += text_of(range);
    if (range.limit >= 0) text += join(":", range.limit, range.limit_in_bytes ? "B:" : ":");
  }
  return text;
}

std::string text_of(const AllReduceRange& range) {
  const bool one_is_said =
      range.algorithm != "auto" && algorithm_named(range.algorithm).usual_shards;
  const bool is_said = range.shards > 1 || (range.shards == 1 && one_is_said);
  return range.algorithm + (is_said ? join("#", range.shards) : "");
}

std::vector<int> parse_ring_order(const std::string& text) {
  std::vector<int> order;
  for (const std::string& part : split(text, ',')) {
    const bool digits = !part.empty() && part.size() < 10 &&
                        part.find_first_not_of("0123456789") == std::string::npos;
    check(digits, "the ring order '", text, "' should be numbers of replicas, like 0,2,1,3");
    order.push_back(std::stoi(part));
  }
  return order;
}

std::size_t range_for(const AllReduceSpec& spec, int64_t elements, int64_t element_bytes) {
  for (std::size_t i = 0; i < spec.ranges.size(); ++i) {
    const AllReduceRange& range = spec.ranges[i];
    const int64_t size = range.limit_in_bytes ? elements * element_bytes : elements;
    if (range.limit < 0 || size <= range.limit) return i;
  }
  fail("internal: an all-reduce spec without a last range");
}

const AllReduceRange* unsummed_range(const AllReduceSpec& spec) {
  for (const AllReduceRange& range : spec.ranges)
    if (range.algorithm != "auto" && !algorithm_named(range.algorithm).sums) return &range;
  return nullptr;
}

}  // namespace lockstep
