// SPDX-License-Identifier: Apache-2.0
// The calls that the emulated NCCL gets.
#pragma once

#include <string>
#include <vector>

namespace lockstep::testing {

struct NcclCall {
  std::string what;  // sum, broadcast
  int rank = 0, size = 1;
  std::string data;  // "7 float32"; "28 bytes of 0", the rank that has them
  friend bool operator==(const NcclCall&, const NcclCall&) = default;
};

// Lists the calls of all groups for as long as it lives. One at a time.
class NcclCalls {
 public:
  NcclCalls();
  ~NcclCalls();
  NcclCalls(const NcclCalls&) = delete;

  std::vector<NcclCall> so_far() const;

 private:
  std::vector<NcclCall> calls_;
};

}  // namespace lockstep::testing
