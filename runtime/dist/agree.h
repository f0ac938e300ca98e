// SPDX-License-Identifier: Apache-2.0
// Communication between processes outside steps. Every process makes the same calls in the same
// order.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "runtime/comm.h"

namespace lockstep {

// The longest text that a rank takes from another one, in bytes, unless it expects a longer one.
constexpr uint64_t kLongestText = uint64_t{64} << 20U;

// All ranks' texts, in rank order, on rank 0; empty on other ranks.
std::vector<std::string> gather_texts(Comm& comm, const std::string& mine, const std::string& what,
                                      uint64_t longest = kLongestText);
// Rank `from`'s text, on every rank.
std::string share_text(Comm& comm, const std::string& mine, const std::string& what, int from = 0,
                       uint64_t longest = kLongestText);
// The minimum over all ranks, on every rank. Each rank waits for only a few others.
uint64_t least_of_all(Comm& comm, uint64_t mine, const std::string& what);

// Throws on every rank if a rank's list differs from rank 0's, naming the first such rank, the
// entry and both values.
using Entries = std::vector<std::pair<std::string, std::string>>;
void check_agreement(Comm& comm, const Entries& mine);

// A 64-bit hash: equal for equal texts, and otherwise different but for chance.
std::string digest(const void* data, std::size_t bytes);

}  // namespace lockstep
