// SPDX-License-Identifier: Apache-2.0
// Engines that cuDNN's heuristics propose for a convolution, and their execution plans.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "operators/conv/cudnn_api.h"
#include "operators/conv/cudnn_convolution.h"
#include "operators/conv/gpu_properties.h"

namespace lockstep {

// The GPU that engines are asked for: the current device, or one that need not be here.
class CudnnGpu {
 public:
  CudnnGpu();
  explicit CudnnGpu(const GpuProperties& planned);

  const std::string& name() const { return name_; }
  bool is_here() const { return handle_ != nullptr; }
  std::string json() const;  // its properties, as the second constructor takes them
  // For each kind of descriptor its own way of naming the GPU.
  void set_graph(Descriptor& graph) const;
  void set_heuristics(Descriptor& heuristics) const;
  void set_plan(Descriptor& plan) const;

 private:
  std::string name_;
  cudnnHandle_t handle_ = nullptr;
  std::optional<Descriptor> properties_;
};

// An engine with its knobs, as proposed.
struct CudnnEngine {
  std::shared_ptr<const struct CudnnQuestion> question;  // must outlive the configuration
  Descriptor configuration;
  Convolution does;  // with the epilogue, or the convolution alone
  std::string name;  // number and knobs, "62:2=4,13=0"; "alone/62:.." if it leaves an epilogue
  int64_t number = 0;
  bool tensor_cores = false;
  bool fallback = false;  // proposed for what no other engine can do
  bool compiles = false;  // its kernels at run time, which takes a second
  bool leaves_epilogue = false;
};

using CudnnEnginePtr = std::shared_ptr<const CudnnEngine>;

struct CudnnPlan {
  CudnnEnginePtr engine;  // must outlive the plan
  Descriptor plan{CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR};
  std::size_t workspace = 0;
};

// ResNet-50's largest is 0.2 GiB for 256 images; an engine that pads channels can want more than a
// GPU has.
constexpr std::size_t kMostWorkspace = std::size_t{4} << 30U;

class CudnnEngines {
 public:
  // Asks for the whole convolution and, if `alone`, for engines that leave its epilogue.
  CudnnEngines(const Convolution& convolution, const CudnnGpu& gpu, bool alone);

  // Those that round no further than the operands are, are deterministic and keep NaNs. Best first:
  // on tensor cores, if the convolution asks for them; then not as a fallback; then without an
  // epilogue that is compiled at run time, which may be slower than ours; then leaving nothing;
  // then in the heuristics' order.
  const std::vector<CudnnEnginePtr>& all() const { return all_; }
  // Null if there is none of that name.
  CudnnEnginePtr named(const std::string& name) const;
  // Made for engines that are timed or taken only, since that may compile kernels. Empty if cuDNN
  // makes none, or if its workspace is larger than kMostWorkspace; refusals() then counts the
  // reason. For a GPU that is not here compiled kernels cannot be loaded: cuDNN is not asked for
  // such a plan, whose workspace is unknown.
  std::optional<CudnnPlan> plan_of(const CudnnEnginePtr& engine);
  // Engines that were proposed and not taken: "3 not deterministic, 1 ..", or "".
  std::string refusals() const;

 private:
  void ask(const Convolution& convolution, bool leaves_epilogue);
  void add(CudnnEngine engine);
  void refuse(const std::string& reason);

  const CudnnGpu& gpu_;
  bool exact_;
  std::vector<CudnnEnginePtr> all_;
  std::vector<std::pair<std::string, int>> refused_;  // reason, number of engines
};

}  // namespace lockstep
