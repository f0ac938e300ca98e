// SPDX-License-Identifier: Apache-2.0
#include "operators/conv/cudnn_timing.h"

#include <algorithm>
#include <cstring>

#include "lockstep/random.h"
#include "lockstep/types.h"
#include "operators/conv/cudnn_graph.h"
#include "runtime/cuda/check.h"
#include "runtime/cuda/stopwatch.h"
#include "runtime/state/session_members.h"

namespace lockstep {
namespace {

// Random numbers in (-1, 1). A GPU multiplies zeros faster, because it stays cooler.
template <class T>
std::vector<std::byte> random_numbers() {
  constexpr std::size_t kCount = 1U << 16U;
  PhiloxSequence random(1, 0);
  std::vector<std::byte> bytes(kCount * sizeof(T));
  for (std::size_t i = 0; i < kCount; ++i) {
    const T number(static_cast<float>(random.uniform(-1, 1)));
    std::memcpy(bytes.data() + i * sizeof(T), &number, sizeof(T));
  }
  return bytes;
}

std::vector<std::byte> random_numbers(DType type) {
  return with_floating(type, []<class T>() { return random_numbers<T>(); });
}

// Buffers for a convolution's operands and results.
struct OwnMemory {
  std::vector<std::byte> numbers;
  DeviceBuffer x, w, y, bias, z, sums, squares;

  explicit OwnMemory(const Convolution& c)
      : numbers(random_numbers(c.type)),
        x(bytes(c, c.x), numbers),
        w(bytes(c, c.w), numbers),
        y(bytes(c, c.y), numbers),
        bias(of_channels(c), numbers),
        z(c.addition ? bytes(c, c.y) : 0, numbers),
        sums(of_channels(c)),
        squares(of_channels(c)) {}

  ConvolutionData data() const {
    return {x.data(), w.data(), y.data(), bias.data(), z.data(), sums.data(), squares.data()};
  }

  static std::size_t bytes(const Convolution& c, const Dims& dims) {
    return element_count(dims) * size_of(c.type);
  }
  static std::size_t of_channels(const Convolution& c) { return c.y[1] * sizeof(float); }
};

// Empty if cuDNN accepts the engine but cannot run it, or if there is not enough memory for its
// workspace.
std::optional<double> seconds_of(const CudnnPlan& plan, const ConvolutionData& data,
                                 const Epilogue& epilogue) {
  return seconds_if_it_runs(std::max(plan.workspace, epilogue.workspace_bytes),
                            [&](cudaStream_t stream, void* workspace) {
                              run_plan(plan, stream, data, workspace);
                              if (plan.engine->leaves_epilogue)
                                epilogue.run(stream, data, workspace);
                            });
}

}  // namespace

void run_plan(const CudnnPlan& plan, cudaStream_t stream, const ConvolutionData& data,
              void* workspace) {
  const cudnnHandle_t handle = handle_of_current_device();
  check_cudnn(cudnn().set_stream(handle, stream), "a stream");
  const Descriptor pack = pointers_to(plan.engine->does, data, workspace);
  check_cudnn(cudnn().execute(handle, plan.plan.get(), pack.get()), "a convolution");
}

FastestEngine fastest_of(CudnnEngines& engines, const Convolution& c, const Epilogue& epilogue,
                         int most) {
  const OwnMemory memory(c);
  FastestEngine found;
  double best = 0;
  int timed[2] = {};  // engines that include the epilogue, and engines that leave it
  for (const CudnnEnginePtr& engine : engines.all()) {
    int& alike = timed[engine->leaves_epilogue];
    if (alike == most) continue;
    std::optional<CudnnPlan> plan = engines.plan_of(engine);
    if (!plan) continue;
    ++alike;
    const std::optional<double> seconds = seconds_of(*plan, memory.data(), epilogue);
    if (!seconds) continue;
    if (++found.timed > 1 && *seconds >= best) continue;
    best = *seconds;
    found.plan = std::move(*plan);
  }
  check(found.timed > 0, "none of cuDNN's ", timed[0] + timed[1], " engines runs");
  return found;
}

}  // namespace lockstep
