// SPDX-License-Identifier: Apache-2.0
// Communication between processes outside steps. Every process makes the same calls in the same
// order.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "lockstep/processes.h"

namespace lockstep {

// The longest text that a rank accepts from another rank, in bytes, unless it expects a longer
// text.
constexpr uint64_t kLongestText = uint64_t{64} << 20U;

// Returns all ranks' texts, in rank order, on rank 0; empty on other ranks.
std::vector<std::string> gather_texts(Comm& comm, const std::string& mine, const std::string& what,
                                      uint64_t longest = kLongestText);
// Returns rank `from`'s text, on every rank.
std::string share_text(Comm& comm, const std::string& mine, const std::string& what, int from = 0,
                       uint64_t longest = kLongestText);
// Returns the minimum over all ranks, on every rank. Each rank waits for only a few others.
uint64_t least_of_all(Comm& comm, uint64_t mine, const std::string& what);

// Throws on every rank if a rank's list differs from rank 0's. The error names the first differing
// rank, the entry and both values.
using Entries = std::vector<std::pair<std::string, std::string>>;
void check_agreement(Comm& comm, const Entries& mine);

// Returns a 64-bit hash: equal for equal texts, different for others with high probability.
std::string digest(const void* data, std::size_t bytes);

}  // namespace lockstep
