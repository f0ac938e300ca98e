// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/accelerator.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <exception>
#include <mutex>
#include <set>
#include <utility>

#include "runtime/accelerator.h"
#include "runtime/cuda/check.h"
#include "runtime/memory.h"

namespace lockstep {
namespace {

std::atomic<int64_t> allocations{0};

void use(Device device) { check_cuda(cudaSetDevice(device.index), "choosing a device"); }

class CudaEvent final : public Event {
 public:
  CudaEvent(Device device, unsigned flags) {
    use(device);
    check_cuda(cudaEventCreateWithFlags(&event_, flags), "an event");
  }
  ~CudaEvent() override { cudaEventDestroy(event_); }
  cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

// A host function in a stream. No exception may escape into CUDA's thread.
struct HostCall {
  std::function<void()> work;
  class CudaQueue* queue = nullptr;
  bool once = true;
};

// Host calls that this thread records; a graph runs them many times.
thread_local std::deque<HostCall>* recorded_calls = nullptr;

class CudaQueue final : public Queue {
 public:
  explicit CudaQueue(Device device) : device_(device) {
    use(device);
    check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "a stream");
  }
  ~CudaQueue() override {
    cudaStreamSynchronize(stream_);
    cudaStreamDestroy(stream_);
  }

  void copy(void* to, const void* from, std::size_t bytes) override {
    if (bytes > 0)
      check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_), "a copy");
  }

  void call(std::function<void()> work) override {
    HostCall* call = nullptr;
    if (recorded_calls)
      call = &recorded_calls->emplace_back(HostCall{std::move(work), this, false});
    else
      call = new HostCall{std::move(work), this, true};
    const cudaError_t status = cudaLaunchHostFunc(stream_, &CudaQueue::serve, call);
    if (status != cudaSuccess && call->once) delete call;
    check_cuda(status, "a call of the host");
  }

  void record(Event& event) override {
    check_cuda(cudaEventRecord(dynamic_cast<CudaEvent&>(event).get(), stream_), "an event");
  }
  void wait(Event& event) override {
    check_cuda(cudaStreamWaitEvent(stream_, dynamic_cast<CudaEvent&>(event).get(), 0), "a wait");
  }
  void finish() override {
    check_cuda(cudaStreamSynchronize(stream_), "a step");
    std::lock_guard lock(mutex_);
    if (auto failure = std::exchange(failure_, nullptr)) std::rethrow_exception(failure);
  }
  bool idle() override {
    const cudaError_t status = cudaStreamQuery(stream_);
    if (status != cudaErrorNotReady) check_cuda(status, "a step");
    return status == cudaSuccess;
  }
  void* native() override {
    use(device_);
    return stream_;
  }
  cudaStream_t stream() const { return stream_; }

 private:
  static void serve(void* data) {
    auto* call = static_cast<HostCall*>(data);
    try {
      call->work();
    } catch (...) {
      std::lock_guard lock(call->queue->mutex_);
      if (!call->queue->failure_) call->queue->failure_ = std::current_exception();
    }
    if (call->once) delete call;
  }

  Device device_;
  cudaStream_t stream_ = nullptr;
  std::mutex mutex_;
  std::exception_ptr failure_;
};

class CudaRecording final : public Recording {
 public:
  CudaRecording(CudaQueue& root, const std::function<void()>& work) : root_(root) {
    check_cuda(cudaStreamBeginCapture(root.stream(), cudaStreamCaptureModeThreadLocal),
               "a recording");
    recorded_calls = &calls_;
    std::exception_ptr failure;
    try {
      work();
    } catch (...) {
      failure = std::current_exception();
    }
    recorded_calls = nullptr;
    cudaGraph_t graph = nullptr;
    const cudaError_t ended = cudaStreamEndCapture(root.stream(), &graph);
    if (failure) {
      if (graph) cudaGraphDestroy(graph);
      cudaGetLastError();  // clears the error: `failure` has the reason
      std::rethrow_exception(failure);
    }
    check_cuda(ended, "a recording");
    const cudaError_t made = cudaGraphInstantiate(&graph_, graph, 0);
    cudaGraphDestroy(graph);
    check_cuda(made, "a recording");
  }
  ~CudaRecording() override {
    if (!graph_) return;
    cudaGraphExecDestroy(graph_);
    cudaStreamSynchronize(root_.stream());  // a running replay still makes the calls
  }
  void replay() override {
    root_.native();
    check_cuda(cudaGraphLaunch(graph_, root_.stream()), "a recorded step");
  }

 private:
  CudaQueue& root_;
  std::deque<HostCall> calls_;  // a deque, since addresses must stay valid
  cudaGraphExec_t graph_ = nullptr;
};

class CudaAccelerator final : public Accelerator {
 public:
  CudaAccelerator() {
    if (cudaGetDeviceCount(&devices_) != cudaSuccess) devices_ = 0;
    cudaGetLastError();  // clears the error: a missing driver must not fail a later call
  }

  int devices() const override { return devices_; }

  Memory allocate(Device device, std::size_t bytes, std::byte fill) override {
    use(device);
    ++allocations;
    void* data = nullptr;
    const std::size_t size = std::max<std::size_t>(bytes, 1);
    if (const cudaError_t status = cudaMalloc(&data, size); status != cudaSuccess) {
      cudaGetLastError();
      std::size_t free = 0, total = 0;
      cudaMemGetInfo(&free, &total);
      fail(text_of(device), ": cannot allocate ", bytes, " bytes, ", free, " of ", total,
           " are free: ", cudaGetErrorString(status));
    }
    Memory memory(static_cast<std::byte*>(data), {[](void* at) { cudaFree(at); }});
    check_cuda(cudaMemset(data, static_cast<int>(fill), size), "filling memory");
    check_cuda(cudaDeviceSynchronize(), "filling memory");  // our streams do not wait for the
                                                            // default stream
    return memory;
  }

  Memory allocate_host(std::size_t bytes) override {
    ++allocations;
    void* data = nullptr;
    check_cuda(cudaHostAlloc(&data, std::max<std::size_t>(bytes, 1), cudaHostAllocPortable),
               "memory of the host");
    return {static_cast<std::byte*>(data), {[](void* at) { cudaFreeHost(at); }}};
  }

  void copy(void* to, const void* from, std::size_t bytes) override {
    if (bytes == 0) return;
    check_cuda(cudaMemcpy(to, from, bytes, cudaMemcpyDefault), "a copy");
    // cudaMemcpy from pageable memory returns before the copy has landed, and our streams do not
    // wait for the default stream.
    check_cuda(cudaStreamSynchronize(cudaStreamLegacy), "a copy");
  }

  std::unique_ptr<Queue> queue(Device device) override {
    join_peers(device.index);
    return std::make_unique<CudaQueue>(device);
  }
  std::unique_ptr<Event> event(Device device) override {
    return std::make_unique<CudaEvent>(device, cudaEventDisableTiming);
  }
  std::unique_ptr<Event> timed_event(Device device) override {
    return std::make_unique<CudaEvent>(device, cudaEventDefault);
  }
  double seconds_between(Event& from, Event& to) override {
    float milliseconds = 0;
    check_cuda(cudaEventElapsedTime(&milliseconds, dynamic_cast<CudaEvent&>(from).get(),
                                    dynamic_cast<CudaEvent&>(to).get()),
               "timing");
    return static_cast<double>(milliseconds) / 1e3;
  }
  std::unique_ptr<Recording> record(Queue& root, const std::function<void()>& work) override {
    return std::make_unique<CudaRecording>(dynamic_cast<CudaQueue&>(root), work);
  }

 private:
  // Collectives in one process access the memory of other GPUs.
  void join_peers(int device) {
    std::lock_guard lock(mutex_);
    if (!used_.insert(device).second) return;
    for (int other : used_) {
      let_reach(device, other);
      let_reach(other, device);
    }
  }

  static void let_reach(int from, int to) {
    int possible = 0;
    if (from == to || cudaDeviceCanAccessPeer(&possible, from, to) != cudaSuccess || !possible)
      return;
    use({DeviceKind::gpu, from});
    cudaDeviceEnablePeerAccess(to, 0);
    cudaGetLastError();
  }

  int devices_ = 0;
  std::mutex mutex_;
  std::set<int> used_;
};

}  // namespace

Accelerator& cuda_accelerator() {
  static CudaAccelerator accelerator;
  return accelerator;
}

void require_reach(Device from, Device to) {
  const int here = cuda_accelerator().devices();
  int possible = 1;
  if (from == to || from.index >= here || to.index >= here) return;
  check_cuda(cudaDeviceCanAccessPeer(&possible, from.index, to.index), "a query for peer access");
  check(possible, from, " cannot access the memory of ", to,
        "; sum over them with --all-reduce nccl");
}

int64_t cuda_allocations() { return allocations; }

}  // namespace lockstep
