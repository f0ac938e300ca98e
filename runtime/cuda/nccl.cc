// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/nccl.h"

#include <nccl.h>

#include <cstring>
#include <map>
#include <mutex>
#include <optional>

#include "graph/type_names.h"
#include "lockstep/error.h"
#include "lockstep/processes.h"
#include "runtime/cuda/check.h"
#include "runtime/cuda/library.h"
#include "runtime/dist/agree.h"

namespace lockstep {
namespace {

const SharedLibrary& nccl_library() {
  static const SharedLibrary library(join("NCCL ", NCCL_MAJOR, ".", NCCL_MINOR), {"libnccl.so.2"});
  return library;
}

struct Api {
  const SharedLibrary& library = nccl_library();
  decltype(ncclGetErrorString)* text_of = library["ncclGetErrorString"];
  decltype(ncclGetLastError)* last_error = library["ncclGetLastError"];
  decltype(ncclGetUniqueId)* make_id = library["ncclGetUniqueId"];
  decltype(ncclCommInitRankConfig)* join_group = library["ncclCommInitRankConfig"];
  decltype(ncclCommInitAll)* make_group = library["ncclCommInitAll"];
  decltype(ncclCommDestroy)* destroy = library["ncclCommDestroy"];
  decltype(ncclCommAbort)* abort = library["ncclCommAbort"];
  decltype(ncclCommGetAsyncError)* state_of = library["ncclCommGetAsyncError"];
  decltype(ncclGroupStart)* begin = library["ncclGroupStart"];
  decltype(ncclGroupEnd)* end = library["ncclGroupEnd"];
  decltype(ncclSend)* send = library["ncclSend"];
  decltype(ncclRecv)* receive = library["ncclRecv"];
  decltype(ncclAllReduce)* all_reduce = library["ncclAllReduce"];
  decltype(ncclBroadcast)* broadcast = library["ncclBroadcast"];
};

const Api& api() {
  static const Api loaded;
  return loaded;
}

// Non-blocking members return from calls before the calls are done (ncclInProgress).
void check_nccl(int result, const char* what, ncclComm_t of = nullptr) {
  if (result != ncclSuccess && result != ncclInProgress)
    fail("NCCL: ", what, ": ", api().text_of(static_cast<ncclResult_t>(result)), ": ",
         api().last_error(of));
}

constexpr TypeName<ncclDataType_t> kTypes[] = {
    {DType::float32, ncclFloat32},   {DType::float64, ncclFloat64}, {DType::float16, ncclFloat16},
    {DType::bfloat16, ncclBfloat16}, {DType::int32, ncclInt32},     {DType::int64, ncclInt64}};
ncclDataType_t nccl_type(DType type) { return name_in(kTypes, type, "NCCL"); }

// This process's GPU in the group of all processes.
class ProcessLinks final : public DeviceLinks {
 public:
  ProcessLinks(Comm& comm, Device device) : device_(device) {
    ncclUniqueId id{};
    if (comm.rank() == 0) check_nccl(api().make_id(&id), "a group of processes");
    const std::string shared =
        share_text(comm, std::string(id.internal, sizeof id.internal), "NCCL's number");
    std::memcpy(id.internal, shared.data(), sizeof id.internal);
    check_cuda(cudaSetDevice(device.index), "choosing a device");
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;  // a missing process must not block this process forever
    ncclComm_t handle = nullptr;
    const auto begun = api().join_group(&handle, comm.size(), id, comm.rank(), &config);
    check_nccl(begun, "joining the other processes");
    member_.emplace(handle, comm.rank(), comm.size());
    try {
      comm.wait_until([&] { return member_->settled(); }, "NCCL's start");
    } catch (...) {
      member_->abort();
      throw;
    }
  }
  void abort() override { member_->abort(); }

  NcclMember& member_on(Device device) {
    check(device == device_, "communicates with other processes on ", device,
          ", but this process does so on ", device_);
    return *member_;
  }

 private:
  const Device device_;
  std::optional<NcclMember> member_;
};

}  // namespace

void NcclMember::check_result(int result, const char* what) const {
  check_nccl(result, what, handle_);
}

NcclMember::~NcclMember() {
  if (handle_) api().destroy(handle_);
}

void NcclMember::send(const void* data, std::size_t bytes, int peer, cudaStream_t stream) {
  check_result(api().send(data, bytes, ncclInt8, peer, handle_, stream), "sending");
}

void NcclMember::receive(void* data, std::size_t bytes, int peer, cudaStream_t stream) {
  check_result(api().receive(data, bytes, ncclInt8, peer, handle_, stream), "receiving");
}

void NcclMember::sum(const void* in, void* out, int64_t count, DType type, cudaStream_t stream) {
  check_result(api().all_reduce(in, out, count, nccl_type(type), ncclSum, handle_, stream),
               "a sum");
}

void NcclMember::broadcast(const void* from, void* to, std::size_t bytes, int root,
                           cudaStream_t stream) {
  check_result(api().broadcast(from, to, bytes, ncclInt8, root, handle_, stream), "a broadcast");
}

bool NcclMember::settled() const {
  check(handle_, "NCCL: the connections to the other processes were closed");
  ncclResult_t state = ncclSuccess;
  check_result(api().state_of(handle_, &state), "the state of a group");
  check_result(state, "an exchange");
  return state != ncclInProgress;
}

void NcclMember::abort() {
  if (handle_) api().abort(handle_);  // frees it, too
  handle_ = nullptr;
}

void in_nccl_group(const std::function<void()>& calls) {
  check_nccl(api().begin(), "a group of calls");
  try {
    calls();
  } catch (...) {
    api().end();
    throw;
  }
  check_nccl(api().end(), "a group of calls");
}

NcclMember& nccl_member(const std::vector<Device>& devices, Device device) {
  using Group = std::map<int, NcclMember>;
  static std::mutex mutex;
  static auto* groups = new std::map<std::vector<int>, Group>;  // never freed: CUDA may shut down
                                                                // first
  std::vector<int> numbers;
  for (Device each : devices) numbers.push_back(each.index);
  std::lock_guard lock(mutex);
  Group& group = (*groups)[numbers];
  if (group.empty()) {
    std::vector<ncclComm_t> handles(numbers.size());
    const auto count = static_cast<int>(numbers.size());
    check_nccl(api().make_group(handles.data(), count, numbers.data()), "a group of GPUs");
    for (int rank = 0; rank < count; ++rank)
      group.try_emplace(numbers[rank], handles[rank], rank, count);
  }
  return group.at(device.index);
}

NcclMember& nccl_member(Comm& comm, Device device) {
  if (!comm.device_links) comm.device_links = std::make_unique<ProcessLinks>(comm, device);
  return dynamic_cast<ProcessLinks&>(*comm.device_links).member_on(device);
}

void with_nccl(Comm& comm, NcclMember& member, const std::function<void()>& calls) {
  in_nccl_group(calls);
  comm.wait_until([&] { return member.settled(); }, "NCCL's calls");
}

bool nccl_is_there() { return nccl_library().found(); }

}  // namespace lockstep
