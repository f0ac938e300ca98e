// SPDX-License-Identifier: Apache-2.0
// Implements the contract of runtime/cuda/nccl.h between threads of the host. Members of a group
// meet at a table that holds each message for its receiver. As with NCCL, a group's calls run
// together at its end, and each stream waits for its own call.
#include "runtime/cuda/nccl.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#include "lockstep/attributes.h"
#include "lockstep/error.h"
#include "lockstep/processes.h"
#include "lockstep/types.h"
#include "operators/collective/collective.h"
#include "runtime/accelerator.h"
#include "runtime/dist/agree.h"
#include "tests/emulated_gpu/nccl_calls.h"
#include "tests/support/queued_cpu.h"

// The type that NCCL leaves incomplete.
struct ncclComm {
  struct Table {
    std::mutex mutex;
    std::condition_variable changed;
    std::map<std::pair<int, int>, std::deque<std::vector<std::byte>>> messages;  // from, to
    std::set<int> aborted;                                                       // members

    void put(int from, int to, std::vector<std::byte> message) {
      std::lock_guard lock(mutex);
      messages[{from, to}].push_back(std::move(message));
      changed.notify_all();
    }
    std::vector<std::byte> take(int from, int to) {
      std::unique_lock lock(mutex);
      auto& line = messages[{from, to}];
      changed.wait(lock, [&] { return !line.empty() || aborted.contains(to); });
      lockstep::check(!line.empty(), "NCCL: member ", to, " was aborted");
      std::vector<std::byte> message = std::move(line.front());
      line.pop_front();
      return message;
    }
    void abort(int member) {
      std::lock_guard lock(mutex);
      aborted.insert(member);
      changed.notify_all();
    }
  };
  std::shared_ptr<Table> table;
  std::shared_ptr<char> held = std::make_shared<char>();  // held by recordings of its calls
};

namespace lockstep {
namespace {

struct Call {
  cudaStream_t stream;
  std::shared_ptr<char> held;
  std::function<void()> post, collect;
};
thread_local std::vector<Call> calls;
thread_local int depth = 0;

void put_off(Call call) {
  check(depth > 0, "NCCL: a call outside of a group of calls");
  calls.push_back(std::move(call));
}

std::mutex seen_mutex;
std::vector<testing::NcclCall>* seen = nullptr;

void note(const testing::NcclCall& call) {
  std::lock_guard lock(seen_mutex);
  if (seen) seen->push_back(call);
}

std::vector<std::byte> bytes_at(const void* data, std::size_t bytes) {
  const auto* from = static_cast<const std::byte*>(data);
  return {from, from + bytes};
}

template <class T, class Sum>
void add_as(const std::vector<std::byte>& term, std::vector<std::byte>& total) {
  const T* from = reinterpret_cast<const T*>(term.data());
  T* to = reinterpret_cast<T*>(total.data());
  for (std::size_t i = 0; i < total.size() / sizeof(T); ++i)
    to[i] = T(static_cast<Sum>(to[i]) + static_cast<Sum>(from[i]));
}

void add(DType type, const std::vector<std::byte>& term, std::vector<std::byte>& total) {
  switch (type) {
    case DType::float32:
      return add_as<float, float>(term, total);
    case DType::float64:
      return add_as<double, double>(term, total);
    case DType::float16:
      return add_as<Half, float>(term, total);
    case DType::bfloat16:
      return add_as<BFloat16, float>(term, total);
    case DType::int32:
      return add_as<int32_t, int32_t>(term, total);
    default:
      return add_as<int64_t, int64_t>(term, total);
  }
}

std::shared_ptr<ncclComm::Table> table_named(const std::string& name) {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<ncclComm::Table>> tables;
  std::lock_guard lock(mutex);
  auto& table = tables[name];
  if (!table) table = std::make_shared<ncclComm::Table>();
  return table;
}

std::string new_name() {
  static std::atomic<int> names{0};
  return join(++names);
}

struct ProcessLinks final : DeviceLinks {
  ProcessLinks(Comm& comm, Device device)
      : device(device),
        member(new ncclComm{table_named(share_text(comm, new_name(), "a table's name"))},
               comm.rank(), comm.size()) {}
  void abort() override { member.abort(); }
  Device device;
  NcclMember member;
};

}  // namespace

NcclMember::~NcclMember() { delete handle_; }

void NcclMember::send(const void* data, std::size_t bytes, int peer, cudaStream_t stream) {
  put_off({stream, handle_->held,
           [=, this, table = handle_->table] { table->put(rank_, peer, bytes_at(data, bytes)); },
           [] {}});
}

void NcclMember::receive(void* data, std::size_t bytes, int peer, cudaStream_t stream) {
  put_off({stream, handle_->held, [] {},
           [=, this, table = handle_->table] {
             const std::vector<std::byte> message = table->take(peer, rank_);
             check(message.size() == bytes, "NCCL: ", bytes, " bytes are awaited from rank ", peer,
                   ", ", message.size(), " come");
             std::memcpy(data, message.data(), bytes);
           }});
}

void NcclMember::sum(const void* in, void* out, int64_t count, DType type, cudaStream_t stream) {
  const std::size_t bytes = static_cast<std::size_t>(count) * size_of(type);
  note({"sum", rank_, size_, join(count, " ", type)});
  put_off({stream, handle_->held,
           [=, this, table = handle_->table] {
             for (int peer = 0; peer < size_; ++peer) table->put(rank_, peer, bytes_at(in, bytes));
           },
           [=, this, table = handle_->table] {
             std::vector<std::byte> total = table->take(0, rank_);
             for (int peer = 1; peer < size_; ++peer) add(type, table->take(peer, rank_), total);
             std::memcpy(out, total.data(), bytes);
           }});
}

void NcclMember::broadcast(const void* from, void* to, std::size_t bytes, int root,
                           cudaStream_t stream) {
  note({"broadcast", rank_, size_, join(bytes, " bytes of ", root)});
  put_off({stream, handle_->held,
           [=, this, table = handle_->table] {
             if (rank_ != root) return;
             for (int peer = 0; peer < size_; ++peer)
               table->put(rank_, peer, bytes_at(from, bytes));
           },
           [=, this, table = handle_->table] {
             const std::vector<std::byte> message = table->take(root, rank_);
             check(message.size() == bytes, "NCCL: ", bytes, " bytes are awaited from rank ", root,
                   ", ", message.size(), " come");
             std::memcpy(to, message.data(), bytes);
           }});
}

bool NcclMember::settled() const { return true; }
// As in NCCL, an abort ends pending waits and then waits until each recording of its calls is
// destroyed. Where NCCL would wait forever, the emulation ends the program.
void NcclMember::abort() {
  handle_->table->abort(rank_);
  const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (handle_->held.use_count() > 1) {
    if (std::chrono::steady_clock::now() > patience) {
      std::cerr << "NCCL: an abort waits for ever: a recording holds the group\n";
      std::abort();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void in_nccl_group(const std::function<void()>& work) {
  check(depth == 0, "NCCL: a group of calls within another");
  ++depth;
  std::vector<Call> group;
  try {
    work();
    group = std::move(calls);
  } catch (...) {
    --depth;
    calls.clear();
    throw;
  }
  --depth;
  calls.clear();
  for (const Call& call : group) testing::hold_while_recorded(call.held);
  for (Call& call : group) reinterpret_cast<Queue*>(call.stream)->call(std::move(call.post));
  for (Call& call : group) reinterpret_cast<Queue*>(call.stream)->call(std::move(call.collect));
}

NcclMember& nccl_member(const std::vector<Device>& devices, Device device) {
  // Tests run processes as threads.
  static thread_local std::map<std::vector<int>, std::map<int, NcclMember>> groups;
  std::vector<int> numbers;
  for (Device each : devices) numbers.push_back(each.index);
  auto& group = groups[numbers];
  if (group.empty()) {
    const auto table = std::make_shared<ncclComm::Table>();
    for (std::size_t rank = 0; rank < numbers.size(); ++rank)
      group.try_emplace(numbers[rank], new ncclComm{table}, static_cast<int>(rank),
                        static_cast<int>(numbers.size()));
  }
  return group.at(device.index);
}

NcclMember& nccl_member(Comm& comm, Device device) {
  if (!comm.device_links) comm.device_links = std::make_unique<ProcessLinks>(comm, device);
  auto& links = dynamic_cast<ProcessLinks&>(*comm.device_links);
  check(links.device == device, "another device of this process exchanges already");
  return links.member;
}

void with_nccl(Comm&, NcclMember&, const std::function<void()>& work) { in_nccl_group(work); }

bool nccl_is_there() { return false; }

namespace testing {

NcclCalls::NcclCalls() {
  std::lock_guard lock(seen_mutex);
  check(!seen, "NCCL's calls are listed already");
  seen = &calls_;
}

NcclCalls::~NcclCalls() {
  std::lock_guard lock(seen_mutex);
  seen = nullptr;
}

std::vector<NcclCall> NcclCalls::so_far() const {
  std::lock_guard lock(seen_mutex);
  return calls_;
}

}  // namespace testing
}  // namespace lockstep
