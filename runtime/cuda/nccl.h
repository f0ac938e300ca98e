// SPDX-License-Identifier: Apache-2.0
// Exchanges between GPUs by NCCL, which is loaded on first use.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "graph/shape.h"
#include "runtime/comm.h"
#include "runtime/device.h"

struct ncclComm;

namespace lockstep {

// One GPU's membership in a group of GPUs. All members make the same calls in the same order,
// inside a group of calls (below); they are put into streams at its end.
class NcclMember {
 public:
  NcclMember(ncclComm* handle, int rank, int size) : handle_(handle), rank_(rank), size_(size) {}
  ~NcclMember();
  NcclMember(const NcclMember&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }

  void send(const void* data, std::size_t bytes, int peer, cudaStream_t stream);
  void receive(void* data, std::size_t bytes, int peer, cudaStream_t stream);
  // The sum over all members, in NCCL's order, on each.
  void sum(const void* in, void* out, int64_t count, DType type, cudaStream_t stream);
  // A copy of the data of member `root` on each. `from` is read there only.
  void broadcast(const void* from, void* to, std::size_t bytes, int root, cudaStream_t stream);

  // True if all enqueued work is done; throws its error.
  bool settled() const;
  void abort();

 private:
  void check_result(int result, const char* what) const;

  ncclComm* handle_;
  int rank_, size_;
};

// Runs its calls as one group. It is closed if one throws, so that the next group is not a part of
// it; of a group in which a call failed, NCCL does nothing.
void in_nccl_group(const std::function<void()>& calls);

// The member on `device` of the group of those GPUs, all in this process. Kept until the program
// ends.
NcclMember& nccl_member(const std::vector<Device>& devices, Device device);

// This process's member of the group of all processes, each with one GPU. Owned by `comm`.
NcclMember& nccl_member(Comm& comm, Device device);
// Runs its calls as one group, and waits until NCCL has taken them.
void with_nccl(Comm& comm, NcclMember& member, const std::function<void()>& calls);

bool nccl_is_there();

}  // namespace lockstep
