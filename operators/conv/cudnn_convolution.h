// Convolutions by cuDNN's graph API: of float32, float16 or bfloat16, added up as float32.
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
  // What a forward convolution does with its result at once, in this order.
  bool bias = false;        // a number for each channel is added
  bool relu = false;        // what is negative is 0
  bool statistics = false;  // of each channel the sum, and the sum of squares, as float32

  bool only_convolves() const { return !bias && !relu && !statistics; }
};

struct ConvolutionData {
  void *x = nullptr, *w = nullptr, *y = nullptr;
  void* bias = nullptr;
  void *sums = nullptr, *squares = nullptr;
};

// What a convolution does with its result, for engines that only convolve.
struct Epilogue {
  std::function<void(cudaStream_t, const ConvolutionData&, void* workspace)> run;
  std::size_t workspace_bytes = 0;
};

// One of the three tensors is computed from the two others.
class CudnnConvolution {
 public:
  // On a machine with a GPU the engine is chosen now, on the current device: the best that cuDNN's
  // heuristics know among those that round no operand (but see tf32), add up in full float32 and
  // give the same bits every time; where engines are timed (operators/conv/engine_choices.h), the
  // fastest. Engines that do all of the convolution and those that leave the rest to the epilogue
  // compete; heuristics prefer the first. Throws Unsupported where there is none. Without a GPU
  // nothing is chosen, and nothing can run.
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

// Throws what cuDNN has against it; needs the library, and no GPU.
void describe_to_cudnn(const Convolution& convolution);

bool cudnn_is_there();

}  // namespace lockstep
