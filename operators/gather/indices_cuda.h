// SPDX-License-Identifier: Apache-2.0
// Indices on a GPU, and elements that meet where several indices name one target. For the kernels
// of operators/gather.
#pragma once

#include <string>

#include "operators/kit/elements_cuda.h"
#include "operators/kit/wrapping_arithmetic.h"
#include "runtime/accelerator.h"

namespace lockstep {

// Indices into a dimension; a negative index counts from the end.
struct GatherIndices {
  const void* data;
  bool wide;  // int64, else int32
  Fault* fault;

  GatherIndices(const KernelArgs& args, std::size_t operand)
      : data(args.in[operand].data),
        wide(args.in[operand].desc.dtype == DType::int64),
        fault(args.fault) {}
  // The i-th index, or -1 with a fault if it is out of range.
  __device__ int64_t place(int64_t i, int64_t size) const {
    const int64_t index =
        wide ? static_cast<const int64_t*>(data)[i] : static_cast<const int32_t*>(data)[i];
    const int64_t place = index < 0 ? index + size : index;
    if (place >= 0 && place < size) return place;
    raise(fault, index);
    return -1;
  }
};

inline ExplainFault outside_of(int64_t size) {
  return [size](const Fault& fault) {
    return join("index ", fault.value, " is outside 0..", size - 1);
  };
}
// The text for a fault in one of several dimensions.
inline std::string outside_dimension(const Fault& fault) {
  return join("index ", fault.value, " is outside its dimension");
}

enum class ScatterMeeting { replaces, adds, multiplies, larger, smaller };

inline ScatterMeeting meeting_of(const KernelRequest& request) {
  auto attributes = request.attributes();
  const std::string reduction = attributes.text("reduction", "none");
  return reduction == "add"   ? ScatterMeeting::adds
         : reduction == "mul" ? ScatterMeeting::multiplies
         : reduction == "max" ? ScatterMeeting::larger
         : reduction == "min" ? ScatterMeeting::smaller
                              : ScatterMeeting::replaces;
}

template <class T>
__device__ void meet(ScatterMeeting meeting, T& there, T update) {
  there = meeting == ScatterMeeting::adds         ? plus(there, update)
          : meeting == ScatterMeeting::multiplies ? times(there, update)
          : meeting == ScatterMeeting::larger     ? (there < update ? update : there)
          : meeting == ScatterMeeting::smaller    ? (update < there ? update : there)
                                                  : update;
}

}  // namespace lockstep
