// SPDX-License-Identifier: Apache-2.0
// If several tuples name one slice, one thread sums there in the order of the tuples.
#include "operators/gather/gather.h"
#include "operators/gather/indices_cuda.h"
#include "operators/kit/dispatch.h"

namespace lockstep {
namespace {

// Tuples of coordinates in the first dimensions of x after the batch dimensions. Each tuple selects
// a slice.
struct Tuples {
  static constexpr int kMostDims = 8;
  int64_t batch = 0, depth, count, slice = 1, per_batch = 1;
  int64_t size[kMostDims] = {};

  Tuples(const Dims& x, const Dims& indices, int64_t batch) : batch(batch), depth(indices.back()) {
    check(batch + depth <= static_cast<int64_t>(x.size()), "indices of ", depth,
          " coordinates for data of ", x.size(), " dimensions");
    count = element_count(Dims(indices.begin(), indices.end() - 1));
    int64_t batches = 1;
    for (int64_t d = 0; d < static_cast<int64_t>(x.size()); ++d) {
      const int64_t here = x[d];
      if (d < batch)
        batches *= here;
      else if (d < batch + depth)
        size[d - batch] = here;
      else
        slice *= here;
    }
    per_batch = count / std::max<int64_t>(1, batches);
  }

  // The first element of the slice of tuple i; -1 if a coordinate is out of range.
  __device__ int64_t at(const GatherIndices& indices, int64_t i) const {
    int64_t offset = batch > 0 ? i / per_batch : 0;
    for (int64_t k = 0; k < depth; ++k) {
      const int64_t place = indices.place(i * depth + k, size[k]);
      if (place < 0) return -1;
      offset = offset * size[k] + place;
    }
    return offset * slice;
  }
};

// Limits the coordinates per tuple of this operand.
Refusal up_to_coordinates(std::size_t operand) {
  return [operand](const KernelRequest& request) {
    const int64_t depth = request.in[operand].dims.back();
    return depth <= Tuples::kMostDims
               ? ""
               : join("takes at most ", Tuples::kMostDims, " coordinates, not ", depth);
  };
}

template <class T>
struct TakeTuples {
  Tuples tuples;
  GatherIndices indices;
  const T* from;
  T* to;
  __device__ void operator()(int64_t element) const {
    const int64_t at = tuples.at(indices, element / tuples.slice);
    if (at >= 0) to[element] = from[at + element % tuples.slice];
  }
};

std::unique_ptr<Kernel> prepare_gather_nd(const KernelRequest& request) {
  auto attributes = request.attributes();
  const Tuples tuples(request.in[0].dims, request.in[1].dims, attributes.integer("batch_dims", 0));
  return of_size(request.in[0].dtype, [&]<class T>() {
    return make_kernel(
        [tuples](const KernelArgs& args) {
          for_elements(args, tuples.count * tuples.slice,
                       TakeTuples<T>{tuples, GatherIndices(args, 1), args.in[0].as<const T>(),
                                     args.out[0].as<T>()});
        },
        "", 0, outside_dimension);
  });
}

// Each thread processes one element of every slice, since any two tuples may select one slice.
template <class T>
struct PutTuples {
  Tuples tuples;
  ScatterMeeting meeting;
  GatherIndices indices;
  const T* updates;
  T* to;
  __device__ void operator()(int64_t k) const {
    for (int64_t i = 0; i < tuples.count; ++i) {
      const int64_t at = tuples.at(indices, i);
      if (at >= 0) meet(meeting, to[at + k], updates[i * tuples.slice + k]);
    }
  }
};

std::unique_ptr<Kernel> prepare_gather_nd_grad(const KernelRequest& request) {
  auto attributes = request.attributes();
  const Tuples tuples(request.out[0].dims, request.in[2].dims, attributes.integer("batch_dims", 0));
  return dispatch<Floats>(request.in[0].dtype, [&]<class T>() {
    return make_kernel(
        [tuples, bytes = request.out[0].bytes()](const KernelArgs& args) {
          check_cuda(cudaMemsetAsync(args.out[0].data, 0, bytes, stream_of(args)), "zeros");
          for_elements(args, tuples.slice,
                       PutTuples<T>{tuples, ScatterMeeting::adds, GatherIndices(args, 2),
                                    args.in[0].as<const T>(), args.out[0].as<T>()});
        },
        "", 0, outside_dimension);
  });
}

std::unique_ptr<Kernel> prepare_scatter_nd(const KernelRequest& request) {
  const ScatterMeeting meeting = meeting_of(request);
  const Tuples tuples(request.in[0].dims, request.in[1].dims, 0);
  return dispatch<Numbers>(request.in[0].dtype, [&]<class T>() {
    return make_kernel(
        [=, bytes = request.out[0].bytes()](const KernelArgs& args) {
          args.queue->copy(args.out[0].data, args.in[0].data, bytes);
          for_elements(args, tuples.slice,
                       PutTuples<T>{tuples, meeting, GatherIndices(args, 1),
                                    args.in[2].as<const T>(), args.out[0].as<T>()});
        },
        "", 0, outside_dimension);
  });
}

}  // namespace

std::vector<KernelEntry> gather_nd_cuda() {
  const Refusal tuples = up_to_coordinates(1);
  const Refusal tuples_back = every({takes<Floats>(), up_to_coordinates(2)});
  const Refusal scatters =
      every({takes<Numbers>(), reduces_by({"none", "add", "mul", "max", "min"}), tuples});
  return {{"GatherND", "", {{"GPU", tuples, prepare_gather_nd}}},
          {"ScatterND", "", {{"GPU", scatters, prepare_scatter_nd}}},
          {"GatherNDGrad", kOwnDomain, {{"GPU", tuples_back, prepare_gather_nd_grad}}}};
}

}  // namespace lockstep
