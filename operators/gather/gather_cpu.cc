// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "operators/gather/gather.h"
#include "operators/gather/select.h"
#include "operators/kit/axis_loop.h"
#include "operators/kit/dispatch.h"
#include "operators/kit/wrapping_arithmetic.h"

namespace lockstep {
namespace {

int64_t axis_of(const KernelRequest& request) {
  auto attributes = request.attributes();
  return attributes.integer("axis", 0);
}

// A negative index counts from the end.
template <class Index>
int64_t checked(Index index, int64_t size, const char* op) {
  const int64_t at = index < 0 ? index + size : index;
  if (at < 0 || at >= size) fail(op, ": index ", index, " is outside 0..", size - 1);
  return at;
}

template <class Make>
std::unique_ptr<Kernel> by_index(DType dtype, Make&& make) {
  return dispatch<Integers>(dtype, std::forward<Make>(make));
}

std::unique_ptr<Kernel> prepare_gather(const KernelRequest& request) {
  const AroundAxis around(request.in[0].dims, axis_of(request));
  const int64_t count = request.in[1].count();
  const std::size_t bytes = around.inner * size_of(request.in[0].dtype);
  return by_index(request.in[1].dtype, [&]<class Index>() {
    return make_kernel([=](const KernelArgs& args) {
      const Index* indices = args.in[1].as<Index>();
      for (int64_t o = 0; o < around.outer; ++o)
        for (int64_t i = 0; i < count; ++i) {
          const int64_t from = checked(indices[i], around.size, "Gather");
          std::memcpy(args.out[0].as<std::byte>() + (o * count + i) * bytes,
                      args.in[0].as<std::byte>() + (o * around.size + from) * bytes, bytes);
        }
    });
  });
}

std::unique_ptr<Kernel> prepare_gather_grad(const KernelRequest& request) {
  const AroundAxis around(request.out[0].dims, axis_of(request));
  const int64_t count = request.in[2].count();
  return by_index(request.in[2].dtype, [&]<class Index>() {
    return dispatch<Floats>(request.in[0].dtype, [&]<class T>() {
      return make_kernel([=](const KernelArgs& args) {
        const Index* indices = args.in[2].as<Index>();
        const T* dy = args.in[0].as<T>();
        T* dx = args.out[0].as<T>();
        std::fill_n(dx, around.outer * around.size * around.inner, T(0));
        for (int64_t o = 0; o < around.outer; ++o)
          for (int64_t i = 0; i < count; ++i) {
            const int64_t to = checked(indices[i], around.size, "GatherGrad");
            for (int64_t k = 0; k < around.inner; ++k)
              dx[(o * around.size + to) * around.inner + k] +=
                  dy[(o * count + i) * around.inner + k];
          }
      });
    });
  });
}

// Visits every element of `indices`: its offset, and the offset in x of the indexed element.
template <class Index, class Visit>
void visit_elements(const Dims& x, const Dims& indices_dims, int64_t axis, const Index* indices,
                    const Visit& visit) {
  const int64_t count = element_count(indices_dims);
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i, at = 0, stride = 1;
    for (std::size_t d = x.size(); d-- > 0;) {
      int64_t place = rest % indices_dims[d];
      rest /= indices_dims[d];
      if (static_cast<int64_t>(d) == axis) place = checked(indices[i], x[d], "GatherElements");
      at += place * stride;
      stride *= x[d];
    }
    visit(i, at);
  }
}

std::unique_ptr<Kernel> prepare_gather_elements(const KernelRequest& request) {
  const Dims x = request.in[0].dims, of = request.in[1].dims;
  const int64_t axis = normal_axes({axis_of(request)}, x.size())[0];
  const std::size_t size = size_of(request.in[0].dtype);
  return by_index(request.in[1].dtype, [&]<class Index>() {
    return make_kernel([=](const KernelArgs& args) {
      visit_elements(x, of, axis, args.in[1].as<Index>(), [&](int64_t i, int64_t at) {
        std::memcpy(args.out[0].as<std::byte>() + i * size, args.in[0].as<std::byte>() + at * size,
                    size);
      });
    });
  });
}

std::unique_ptr<Kernel> prepare_gather_elements_grad(const KernelRequest& request) {
  const Dims x = request.out[0].dims, of = request.in[2].dims;
  const int64_t axis = normal_axes({axis_of(request)}, x.size())[0];
  return by_index(request.in[2].dtype, [&]<class Index>() {
    return dispatch<Floats>(request.in[0].dtype, [&]<class T>() {
      return make_kernel([=](const KernelArgs& args) {
        T* dx = args.out[0].as<T>();
        std::fill_n(dx, element_count(x), T(0));
        visit_elements(x, of, axis, args.in[2].as<Index>(),
                       [&](int64_t i, int64_t at) { dx[at] += args.in[0].as<T>()[i]; });
      });
    });
  });
}

enum class Meeting { replaces, adds, multiplies, larger, smaller };

// The combination of an update with the existing value. max and min came with opset 18.
Meeting meeting_of(const KernelRequest& request) {
  auto attributes = request.attributes();
  const std::string reduction = attributes.text("reduction", "none");
  if (reduction == "none") return Meeting::replaces;
  if (reduction == "add") return Meeting::adds;
  if (reduction == "mul") return Meeting::multiplies;
  return reduction == "max" ? Meeting::larger : Meeting::smaller;
}

template <class T>
T met(Meeting meeting, T there, T update) {
  switch (meeting) {
    case Meeting::adds:
      return plus(there, update);
    case Meeting::multiplies:
      return times(there, update);
    case Meeting::larger:
      return std::max(there, update);
    case Meeting::smaller:
      return std::min(there, update);
    default:
      return update;
  }
}

std::unique_ptr<Kernel> prepare_scatter_elements(const KernelRequest& request) {
  const Meeting meeting = meeting_of(request);
  const Dims x = request.in[0].dims, of = request.in[1].dims;
  const int64_t axis = normal_axes({axis_of(request)}, x.size())[0];
  const std::size_t bytes = request.in[0].bytes();
  return by_index(request.in[1].dtype, [&]<class Index>() {
    return dispatch<Numbers>(request.in[0].dtype, [&]<class T>() {
      return make_kernel([=](const KernelArgs& args) {
        std::memcpy(args.out[0].data, args.in[0].data, bytes);
        visit_elements(x, of, axis, args.in[1].as<Index>(), [&](int64_t i, int64_t at) {
          T& to = args.out[0].as<T>()[at];
          const T update = args.in[2].as<T>()[i];
          to = met(meeting, to, update);
        });
      });
    });
  });
}

// Coordinates in the first `depth` dimensions of x after `batch` dimensions; each tuple selects a
// slice of `slice` elements.
struct Coordinates {
  Dims x;
  int64_t batch = 0, depth = 0, count = 0, slice = 1, per_batch = 1;

  Coordinates(const Dims& x, const Dims& indices, int64_t batch)
      : x(x), batch(batch), depth(indices.back()), count(element_count(indices)) {
    check(batch + depth <= static_cast<int64_t>(x.size()), "indices of ", depth,
          " coordinates for data of ", x.size(), " dimensions");
    count = depth == 0 ? element_count(Dims(indices.begin(), indices.end() - 1)) : count / depth;
    for (std::size_t i = batch + depth; i < x.size(); ++i) slice *= x[i];
    int64_t batches = 1;
    for (int64_t i = 0; i < batch; ++i) batches *= x[i];
    per_batch = count / std::max<int64_t>(1, batches);
  }

  // The first element of the slice that tuple `i` selects.
  template <class Index>
  int64_t at(const Index* indices, int64_t i) const {
    int64_t offset = batch > 0 ? i / per_batch : 0;
    for (int64_t k = 0; k < depth; ++k)
      offset = offset * x[batch + k] + checked(indices[i * depth + k], x[batch + k], "GatherND");
    return offset * slice;
  }
};

std::unique_ptr<Kernel> prepare_gather_nd(const KernelRequest& request) {
  auto attributes = request.attributes();
  const Coordinates c(request.in[0].dims, request.in[1].dims, attributes.integer("batch_dims", 0));
  const std::size_t size = size_of(request.in[0].dtype);
  return by_index(request.in[1].dtype, [&]<class Index>() {
    return make_kernel([=](const KernelArgs& args) {
      for (int64_t i = 0; i < c.count; ++i)
        std::memcpy(args.out[0].as<std::byte>() + i * c.slice * size,
                    args.in[0].as<std::byte>() + c.at(args.in[1].as<Index>(), i) * size,
                    c.slice * size);
    });
  });
}

std::unique_ptr<Kernel> prepare_gather_nd_grad(const KernelRequest& request) {
  auto attributes = request.attributes();
  const Coordinates c(request.out[0].dims, request.in[2].dims, attributes.integer("batch_dims", 0));
  return by_index(request.in[2].dtype, [&]<class Index>() {
    return dispatch<Floats>(request.in[0].dtype, [&]<class T>() {
      return make_kernel([=, total = request.out[0].count()](const KernelArgs& args) {
        std::fill_n(args.out[0].as<T>(), total, T(0));
        for (int64_t i = 0; i < c.count; ++i) {
          T* to = args.out[0].as<T>() + c.at(args.in[2].as<Index>(), i);
          for (int64_t k = 0; k < c.slice; ++k) to[k] += args.in[0].as<T>()[i * c.slice + k];
        }
      });
    });
  });
}

std::unique_ptr<Kernel> prepare_scatter_nd(const KernelRequest& request) {
  const Meeting meeting = meeting_of(request);
  const Coordinates c(request.in[0].dims, request.in[1].dims, 0);
  const std::size_t bytes = request.in[0].bytes();
  return by_index(request.in[1].dtype, [&]<class Index>() {
    return dispatch<Numbers>(request.in[0].dtype, [&]<class T>() {
      return make_kernel([=](const KernelArgs& args) {
        std::memcpy(args.out[0].data, args.in[0].data, bytes);
        for (int64_t i = 0; i < c.count; ++i) {
          T* to = args.out[0].as<T>() + c.at(args.in[1].as<Index>(), i);
          const T* update = args.in[2].as<T>() + i * c.slice;
          for (int64_t k = 0; k < c.slice; ++k) to[k] = met(meeting, to[k], update[k]);
        }
      });
    });
  });
}

}  // namespace

std::vector<KernelEntry> gather_cpu() {
  const Refusal reductions = reduces_by({"none", "add", "mul", "max", "min"});
  const Refusal scatters = every({takes<Numbers>(), takes<Integers>(1), reductions});
  const Refusal gradients = every({takes<Floats>(), takes<Integers>(2)});
  std::vector<KernelEntry> entries = select_cpu();
  entries.insert(
      entries.end(),
      {{"Gather", "", {{"CPU", takes<Integers>(1), prepare_gather}}},
       {"GatherElements", "", {{"CPU", takes<Integers>(1), prepare_gather_elements}}},
       {"ScatterElements", "", {{"CPU", scatters, prepare_scatter_elements}}},
       {"GatherND", "", {{"CPU", takes<Integers>(1), prepare_gather_nd}}},
       {"ScatterND", "", {{"CPU", scatters, prepare_scatter_nd}}},
       {"GatherGrad", kOwnDomain, {{"CPU", gradients, prepare_gather_grad}}},
       {"GatherElementsGrad", kOwnDomain, {{"CPU", gradients, prepare_gather_elements_grad}}},
       {"GatherNDGrad", kOwnDomain, {{"CPU", gradients, prepare_gather_nd_grad}}}});
  return entries;
}

}  // namespace lockstep
