// SPDX-License-Identifier: Apache-2.0
// Emulates the parts of CUDA's runtime that Lockstep calls. Streams are threads of the host; a
// graph is a recording of the work put into streams. Everything that CUDA may delay happens as late
// as possible. A copy from pageable memory completes only when its stream is waited for, and the
// last error stays until it is fetched.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "lockstep/error.h"
#include "runtime/accelerator.h"
#include "tests/support/queued_cpu.h"

namespace lockstep::testing {
namespace {

constexpr std::size_t kMemory = std::size_t{80} << 30U;  // of each device
constexpr std::size_t kMostPitch = 0x7FFFFFFF;

thread_local cudaError_t last = cudaSuccess;
thread_local int current_device = 0;
thread_local std::string text_of_failure = "no error";

cudaError_t status(cudaError_t error) {
  if (error != cudaSuccess) last = error;
  return error;
}

Accelerator& devices() {
  static const auto accelerator = threads_as_devices(Reach::near);
  return *accelerator;
}
Queue& queue_of(cudaStream_t stream) { return *reinterpret_cast<Queue*>(stream); }

struct Mark {
  bool timed = false;
  std::unique_ptr<Event> event = devices().event({});
  std::atomic<double> seconds{0};
  Queue* in = nullptr;
};
Mark& mark_of(cudaEvent_t event) { return *reinterpret_cast<Mark*>(event); }

struct Graph {
  std::unique_ptr<Recording> recording;
};

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Returns failures as codes, since CUDA is a C interface.
cudaError_t finish(Queue& queue) {
  try {
    queue.finish();
    return cudaSuccess;
  } catch (const std::exception& error) {
    text_of_failure = error.what();
    return cudaErrorLaunchFailure;
  }
}

// CUDA's allocations, and pending copies from other memory to them.
class KnownMemory {
 public:
  void* take(std::size_t bytes) {
    std::lock_guard lock(mutex_);
    auto* memory = static_cast<std::byte*>(std::aligned_alloc(256, (bytes + 255) / 256 * 256));
    known_[memory] = bytes;
    return memory;
  }
  void drop(void* memory) {
    land();
    std::lock_guard lock(mutex_);
    known_.erase(static_cast<std::byte*>(memory));
    std::free(memory);
  }
  void copy(void* to, const void* from, std::size_t bytes) {
    land();
    std::lock_guard lock(mutex_);
    if (known(from) || !known(to)) {
      std::memcpy(to, from, bytes);
      return;
    }
    const auto* staged = static_cast<const std::byte*>(from);
    under_way_.push_back({to, {staged, staged + bytes}});
  }
  void land() {
    std::lock_guard lock(mutex_);
    for (const auto& [to, bytes] : under_way_) std::memcpy(to, bytes.data(), bytes.size());
    under_way_.clear();
  }

 private:
  bool known(const void* data) const {
    const auto* at = static_cast<const std::byte*>(data);
    auto after = known_.upper_bound(const_cast<std::byte*>(at));
    return after != known_.begin() && at < (--after)->first + after->second;
  }

  std::mutex mutex_;
  std::map<std::byte*, std::size_t> known_;
  std::vector<std::pair<void*, std::vector<std::byte>>> under_way_;
};

KnownMemory& known_memory() {
  static auto* known = new KnownMemory;  // outlives every static that frees memory
  return *known;
}

}  // namespace
}  // namespace lockstep::testing

using namespace lockstep::testing;  // NOLINT: the functions below stand in no namespace
using lockstep::Queue;

extern "C" {

cudaError_t cudaGetLastError() { return std::exchange(last, cudaSuccess); }
const char* cudaGetErrorString(cudaError_t error) {
  if (error == cudaErrorLaunchFailure) return text_of_failure.c_str();
  return error == cudaErrorMemoryAllocation ? "out of memory" : "an error";
}
const char* cudaGetErrorName(cudaError_t) { return "cudaError"; }

cudaError_t cudaGetDeviceCount(int* count) {
  *count = devices().devices();
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) { return cudaDriverGetVersion(version); }
cudaError_t cudaSetDevice(int device) {
  current_device = device;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  *device = current_device;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  *properties = {};
  std::strcpy(properties->name, "an emulated GPU");
  return cudaSuccess;
}
cudaError_t cudaDeviceCanAccessPeer(int* possible, int, int) {
  *possible = 1;
  return cudaSuccess;
}
cudaError_t cudaDeviceEnablePeerAccess(int, unsigned) { return cudaSuccess; }
cudaError_t cudaDeviceSynchronize() {
  known_memory().land();
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** data, std::size_t bytes) {
  if (bytes > kMemory) return status(cudaErrorMemoryAllocation);
  *data = known_memory().take(bytes);
  return cudaSuccess;
}
cudaError_t cudaHostAlloc(void** data, std::size_t bytes, unsigned) {
  *data = known_memory().take(bytes);
  return cudaSuccess;
}
cudaError_t cudaFree(void* data) {
  known_memory().drop(data);
  return cudaSuccess;
}
cudaError_t cudaFreeHost(void* data) { return cudaFree(data); }
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  *free = *total = kMemory;
  return cudaSuccess;
}
cudaError_t cudaMemset(void* data, int value, std::size_t count) {
  std::memset(data, value, count);
  return cudaSuccess;
}
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind) {
  known_memory().copy(to, from, bytes);
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = reinterpret_cast<cudaStream_t>(devices().queue({}).release());
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  delete &queue_of(stream);
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  if (stream == nullptr || stream == cudaStreamLegacy) return cudaDeviceSynchronize();
  return finish(queue_of(stream));
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return queue_of(stream).idle() ? cudaSuccess : cudaErrorNotReady;
}
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t work, void* data) {
  queue_of(stream).call([=] { work(data); });
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind,
                            cudaStream_t stream) {
  queue_of(stream).copy(to, from, bytes);
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* data, int value, std::size_t count, cudaStream_t stream) {
  queue_of(stream).call([=] { std::memset(data, value, count); });
  return cudaSuccess;
}
cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from,
                              std::size_t from_pitch, std::size_t width, std::size_t height,
                              cudaMemcpyKind, cudaStream_t stream) {
  if (width > to_pitch || width > from_pitch || std::max(to_pitch, from_pitch) > kMostPitch)
    return status(cudaErrorInvalidPitchValue);
  queue_of(stream).call([=] {
    for (std::size_t row = 0; row < height; ++row)
      std::memcpy(static_cast<std::byte*>(to) + row * to_pitch,
                  static_cast<const std::byte*>(from) + row * from_pitch, width);
  });
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  *event = reinterpret_cast<cudaEvent_t>(new Mark{(flags & cudaEventDisableTiming) == 0});
  return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, 0); }
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete &mark_of(event);
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  Mark& mark = mark_of(event);
  mark.in = &queue_of(stream);
  mark.in->record(*mark.event);
  if (mark.timed) mark.in->call([&mark] { mark.seconds = now(); });
  return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  queue_of(stream).wait(*mark_of(event).event);
  return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) { return finish(*mark_of(event).in); }
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  *milliseconds = static_cast<float>((mark_of(end).seconds - mark_of(begin).seconds) * 1e3);
  return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t, cudaStreamCaptureMode) {
  begin_recording();
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t* graph) {
  *graph = reinterpret_cast<cudaGraph_t>(new Graph{end_recording()});
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* made, cudaGraph_t graph, unsigned long long) {
  auto& from = *reinterpret_cast<Graph*>(graph);
  *made = reinterpret_cast<cudaGraphExec_t>(from.recording.release());
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete reinterpret_cast<Graph*>(graph);
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t) {
  reinterpret_cast<lockstep::Recording*>(graph)->replay();
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) {
  delete reinterpret_cast<lockstep::Recording*>(graph);
  return cudaSuccess;
}

}  // extern "C"
