// SPDX-License-Identifier: Apache-2.0
// If several indices name one target, one thread sums there in index order. Every run, and the CPU,
// compute the same bits.
#include "operators/gather/gather.h"
#include "operators/gather/indices_cuda.h"
#include "operators/gather/select.h"
#include "operators/kit/axis_loop.h"
#include "operators/kit/dispatch.h"

namespace lockstep {
namespace {

int64_t axis_of(const KernelRequest& request) {
  auto attributes = request.attributes();
  return attributes.integer("axis", 0);
}

template <class T>
struct TakeSlices {
  AroundAxis x;
  int64_t count;
  GatherIndices indices;
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
                       TakeSlices<T>{x, count, GatherIndices(args, 1), args.in[0].as<const T>(),
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
  GatherIndices indices;
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
                       AddSlices<T>{x, count, GatherIndices(args, 2), args.in[0].as<const T>(),
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
  GatherIndices indices;
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
                       TakeElements<T>{places, GatherIndices(args, 1), args.in[0].as<const T>(),
                                       args.out[0].as<T>()});
        },
        "", 0, outside_of(places.size));
  });
}

// Scatters into x, column by column of the indices. Only elements of one column can collide.
template <class T>
struct PutElements {
  ElementPlaces places;
  AroundAxis around;  // the indices
  ScatterMeeting meeting;
  GatherIndices indices;
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
std::unique_ptr<Kernel> put_elements(const KernelRequest& request, ScatterMeeting meeting,
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
                     PutElements<T>{places, around, meeting, GatherIndices(args, indices),
                                    args.in[updates].as<const T>(), args.out[0].as<T>()});
      },
      "", 0, outside_of(places.size));
}

std::unique_ptr<Kernel> prepare_gather_elements_grad(const KernelRequest& request) {
  return dispatch<Floats>(request.in[0].dtype, [&]<class T>() {
    return put_elements<T>(request, ScatterMeeting::adds, 0, 2, true);
  });
}

std::unique_ptr<Kernel> prepare_scatter_elements(const KernelRequest& request) {
  return dispatch<Numbers>(request.in[0].dtype, [&]<class T>() {
    return put_elements<T>(request, meeting_of(request), 2, 1, false);
  });
}

}  // namespace

std::vector<KernelEntry> gather_cuda() {
  const Refusal dims = up_to_dims(ElementPlaces::kMostDims);
  const Refusal scatters =
      every({takes<Numbers>(), reduces_by({"none", "add", "mul", "max", "min"})});
  const Refusal elements_back = every({takes<Floats>(), dims});
  std::vector<KernelEntry> entries = select_cuda(), of_tuples = gather_nd_cuda();
  entries.insert(entries.end(), of_tuples.begin(), of_tuples.end());
  entries.insert(
      entries.end(),
      {{"Gather", "", {{"GPU", anything, prepare_gather}}},
       {"GatherElements", "", {{"GPU", dims, prepare_gather_elements}}},
       {"ScatterElements", "", {{"GPU", every({scatters, dims}), prepare_scatter_elements}}},
       {"GatherGrad", kOwnDomain, {{"GPU", takes<Floats>(), prepare_gather_grad}}},
       {"GatherElementsGrad", kOwnDomain, {{"GPU", elements_back, prepare_gather_elements_grad}}}});
  return entries;
}

}  // namespace lockstep
