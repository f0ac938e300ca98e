// What a file may ask for. A few bytes can say that a tensor holds 2^40 numbers or that there are
// 10^9 replicas: whoever allocates by a size that was read asks here first.
#pragma once

#include <cstddef>
#include <string>

namespace lockstep {

inline constexpr int kMostReplicas = 4096;

// Bytes that may still be taken: LOCKSTEP_MEMORY (a number, with K, M, G or T behind it) where it
// is set, else what the machine, its control groups and `ulimit -v` leave to this process.
std::size_t usable_memory();

// Throws `<what> needs 32 GiB; 3.1 GiB of memory are free ..` when that is more than there is.
void check_memory(std::size_t bytes, const std::string& what);

// The sum, or the largest number where that is beyond it.
std::size_t saturating_add(std::size_t a, std::size_t b);

std::string text_of_bytes(std::size_t bytes);  // 512 bytes, 1.5 KiB, 32 GiB

// Throws unless `text` says a number of bytes: 4096, 64K, 1.5G.
std::size_t parse_bytes(const std::string& text, const std::string& what);

}  // namespace lockstep
