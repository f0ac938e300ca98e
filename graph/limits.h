// SPDX-License-Identifier: Apache-2.0
// Limits on sizes read from files. A few bytes can claim a tensor of 2^40 numbers or 10^9 replicas:
// check a size from a file here before allocating.
#pragma once

#include <cstddef>
#include <string>

#include "lockstep/error.h"

namespace lockstep {

inline constexpr int kMostReplicas = 4096;

// Returns the available memory in bytes: LOCKSTEP_MEMORY (a number with an optional K, M, G or T)
// if set. Otherwise the minimum that the machine, its control groups and `ulimit -v` leave to this
// process.
std::size_t usable_memory();

// Thrown for too little memory. The file is not wrong: the memory may be free at another time.
class NoMemory : public Error {
 public:
  using Error::Error;
};

// Throws NoMemory, `<what> needs 32 GiB; 3.1 GiB of memory are free ..`, if `bytes` exceeds
// usable_memory().
void check_memory(std::size_t bytes, const std::string& what);

// Returns the sum, or the largest number on overflow.
std::size_t saturating_add(std::size_t a, std::size_t b);

std::string text_of_bytes(std::size_t bytes);  // 512 bytes, 1.5 KiB, 32 GiB

// Parses a number of bytes: 4096, 64K, 1.5G. Throws for any other text.
std::size_t parse_bytes(const std::string& text, const std::string& what);

}  // namespace lockstep
