// SPDX-License-Identifier: Apache-2.0
// Records the calls of the emulated NCCL.
#pragma once

#include <string>
#include <vector>

namespace lockstep::testing {

struct NcclCall {
  std::string what;  // sum, broadcast
  int rank = 0, size = 1;
  std::string data;  // "7 float32"; "28 bytes of 0": 0 is the sending rank
  friend bool operator==(const NcclCall&, const NcclCall&) = default;
};

// Lists the calls of all groups during its lifetime. At most one object may exist at a time.
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
