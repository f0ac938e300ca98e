// SPDX-License-Identifier: Apache-2.0
// The specification of gradient sums over replicas, as text:
//   spec  := [ "sum:" | "mean:" ] range ( ":" limit ":" range )*
//   range := name [ "#" shards ]       a name of two levels, as pscpu/pscpu: shards of the second
//   limit := digits [ K | k | M | G | T ] [ "B" ]      elements; bytes with a B
// `pscpu:32k:xring#2` sums tensors of up to 32768 elements by pscpu, larger ones by rings. Limits
// increase; the last range takes the rest. The size is that of the reduced tensor: a bucket, after
// packing. With `mean:` every replica divides the sum by the number of replicas. Names are those of
// algorithms.cc, and `auto`: the one with the least predicted time (choice.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "operators/collective/collective.h"

namespace lockstep {

struct AllReduceRange {
  std::string algorithm;
  int64_t shards = 1;  // 0: as many as the algorithm uses if none are given
  int64_t limit = -1;  // applies up to this many elements or bytes; -1: no limit
  bool limit_in_bytes = false;
  friend bool operator==(const AllReduceRange&, const AllReduceRange&) = default;
};
struct AllReduceSpec {
  std::vector<AllReduceRange> ranges;
  Reduction reduction = Reduction::sum;
  friend bool operator==(const AllReduceSpec&, const AllReduceSpec&) = default;
};

// Throws, naming the spec and its wrong part.
AllReduceSpec parse_all_reduce(const std::string& text);
std::string text_of(const AllReduceSpec& spec);
std::string text_of(const AllReduceRange& range);  // without its limit

// "0,2,1,3": a process's replicas in ring order.
std::vector<int> parse_ring_order(const std::string& text);

// The first range whose algorithm leaves its operands unsummed, as `trivial` does; or null.
const AllReduceRange* unsummed_range(const AllReduceSpec& spec);

// The first range for a tensor of so many elements of so many bytes each.
std::size_t range_for(const AllReduceSpec& spec, int64_t elements, int64_t element_bytes);

}  // namespace lockstep
