// SPDX-License-Identifier: Apache-2.0
// Digests data that is too long to copy into one text.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "runtime/dist/agree.h"

namespace lockstep {

// Computes the digest of a long text piece by piece, with at most about 1 MiB in memory.
class LongDigest {
 public:
  template <class T>
  void add(const T& value) {
    put(&value, sizeof value);
  }
  template <class T>
  void add_list(std::span<const T> values) {
    add(uint64_t{values.size()});
    put(values.data(), values.size_bytes());
  }
  std::string text() const { return digest(bytes_.data(), bytes_.size()); }

 private:
  void put(const void* data, std::size_t size) {
    constexpr std::size_t kMost = std::size_t{1} << 20;
    bytes_.append(static_cast<const char*>(data), size);
    if (bytes_.size() >= kMost) bytes_ = text();
  }

  std::string bytes_;
};

}  // namespace lockstep
