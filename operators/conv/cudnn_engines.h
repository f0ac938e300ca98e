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
#include "runtime/state/session_members.h"

namespace lockstep {

// The GPU that engines are chosen for: the current device, or a GPU that may be absent.
class CudnnGpu {
 public:
  CudnnGpu();
  explicit CudnnGpu(const GpuProperties& planned);

  const std::string& name() const { return name_; }
  bool is_here() const { return handle_ != nullptr; }
  std::string json() const;  // its properties, as the second constructor reads them
  // Each kind of descriptor has a different way to specify the GPU.
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
  bool fallback = false;  // proposed for convolutions that no other engine supports
  bool compiles = false;  // compiles its kernels at run time, which takes a second
  bool leaves_epilogue = false;
};

using CudnnEnginePtr = std::shared_ptr<const CudnnEngine>;

struct CudnnPlan {
  CudnnEnginePtr engine;  // must outlive the plan
  Descriptor plan{CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR};
  std::size_t workspace = 0;
};

// ResNet-50's largest workspace is 0.2 GiB for 256 images. An engine that pads channels can need
// more memory than a GPU has.
constexpr std::size_t kMostWorkspace = std::size_t{4} << 30U;

class CudnnEngines {
 public:
  // Queries engines for the whole convolution and, if `alone`, engines that leave its epilogue.
  CudnnEngines(const Convolution& convolution, const CudnnGpu& gpu, bool alone);

  // The engines that round no further than the operands are rounded, are deterministic and keep
  // NaNs. Best first: engines on tensor cores, if the convolution can use them; then engines that
  // are not a fallback; then engines without an epilogue compiled at run time, which may be slower
  // than Lockstep's; then engines that leave no epilogue; then the heuristics' order.
  const std::vector<CudnnEnginePtr>& all() const { return all_; }
  // Null if no engine has this name.
  CudnnEnginePtr named(const std::string& name) const;
  // Makes a plan. Called only for engines that are timed or used, since it may compile kernels.
  // Empty if cuDNN makes no plan, or if the workspace is larger than kMostWorkspace; refusals()
  // then counts the reason. Compiled kernels cannot be loaded for an absent GPU: no such plan is
  // requested, and its workspace is unknown.
  std::optional<CudnnPlan> plan_of(const CudnnEnginePtr& engine);
  // The engines that were proposed and refused: "3 not deterministic, 1 ..", or "".
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
