// SPDX-License-Identifier: Apache-2.0
#include "tests/support/queued_cpu.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "lockstep/operators.h"
#include "operators/cpu.h"
#include "operators/fusions.h"
#include "runtime/accelerator.h"
#include "runtime/memory.h"
#include "runtime/threads/thread_limit.h"

namespace lockstep::testing {
namespace {

constexpr int kDevices = 16;

// The offset of device pointers from the actual memory. An access without the offset crashes.
constexpr std::ptrdiff_t kFar = std::ptrdiff_t{1} << 47;

bool is_far(const void* data) { return reinterpret_cast<std::ptrdiff_t>(data) >= kFar; }
std::byte* far_from(std::byte* data) {
  return reinterpret_cast<std::byte*>(reinterpret_cast<std::ptrdiff_t>(data) + kFar);
}
void* near_to(const void* data) {
  return is_far(data) ? reinterpret_cast<void*>(reinterpret_cast<std::ptrdiff_t>(data) - kFar)
                      : const_cast<void*>(data);
}

void copy_bytes(void* to, const void* from, std::size_t bytes) {
  std::memcpy(near_to(to), near_to(from), bytes);
}

// Counts its records. A wait is for the last record that was enqueued before the wait.
class ThreadEvent final : public Event {
 public:
  void announce() { ++announced_; }
  uint64_t announced() const { return announced_; }
  void reach(uint64_t number) {
    std::lock_guard lock(mutex_);
    reached_ = std::max(reached_, number);
    at_ = std::chrono::steady_clock::now();
    changed_.notify_all();
  }
  void wait_for(uint64_t number) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return reached_ >= number; });
  }
  std::chrono::steady_clock::time_point at() {
    std::lock_guard lock(mutex_);
    return at_;
  }

 private:
  uint64_t announced_ = 0;  // used by the thread that fills queues
  uint64_t reached_ = 0;
  std::chrono::steady_clock::time_point at_;
  std::mutex mutex_;
  std::condition_variable changed_;
};

class ThreadQueue;
using Work = std::function<void()>;

// While a tape exists, queues store this thread's work on the tape.
struct Tape final : Recording {
  // A replay puts each entry into its queue again.
  std::vector<Work> entries;
  std::vector<std::shared_ptr<void>> held;
  void replay() override {
    for (const Work& entry : entries) entry();
  }
};
thread_local std::unique_ptr<Tape> taping;
std::atomic<int> made{0};

class ThreadQueue final : public Queue {
 public:
  ThreadQueue() : thread_([this] { serve(); }) {}
  ~ThreadQueue() override {
    push([this] { ended_ = true; }, true);
    thread_.join();
  }

  void copy(void* to, const void* from, std::size_t bytes) override {
    give([=, this] { push([=] { copy_bytes(to, from, bytes); }); });
  }
  void call(Work work) override {
    give([this, work = std::move(work)] { push(work); });
  }
  void record(Event& event) override {
    auto& of = dynamic_cast<ThreadEvent&>(event);
    give([this, &of] {
      of.announce();
      push([&of, number = of.announced()] { of.reach(number); }, true);
    });
  }
  void wait(Event& event) override {
    auto& of = dynamic_cast<ThreadEvent&>(event);
    give([this, &of] { push([&of, number = of.announced()] { of.wait_for(number); }, true); });
  }
  void finish() override {
    std::unique_lock lock(mutex_);
    idle_.wait(lock, [&] { return work_.empty() && !busy_; });
    if (auto failure = std::exchange(failure_, nullptr)) std::rethrow_exception(failure);
  }
  bool idle() override {
    std::lock_guard lock(mutex_);
    return work_.empty() && !busy_;
  }
  void* native() override { return static_cast<Queue*>(this); }

 private:
  struct Item {
    Work work;
    bool orders = false;  // recorded even after a failure: others wait for the event
  };

  void give(Work entry) {
    if (taping)
      taping->entries.push_back(std::move(entry));
    else
      entry();
  }

  void push(Work work, bool orders = false) {
    std::lock_guard lock(mutex_);
    work_.push_back({std::move(work), orders});
    changed_.notify_one();
  }

  void serve() {
    const ThreadLimit limit(1);  // matrix products may have other bits with several threads
    while (!ended_) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return !work_.empty(); });
      Item item = std::move(work_.front());
      work_.pop_front();
      busy_ = true;
      const bool failed = failure_ != nullptr && !ended_;
      lock.unlock();
      std::exception_ptr failure;
      try {
        if (!failed || item.orders) item.work();
      } catch (...) {
        failure = std::current_exception();
      }
      lock.lock();
      busy_ = false;
      if (failure) failure_ = failure;
      idle_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_, idle_;
  std::deque<Item> work_;
  bool busy_ = false;
  bool ended_ = false;
  std::exception_ptr failure_;
  std::thread thread_;
};

class QueuedCpu final : public Accelerator {
 public:
  explicit QueuedCpu(Reach reach) : reach_(reach) {}

  int devices() const override { return kDevices; }
  Memory allocate(Device, std::size_t bytes, std::byte fill) override {
    if (reach_ == Reach::near) return lockstep::allocate(bytes, fill);
    auto* data = static_cast<std::byte*>(std::aligned_alloc(64, (bytes / 64 + 1) * 64));
    std::memset(data, static_cast<int>(fill), bytes);
    return {far_from(data), {[](void* far) { std::free(near_to(far)); }}};
  }
  Memory allocate_host(std::size_t bytes) override { return lockstep::allocate(bytes); }
  void copy(void* to, const void* from, std::size_t bytes) override { copy_bytes(to, from, bytes); }
  std::unique_ptr<Queue> queue(Device) override { return std::make_unique<ThreadQueue>(); }
  std::unique_ptr<Event> event(Device) override { return std::make_unique<ThreadEvent>(); }
  std::unique_ptr<Event> timed_event(Device) override { return std::make_unique<ThreadEvent>(); }
  double seconds_between(Event& from, Event& to) override {
    const auto at = [](Event& event) { return dynamic_cast<ThreadEvent&>(event).at(); };
    return std::chrono::duration<double>(at(to) - at(from)).count();
  }
  std::unique_ptr<Recording> record(Queue&, const std::function<void()>& work) override {
    begin_recording();
    try {
      work();
    } catch (...) {
      end_recording();
      throw;
    }
    return end_recording();
  }

 private:
  Reach reach_;
};

// The CPU's kernel, run in queue order on device memory.
class QueuedKernel final : public Kernel {
 public:
  explicit QueuedKernel(std::unique_ptr<Kernel> kernel) : kernel_(std::move(kernel)) {}

  void run(const KernelArgs& args) override {
    auto near = [](std::span<const Tensor> tensors) {
      std::vector<Tensor> moved(tensors.begin(), tensors.end());
      for (Tensor& tensor : moved) tensor.data = near_to(tensor.data);
      return moved;
    };
    args.queue->call([this, in = near(args.in), out = near(args.out),
                      workspace = static_cast<std::byte*>(near_to(args.workspace)),
                      context = static_cast<const RunContext*>(near_to(args.device_context))] {
      kernel_->run({in, out, workspace, *context});
    });
  }
  std::size_t workspace_bytes() const override { return kernel_->workspace_bytes(); }
  std::string describe() const override { return kernel_->describe(); }

 private:
  std::unique_ptr<Kernel> kernel_;
};

}  // namespace

void begin_recording() { taping = std::make_unique<Tape>(); }
std::unique_ptr<Recording> end_recording() {
  ++made;
  return std::move(taping);
}
int recordings_made() { return made; }
void hold_while_recorded(std::shared_ptr<void> object) {
  if (taping) taping->held.push_back(std::move(object));
}

std::unique_ptr<Accelerator> threads_as_devices(Reach reach) {
  return std::make_unique<QueuedCpu>(reach);
}

const std::vector<KernelTable>& queued_kernels() {
  static QueuedCpu accelerator(Reach::far);
  static const std::vector<KernelTable> tables = [] {
    std::vector<KernelEntry> entries = cpu_kernel_entries();
    for (KernelEntry& entry : cpu_communication_entries()) entries.push_back(std::move(entry));
    for (KernelEntry& entry : entries)
      for (Candidate& candidate : entry.candidates)
        candidate.prepare = [cpu = candidate.prepare](const KernelRequest& request) {
          return std::make_unique<QueuedKernel>(cpu(request));
        };
    std::vector<KernelTable> all;
    all.push_back(all_kernels().front());
    all.emplace_back(DeviceKind::gpu, all_ops(), std::move(entries), &accelerator, gpu_fusions());
    return all;
  }();
  return tables;
}

std::vector<Device> gpu_devices(int count) {
  std::vector<Device> devices;
  for (int i = 0; i < count; ++i) devices.push_back({DeviceKind::gpu, i});
  return devices;
}

}  // namespace lockstep::testing
