// SPDX-License-Identifier: Apache-2.0
// Convolutions by cuDNN's graph API: of float32, float16 or bfloat16, accumulated in float32.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <memory>
#include <string>

#include "lockstep/types.h"
#include "operators/conv/gpu_properties.h"
#include "operators/conv/pass.h"

namespace lockstep {

// x [N, C, spatial..], w [M, C / group, kernel..], y [N, M, spatial..]. All are row-major, or all
// are channels-last. The vectors have one entry for each spatial dimension.
struct Convolution {
  ConvPass pass = ConvPass::forward;
  DType type = DType::float32;
  bool channels_last = false;
  Dims x, w, y;
  Dims strides, dilations, pads_before, pads_after;
  bool tf32 = false;  // KernelRequest::tf32
  bool adds = false;  // grad_x: adds to the existing values of x
  // The work of a forward convolution on its result, in this order.
  bool bias = false;        // adds a number for each channel
  bool addition = false;    // adds z, which has y's shape and layout
  bool relu = false;        // replaces negative results by 0
  bool statistics = false;  // sums each channel and its squares, in float32

  bool only_convolves() const { return !bias && !addition && !relu && !statistics; }
};

struct ConvolutionData {
  void *x = nullptr, *w = nullptr, *y = nullptr;
  void *bias = nullptr, *z = nullptr;
  void *sums = nullptr, *squares = nullptr;
};

// The work on a convolution's result, for engines that only compute the convolution.
struct Epilogue {
  std::function<void(cudaStream_t, const ConvolutionData&, void* workspace)> run;
  std::size_t workspace_bytes = 0;
};

// The key of an engine choice for a GPU: equal texts mean equal engines.
std::string problem_text(const Convolution& convolution, const std::string& gpu);

class EngineChoices;

// The GPU to choose an engine for: the current device, or a planned GPU that may be absent. With
// neither, no engine is chosen.
struct ConvolutionGpu {
  bool is_here = false;
  std::shared_ptr<const GpuProperties> planned = nullptr;
};

// Computes one of the three tensors from the other two.
class CudnnConvolution {
 public:
  // Chooses the engine: the first of CudnnEngines::all() (operators/conv/cudnn_engines.h) for which
  // cuDNN makes a plan, or the fastest if engines are timed (operators/conv/engine_choices.h).
  // Equal convolutions for one GPU share an engine. Engines without the epilogue are considered
  // only if `epilogue` is given. Throws Unsupported if there is no engine.
  CudnnConvolution(const Convolution& convolution, const ConvolutionGpu& gpu,
                   Epilogue epilogue = {});
  // Uses `choices` instead of the process's choices; null: engines are not timed.
  CudnnConvolution(const Convolution& convolution, const ConvolutionGpu& gpu, Epilogue epilogue,
                   EngineChoices* choices);
  ~CudnnConvolution();

  std::size_t workspace_bytes() const;
  std::string describe() const;
  // Runs on the current device. Throws if the engine was chosen for an absent GPU or not chosen at
  // all.
  void run(cudaStream_t stream, const ConvolutionData& data, void* workspace);

 private:
  Convolution convolution_;
  Epilogue epilogue_;
  bool is_here_;
  std::shared_ptr<const struct ChosenEngine> chosen_;
};

// Throws cuDNN's error if it rejects the convolution. Needs the library, but no GPU.
void describe_to_cudnn(const Convolution& convolution);

bool cudnn_is_there();

// The current device's GpuProperties::json; needs cuDNN.
std::string json_of_current_gpu();

}  // namespace lockstep
