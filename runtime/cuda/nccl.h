// SPDX-License-Identifier: Apache-2.0
// Exchanges between GPUs by NCCL, which is loaded on first use.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "lockstep/device.h"
#include "lockstep/processes.h"
#include "lockstep/types.h"

struct ncclComm;

namespace lockstep {

// A GPU's membership in a group of GPUs. All members make the same calls in the same order, inside
// a group of calls (below). The calls are put into streams at the end of the group.
class NcclMember {
 public:
  NcclMember(ncclComm* handle, int rank, int size) : handle_(handle), rank_(rank), size_(size) {}
  ~NcclMember();
  NcclMember(const NcclMember&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }

  void send(const void* data, std::size_t bytes, int peer, cudaStream_t stream);
  void receive(void* data, std::size_t bytes, int peer, cudaStream_t stream);
  // Writes the sum over all members, in NCCL's order, on each member.
  void sum(const void* in, void* out, int64_t count, DType type, cudaStream_t stream);
  // Copies the data of member `root` to each member. Only `root` reads `from`.
  void broadcast(const void* from, void* to, std::size_t bytes, int root, cudaStream_t stream);

  // True if all calls have been taken; throws their error.
  bool settled() const;
  void abort();

 private:
  void check_result(int result, const char* what) const;

  ncclComm* handle_;
  int rank_, size_;
};

// Runs calls as one group. The group is closed if a call throws, so that the next group does not
// include it. NCCL does nothing for a group with a failed call.
void in_nccl_group(const std::function<void()>& calls);

// Returns the member on `device` of the group of `devices`, all in this process. Kept until the
// program ends.
NcclMember& nccl_member(const std::vector<Device>& devices, Device device);

// Returns this process's member of the group of all processes, each with one GPU. Owned by `comm`.
NcclMember& nccl_member(Comm& comm, Device device);
// Runs calls as one group and waits until NCCL has taken them.
void with_nccl(Comm& comm, NcclMember& member, const std::function<void()>& calls);

bool nccl_is_there();

}  // namespace lockstep
