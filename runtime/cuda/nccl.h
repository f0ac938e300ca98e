// Exchanges between GPUs by NCCL, which is looked for when the first of them is made.
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

// One GPU's part in a group of GPUs. All members call alike, in the same order; calls belong
// between the begin and the end of a group of them (below), and are put into streams at its end.
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

  // Whether what was put into streams so far is there; throws what became of it.
  bool settled() const;
  void abort();

 private:
  void check_result(int result, const char* what) const;

  ncclComm* handle_;
  int rank_, size_;
};

void begin_nccl_calls();
void end_nccl_calls();

// The member on `device` of the group of those GPUs, all of this process. Kept for its life.
NcclMember& nccl_member(const std::vector<Device>& devices, Device device);

// This process's member of the group of all processes, each with one GPU. Kept by `comm`.
NcclMember& nccl_member(Comm& comm, Device device);
// A group of calls of it.
void with_nccl(Comm& comm, NcclMember& member, const std::function<void()>& calls);

bool nccl_is_there();

}  // namespace lockstep
