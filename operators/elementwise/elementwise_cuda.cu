// SPDX-License-Identifier: Apache-2.0
#include "operators/elementwise/broadcast_cuda.h"
#include "operators/elementwise/bytes.h"
#include "operators/elementwise/cast_cuda.h"
#include "operators/elementwise/casts.h"
#include "operators/elementwise/clip.h"
#include "operators/elementwise/elementwise.h"
#include "operators/elementwise/logic_cuda.h"
#include "operators/kit/dispatch.h"
#include "operators/kit/wrapping_arithmetic.h"
#include "operators/layout/layout.h"

namespace lockstep {
namespace {

struct Plus {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return plus(a, b);
  }
};
struct Minus {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return minus(a, b);
  }
};
struct Times {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return times(a, b);
  }
};
struct Divided {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return a / b;
  }
};
struct Slope {
  template <class T>
  __device__ T operator()(T x, T slope) const {
    return x < 0 ? times(slope, x) : x;
  }
};
struct Larger {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return b > a || b != b ? b : a;
  }
};
struct Smaller {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return b < a || b != b ? b : a;
  }
};
struct Equal {
  template <class T>
  __device__ bool operator()(T a, T b) const {
    return a == b;
  }
};
struct Greater {
  template <class T>
  __device__ bool operator()(T a, T b) const {
    return a > b;
  }
};
struct Less {
  template <class T>
  __device__ bool operator()(T a, T b) const {
    return a < b;
  }
};
struct GreaterOrEqual {
  template <class T>
  __device__ bool operator()(T a, T b) const {
    return a >= b;
  }
};
struct LessOrEqual {
  template <class T>
  __device__ bool operator()(T a, T b) const {
    return a <= b;
  }
};
struct Negative {
  template <class T>
  __device__ T operator()(T x) const {
    return negative(x);
  }
};
struct Absolute {
  template <class T>
  __device__ T operator()(T x) const {
    return absolute(x);
  }
};
struct SignOf {
  template <class T>
  __device__ T operator()(T x) const {
    return static_cast<T>((x > 0) - (x < 0));
  }
};
struct Exponential {
  template <class T>
  __device__ T operator()(T x) const {
    return ::exp(x);
  }
};
struct Logarithm {
  template <class T>
  __device__ T operator()(T x) const {
    return ::log(x);
  }
};
struct Root {
  template <class T>
  __device__ T operator()(T x) const {
    return ::sqrt(x);
  }
};
struct OneOver {
  template <class T>
  __device__ T operator()(T x) const {
    return T(1) / x;
  }
};

template <class F>
std::unique_ptr<Kernel> arithmetic(const KernelRequest& request) {
  return dispatch<AllNumbers>(request.in[0].dtype, [&]<class T>() {
    return broadcast_kernel<DeviceType<T>, DeviceType<T>, F>(request);
  });
}
template <class F>
std::unique_ptr<Kernel> of_floats(const KernelRequest& request) {
  return dispatch<Floats>(request.in[0].dtype,
                          [&]<class T>() { return broadcast_kernel<T, T, F>(request); });
}
// Integer division, which raises a fault if a divisor is 0.
template <class T>
struct DivideIntegers {
  Walk<2> walk;
  const T* a;
  const T* b;
  T* y;
  Fault* fault;
  __device__ void operator()(int64_t i) const {
    int64_t at[2];
    walk.at(i, at);
    if (b[at[1]] == 0)
      raise(fault, 0);
    else
      y[i] = quotient(a[at[0]], b[at[1]]);
  }
};
std::unique_ptr<Kernel> prepare_divide(const KernelRequest& request) {
  const DType type = request.in[0].dtype;
  if (type != DType::int32 && type != DType::int64) return of_floats<Divided>(request);
  check(request.in[1].dtype == type, "operands are ", type, " and ", request.in[1].dtype,
        "; cast one");
  const Walk<2> walk(Broadcast<2>(request.out[0].dims, {request.in[0].dims, request.in[1].dims}));
  return dispatch<Integers>(type, [&]<class T>() {
    return make_kernel(
        [walk, count = request.out[0].count()](const KernelArgs& args) {
          for_elements(args, count,
                       DivideIntegers<T>{walk, args.in[0].as<const T>(), args.in[1].as<const T>(),
                                         args.out[0].as<T>(), args.fault});
        },
        "", 0, [](const Fault&) { return "an integer was divided by zero"; });
  });
}

template <class F>
std::unique_ptr<Kernel> comparison(const KernelRequest& request) {
  return dispatch<Numbers>(request.in[0].dtype,
                           [&]<class T>() { return broadcast_kernel<T, bool, F>(request); });
}
std::unique_ptr<Kernel> prepare_equal(const KernelRequest& request) {
  return dispatch<AllNumbers>(request.in[0].dtype, [&]<class T>() {
    return broadcast_kernel<DeviceType<T>, bool, Equal>(request);
  });
}
template <class F>
std::unique_ptr<Kernel> function(const KernelRequest& request) {
  return dispatch<Floats>(request.in[0].dtype,
                          [&]<class T>() { return map_one<T, T>(request, F()); });
}
template <class F>
std::unique_ptr<Kernel> function_of_numbers(const KernelRequest& request) {
  return dispatch<Numbers>(request.in[0].dtype,
                           [&]<class T>() { return map_one<T, T>(request, F()); });
}

constexpr int kMostTerms = 32;

// Folds operands of one shape from left to right; a mean divides by the number of operands. kTerms
// is the number of operands; 0 means any number. kCount neighbours are computed at once.
template <class T, class F, bool kMean, int kTerms, int kCount>
struct Fold {
  int count;
  T* y;
  const T* term[kTerms > 0 ? kTerms : kMostTerms];
  __device__ void operator()(int64_t i) const {
    const F f;
    Computed<T> total[kCount];
    const auto first = load<T, kCount>(term[0] + i * kCount);
    for (int e = 0; e < kCount; ++e) total[e] = computed(first.at[e]);
    for (int k = 1; k < (kTerms > 0 ? kTerms : count); ++k) {
      const auto next = load<T, kCount>(term[k] + i * kCount);
      for (int e = 0; e < kCount; ++e) total[e] = f(total[e], computed(next.at[e]));
    }
    Pack<T, kCount> result;
    for (int e = 0; e < kCount; ++e)
      result.at[e] = stored<T>(kMean ? total[e] / static_cast<Computed<T>>(count) : total[e]);
    store<T, kCount>(y + i * kCount, result);
  }
};

// Folds the elements [begin, begin + kCount * packs).
template <class T, class F, bool kMean, int kTerms, int kCount>
void fold(const KernelArgs& args, int64_t begin, int64_t packs) {
  Fold<T, F, kMean, kTerms, kCount> body{
      static_cast<int>(args.in.size()), args.out[0].as<T>() + begin, {}};
  for (std::size_t k = 0; k < args.in.size(); ++k) body.term[k] = args.in[k].as<const T>() + begin;
  for_elements(args, packs, body);
}

std::string same_shapes(const KernelRequest& request) {
  for (const TensorDesc& in : request.in)
    if (in.dims != request.out[0].dims)
      return join("takes operands of one shape, not ", text_of(in.dims), " and ",
                  text_of(request.out[0].dims));
  return "";
}

template <class F, bool mean = false>
std::unique_ptr<Kernel> variadic(const KernelRequest& request) {
  return dispatch<AllNumbers>(request.out[0].dtype, [&]<class Host>() {
    using T = DeviceType<Host>;
    return elements_kernel(request, [](const KernelArgs& args, int64_t count) {
      int64_t done = 0;
      if constexpr (is_tensor_float<T>) {
        constexpr int kMany = kPack<T>;
        bool aligned = is_aligned(args.out[0].data);
        for (const Tensor& in : args.in) aligned = aligned && is_aligned(in.data);
        const int64_t packs = aligned ? count / kMany : 0;
        if (args.in.size() == 2)
          fold<T, F, mean, 2, kMany>(args, 0, packs);
        else
          fold<T, F, mean, 0, kMany>(args, 0, packs);
        done = packs * kMany;
      }
      fold<T, F, mean, 0, 1>(args, done, count - done);
    });
  });
}

// Supports any layout if the operands have the result's shape or one element.
Layouts flat_choice(const KernelRequest& request) {
  return request.in[0].dims == request.out[0].dims ? flat(request) : row_major(request);
}

template <class T>
struct Choose {
  Walk<3> walk;
  const bool* condition;
  const T* a;
  const T* b;
  T* y;
  __device__ void operator()(int64_t i) const {
    int64_t at[3];
    walk.at(i, at);
    y[i] = condition[at[0]] ? a[at[1]] : b[at[2]];
  }
};

using Chosen = Types<float, double, int32_t, int64_t, uint8_t, bool, Half, BFloat16>;

std::unique_ptr<Kernel> prepare_where(const KernelRequest& request) {
  const Walk<3> walk(Broadcast<3>(request.out[0].dims,
                                  {request.in[0].dims, request.in[1].dims, request.in[2].dims}));
  return dispatch<Chosen>(request.in[1].dtype, [&]<class Host>() {
    using T = DeviceType<Host>;
    return make_kernel([walk, count = request.out[0].count()](const KernelArgs& args) {
      for_elements(args, count,
                   Choose<T>{walk, args.in[0].as<const bool>(), args.in[1].as<const T>(),
                             args.in[2].as<const T>(), args.out[0].as<T>()});
    });
  });
}

}  // namespace

std::vector<KernelEntry> elementwise_cuda() {
  const Refusal terms = every({takes<AllNumbers>(), up_to_operands(kMostTerms), same_shapes});
  const Refusal casts = every({takes<Convertible>(), makes<Convertible>()});
  std::vector<KernelEntry> entries{
      {"Add", "", {{"GPU", takes<AllNumbers>(), arithmetic<Plus>, flat}}},
      {"Sub", "", {{"GPU", takes<AllNumbers>(), arithmetic<Minus>, flat}}},
      {"Mul", "", {{"GPU", takes<AllNumbers>(), arithmetic<Times>, flat}}},
      {"Div", "", {{"GPU", takes<Numbers>(), prepare_divide}}},
      {"PRelu", "", {{"GPU", takes<Floats>(), of_floats<Slope>}}},
      {"Sum", "", {{"GPU", terms, variadic<Plus>, flat}}},
      {"Mean", "", {{"GPU", terms, variadic<Plus, true>}}},
      {"Max", "", {{"GPU", terms, variadic<Larger>}}},
      {"Min", "", {{"GPU", terms, variadic<Smaller>}}},
      {"Equal", "", {{"GPU", takes<AllNumbers>(), prepare_equal, flat}}},
      {"Greater", "", {{"GPU", takes<Numbers>(), comparison<Greater>}}},
      {"Less", "", {{"GPU", takes<Numbers>(), comparison<Less>}}},
      {"GreaterOrEqual", "", {{"GPU", takes<Numbers>(), comparison<GreaterOrEqual>}}},
      {"LessOrEqual", "", {{"GPU", takes<Numbers>(), comparison<LessOrEqual>}}},
      {"Where", "", {{"GPU", takes<Chosen>(1), prepare_where, flat_choice}}},
      byte_table_cuda(),
      casts_cuda(),
      clip_cuda(),
      clip_grad_cuda(),
      {"Neg", "", {{"GPU", takes<Numbers>(), function_of_numbers<Negative>}}},
      {"Abs", "", {{"GPU", takes<Numbers>(), function_of_numbers<Absolute>}}},
      {"Sign", "", {{"GPU", takes<Numbers>(), function_of_numbers<SignOf>}}},
      {"Exp", "", {{"GPU", takes<Floats>(), function<Exponential>}}},
      {"Log", "", {{"GPU", takes<Floats>(), function<Logarithm>}}},
      {"Sqrt", "", {{"GPU", takes<Floats>(), function<Root>}}},
      {"Reciprocal", "", {{"GPU", takes<Floats>(), function<OneOver>}}},
      {"Cast", "", {{"GPU", casts, cast_cuda, cast_layouts}}},
      {"CastLike", "", {{"GPU", casts, cast_cuda}}}};
  for (KernelEntry& entry : logic_cuda()) entries.push_back(std::move(entry));
  return entries;
}

}  // namespace lockstep
