// Convolutions by cuDNN's graph API: of float32, float16 or bfloat16, accumulated in float32.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <memory>
#include <string>

#include "graph/shape.h"

namespace lockstep {

enum class ConvolutionKind { forward, by_data, by_weight };

// x [N, C, spatial..], w [M, C / group, kernel..], y [N, M, spatial..], all row-major or all with
// their second dimension innermost; one entry for each spatial dimension.
struct Convolution {
  ConvolutionKind kind = ConvolutionKind::forward;
  DType type = DType::float32;
  bool channels_last = false;
  Dims x, w, y;
  Dims strides, dilations, pads_before, pads_after;
  bool tf32 = false;  // KernelRequest::tf32
  // A forward convolution's work on its result, in this order.
  bool bias = false;        // adds a number for each channel
  bool relu = false;        // replaces negative results by 0
  bool statistics = false;  // sums each channel, and its squares, in float32

  bool only_convolves() const { return !bias && !relu && !statistics; }
};

struct ConvolutionData {
  void *x = nullptr, *w = nullptr, *y = nullptr;
  void* bias = nullptr;
  void *sums = nullptr, *squares = nullptr;
};

// The work on a convolution's result, for engines that only convolve.
struct Epilogue {
  std::function<void(cudaStream_t, const ConvolutionData&, void* workspace)> run;
  std::size_t workspace_bytes = 0;
};

// One of the three tensors is computed from the two others.
class CudnnConvolution {
 public:
  // With a GPU, the engine is chosen now, on the current device: the best one of cuDNN's heuristics
  // that rounds no operand (but see tf32), accumulates in full float32 and is deterministic; the
  // fastest one if engines are timed (operators/conv/engine_choices.h). Engines with a fused
  // epilogue compete with those that leave it to `epilogue`; the heuristics prefer the former.
  // Throws Unsupported if there is no such engine. Without a GPU nothing is chosen, and nothing can
  // run.
  CudnnConvolution(const Convolution& convolution, bool has_device, Epilogue epilogue = {});
  ~CudnnConvolution();

  std::size_t workspace_bytes() const;
  std::string describe() const;
  void run(cudaStream_t stream, const ConvolutionData& data, void* workspace);

 private:
  struct Chosen;
  Convolution convolution_;
  Epilogue epilogue_;
  std::unique_ptr<Chosen> chosen_;
};

// Throws cuDNN's objection to it, if any; needs the library, but no GPU.
void describe_to_cudnn(const Convolution& convolution);

bool cudnn_is_there();

}  // namespace lockstep
