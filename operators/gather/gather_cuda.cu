// SPDX-License-Identifier: Apache-2.0
// If several indices name one target, one thread sums there in index order. Every run, and the CPU,
// compute the same bits.
#include "operators/gather/gather.h"
#include "operators/gather/select.h"
#include "operators/kit/axis_loop.h"
#include "operators/kit/dispatch.h"
#include "operators/kit/elements_cuda.h"
#include "operators/kit/wrapping_arithmetic.h"
#include "runtime/accelerator.h"

namespace lockstep {
namespace {

int64_t axis_of(const KernelRequest& request) {
  auto attributes = request.attributes();
  return attributes.integer("axis", 0);
}

// Indices into a dimension; a negative index counts from the end.
struct Indices {
  const void* data;
  bool wide;  // int64, else int32
  Fault* fault;

  Indices(const KernelArgs& args, std::size_t operand)
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

ExplainFault outside_of(int64_t size) {
  return [size](const Fault& fault) {
    return join("index ", fault.value, " is outside 0..", size - 1);
  };
}
// The text for a fault in one of several dimensions.
std::string outside(const Fault& fault) {
  return join("index ", fault.value, " is outside its dimension");
}

template <class T>
struct TakeSlices {
  AroundAxis x;
  int64_t count;
  Indices indices;
  const T* from;
  T* to;
  __device__ void operator()(int64_t element) const {
    const int64_t slice = element / x.inner, place = indices.place(slice % count, x.size);
    if (place >= 0)
      to[element] = from[(slice / count * x.size + place) * x.inner + element % x.inner];
  }
};

std::unique_ptr<Kernel> prepare_gather(const KernelRequest& request) {
  const AroundAxis x(request.in[0].dims, axis_of(request));
  return of_size(request.in[0].dtype, [&]<class T>() {
    return make_kernel(
        [x, count = request.in[1].count(), total = request.out[0].count()](const KernelArgs& args) {
          for_elements(args, total,
                       TakeSlices<T>{x, count, Indices(args, 1), args.in[0].as<const T>(),
                                     args.out[0].as<T>()});
        },
        "", 0, outside_of(x.size));
  });
}

// Each thread processes one element of every slice.
template <class T>
struct AddSlices {
  AroundAxis x;
  int64_t count;
  Indices indices;
  const T* dy;
  T* dx;
  __device__ void operator()(int64_t column) const {
    const int64_t outer = column / x.inner, k = column % x.inner;
    for (int64_t i = 0; i < x.size; ++i) dx[(outer * x.size + i) * x.inner + k] = T(0);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t place = indices.place(i, x.size);
      if (place >= 0)
        dx[(outer * x.size + place) * x.inner + k] += dy[(outer * count + i) * x.inner + k];
    }
  }
};

std::unique_ptr<Kernel> prepare_gather_grad(const KernelRequest& request) {
  const AroundAxis x(request.out[0].dims, axis_of(request));
  return dispatch<Floats>(request.in[0].dtype, [&]<class T>() {
    return make_kernel(
        [x, count = request.in[2].count()](const KernelArgs& args) {
          for_elements(args, x.columns(),
                       AddSlices<T>{x, count, Indices(args, 2), args.in[0].as<const T>(),
                                    args.out[0].as<T>()});
        },
        "", 0, outside_of(x.size));
  });
}

// Indices with the result's layout, each into its own column of x. The indices may have fewer
// columns than x.
struct ElementPlaces {
  static constexpr int kMostDims = 8;
  int dims, axis;
  int64_t size;  // of x along the axis
  int64_t x[kMostDims], of[kMostDims];

  ElementPlaces(const Dims& x_dims, const Dims& indices, int64_t axis_given)
      : dims(static_cast<int>(x_dims.size())),
        axis(static_cast<int>(normal_axes({axis_given}, x_dims.size())[0])) {
    for (int d = 0; d < dims; ++d) {
      x[d] = x_dims[d];
      of[d] = indices[d];
    }
    size = x[axis];
  }
  // The element of x at position `place` along the axis, in the column of index i.
  __device__ int64_t at(int64_t i, int64_t place) const {
    int64_t at = 0, stride = 1;
    for (int d = dims - 1; d >= 0; --d) {
      at += (d == axis ? place : i % of[d]) * stride;
      i /= of[d];
      stride *= x[d];
    }
    return at;
  }
};

template <class T>
struct TakeElements {
  ElementPlaces places;
  Indices indices;
  const T* from;
  T* to;
  __device__ void operator()(int64_t i) const {
    const int64_t place = indices.place(i, places.size);
    if (place >= 0) to[i] = from[places.at(i, place)];
  }
};

std::unique_ptr<Kernel> prepare_gather_elements(const KernelRequest& request) {
  const ElementPlaces places(request.in[0].dims, request.in[1].dims, axis_of(request));
  return of_size(request.in[0].dtype, [&]<class T>() {
    return make_kernel(
        [places, count = request.in[1].count()](const KernelArgs& args) {
          for_elements(args, count,
                       TakeElements<T>{places, Indices(args, 1), args.in[0].as<const T>(),
                                       args.out[0].as<T>()});
        },
        "", 0, outside_of(places.size));
  });
}

enum class Meeting { replaces, adds, multiplies, larger, smaller };

Meeting meeting_of(const KernelRequest& request) {
  auto attributes = request.attributes();
  const std::string reduction = attributes.text("reduction", "none");
  return reduction == "add"   ? Meeting::adds
         : reduction == "mul" ? Meeting::multiplies
         : reduction == "max" ? Meeting::larger
         : reduction == "min" ? Meeting::smaller
                              : Meeting::replaces;
}

template <class T>
__device__ void meet(Meeting meeting, T& there, T update) {
  there = meeting == Meeting::adds         ? plus(there, update)
          : meeting == Meeting::multiplies ? times(there, update)
          : meeting == Meeting::larger     ? (there < update ? update : there)
          : meeting == Meeting::smaller    ? (update < there ? update : there)
                                           : update;
}

// Scatters into x, column by column of the indices. Only elements of one column can collide.
template <class T>
struct PutElements {
  ElementPlaces places;
  AroundAxis around;  // the indices
  Meeting meeting;
  Indices indices;
  const T* updates;
  T* to;
  __device__ void operator()(int64_t column) const {
    const int64_t start =
        column / around.inner * around.size * around.inner + column % around.inner;
    for (int64_t n = 0; n < around.size; ++n) {
      const int64_t i = start + n * around.inner, place = indices.place(i, places.size);
      if (place >= 0) meet(meeting, to[places.at(i, place)], updates[i]);
    }
  }
};

template <class T>
std::unique_ptr<Kernel> put_elements(const KernelRequest& request, Meeting meeting,
                                     std::size_t updates, std::size_t indices, bool from_zero) {
  const int64_t axis = axis_of(request);
  const ElementPlaces places(request.out[0].dims, request.in[indices].dims, axis);
  const AroundAxis around(request.in[indices].dims, axis);
  return make_kernel(
      [=, bytes = request.out[0].bytes()](const KernelArgs& args) {
        if (from_zero)
          check_cuda(cudaMemsetAsync(args.out[0].data, 0, bytes, stream_of(args)), "zeros");
        else
          args.queue->copy(args.out[0].data, args.in[0].data, bytes);
        for_elements(args, around.columns(),
                     PutElements<T>{places, around, meeting, Indices(args, indices),
                                    args.in[updates].as<const T>(), args.out[0].as<T>()});
      },
      "", 0, outside_of(places.size));
}

std::unique_ptr<Kernel> prepare_gather_elements_grad(const KernelRequest& request) {
  return dispatch<Floats>(request.in[0].dtype, [&]<class T>() {
    return put_elements<T>(request, Meeting::adds, 0, 2, true);
  });
}

std::unique_ptr<Kernel> prepare_scatter_elements(const KernelRequest& request) {
  return dispatch<Numbers>(request.in[0].dtype, [&]<class T>() {
    return put_elements<T>(request, meeting_of(request), 2, 1, false);
  });
}

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
  __device__ int64_t at(const Indices& indices, int64_t i) const {
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
  Indices indices;
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
                       TakeTuples<T>{tuples, Indices(args, 1), args.in[0].as<const T>(),
                                     args.out[0].as<T>()});
        },
        "", 0, outside);
  });
}

// Each thread processes one element of every slice, since any two tuples may select one slice.
template <class T>
struct PutTuples {
  Tuples tuples;
  Meeting meeting;
  Indices indices;
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
                       PutTuples<T>{tuples, Meeting::adds, Indices(args, 2),
                                    args.in[0].as<const T>(), args.out[0].as<T>()});
        },
        "", 0, outside);
  });
}

std::unique_ptr<Kernel> prepare_scatter_nd(const KernelRequest& request) {
  const Meeting meeting = meeting_of(request);
  const Tuples tuples(request.in[0].dims, request.in[1].dims, 0);
  return dispatch<Numbers>(request.in[0].dtype, [&]<class T>() {
    return make_kernel(
        [=, bytes = request.out[0].bytes()](const KernelArgs& args) {
          args.queue->copy(args.out[0].data, args.in[0].data, bytes);
          for_elements(args, tuples.slice,
                       PutTuples<T>{tuples, meeting, Indices(args, 1), args.in[2].as<const T>(),
                                    args.out[0].as<T>()});
        },
        "", 0, outside);
  });
}

}  // namespace

std::vector<KernelEntry> gather_cuda() {
  const Refusal dims = up_to_dims(ElementPlaces::kMostDims), tuples = up_to_coordinates(1);
  const Refusal scatters =
      every({takes<Numbers>(), reduces_by({"none", "add", "mul", "max", "min"})});
  const Refusal elements_back = every({takes<Floats>(), dims});
  const Refusal tuples_back = every({takes<Floats>(), up_to_coordinates(2)});
  std::vector<KernelEntry> entries = select_cuda();
  entries.insert(
      entries.end(),
      {{"Gather", "", {{"GPU", anything, prepare_gather}}},
       {"GatherElements", "", {{"GPU", dims, prepare_gather_elements}}},
       {"ScatterElements", "", {{"GPU", every({scatters, dims}), prepare_scatter_elements}}},
       {"GatherND", "", {{"GPU", tuples, prepare_gather_nd}}},
       {"ScatterND", "", {{"GPU", every({scatters, tuples}), prepare_scatter_nd}}},
       {"GatherGrad", kOwnDomain, {{"GPU", takes<Floats>(), prepare_gather_grad}}},
       {"GatherElementsGrad", kOwnDomain, {{"GPU", elements_back, prepare_gather_elements_grad}}},
       {"GatherNDGrad", kOwnDomain, {{"GPU", tuples_back, prepare_gather_nd_grad}}}});
  return entries;
}

}  // namespace lockstep
