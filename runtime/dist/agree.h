// What processes tell each other between steps. Every process calls alike, in the same order.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "runtime/comm.h"

namespace lockstep {

// On rank 0 what every rank gave, in their order; nothing elsewhere.
std::vector<std::string> gather_texts(Comm& comm, const std::string& mine, const std::string& what);
// That of rank `from`, on every rank.
std::string share_text(Comm& comm, const std::string& mine, const std::string& what, int from = 0);
// The least number of all, on every rank. No rank waits for more than a few others.
uint64_t least_of_all(Comm& comm, uint64_t mine, const std::string& what);

// Throws on every rank, naming the first rank whose list differs from rank 0's, the entry and both
// values.
using Entries = std::vector<std::pair<std::string, std::string>>;
void check_agreement(Comm& comm, const Entries& mine);

// A number that two texts share only if they are equal, but for chance.
std::string digest(const void* data, std::size_t bytes);

}  // namespace lockstep
