// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/stopwatch.h"

#include <algorithm>
#include <array>

#include "runtime/cuda/check.h"

namespace lockstep {
namespace {

class Stream {
 public:
  Stream() { check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "a stream"); }
  ~Stream() { cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

class Mark {
 public:
  Mark() { check_cuda(cudaEventCreate(&event_), "an event"); }
  ~Mark() { cudaEventDestroy(event_); }
  Mark(const Mark&) = delete;
  void set(cudaStream_t stream) { check_cuda(cudaEventRecord(event_, stream), "an event"); }
  double seconds_since(const Mark& before) const {
    float milliseconds = 0;
    check_cuda(cudaEventSynchronize(event_), "timing");
    check_cuda(cudaEventElapsedTime(&milliseconds, before.event_, event_), "timing");
    return milliseconds / 1e3;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace

DeviceBuffer::DeviceBuffer(std::size_t bytes, std::span<const std::byte> pattern) {
  const std::size_t size = std::max<std::size_t>(bytes, 1);
  check_cuda(cudaMalloc(&data_, size), "memory to time an engine on");
  auto* const at = static_cast<std::byte*>(data_);
  std::size_t filled = std::min(pattern.size(), size);
  if (filled == 0) {
    check_cuda(cudaMemset(at, 0, size), "filling memory");
    filled = size;
  } else {
    check_cuda(cudaMemcpy(at, pattern.data(), filled, cudaMemcpyDefault), "filling memory");
  }
  while (filled < size) {  // copies whole patterns, so the rest repeats the pattern, too
    const std::size_t more = std::min(filled, size - filled);
    check_cuda(cudaMemcpy(at + filled, at, more, cudaMemcpyDefault), "filling memory");
    filled += more;
  }
  check_cuda(cudaDeviceSynchronize(), "filling memory");
}
DeviceBuffer::~DeviceBuffer() { cudaFree(data_); }

double seconds_on_device(const std::function<void(cudaStream_t)>& work) {
  constexpr double kEnough = 1e-3;  // seconds
  constexpr int kMostRuns = 50;
  const Stream stream;
  Mark begin, end;
  auto seconds_of = [&](int runs) {
    begin.set(stream.get());
    for (int run = 0; run < runs; ++run) work(stream.get());
    end.set(stream.get());
    return end.seconds_since(begin) / runs;
  };
  work(stream.get());
  const double one = std::max(seconds_of(1), kEnough / kMostRuns);
  const int runs = std::max(1, static_cast<int>(kEnough / one));
  std::array<double, 5> times;
  for (double& time : times) time = seconds_of(runs);
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

std::optional<double> seconds_if_it_runs(
    std::size_t workspace, const std::function<void(cudaStream_t, void* workspace)>& work) {
  try {
    const DeviceBuffer memory(workspace);
    return seconds_on_device([&](cudaStream_t stream) { work(stream, memory.data()); });
  } catch (const Error&) {
    cudaGetLastError();
    return std::nullopt;
  }
}

std::string name_of_current_device() {
  int device = 0;
  cudaDeviceProp properties{};
  check_cuda(cudaGetDevice(&device), "the current device");
  check_cuda(cudaGetDeviceProperties(&properties, device), "a device's name");
  return properties.name;
}

}  // namespace lockstep
