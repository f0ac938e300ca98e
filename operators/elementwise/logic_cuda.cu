// SPDX-License-Identifier: Apache-2.0
#include "operators/elementwise/logic_cuda.h"

#include <type_traits>

#include "operators/elementwise/broadcast_cuda.h"
#include "operators/kit/dispatch.h"
#include "operators/kit/wrapping_arithmetic.h"

namespace lockstep {
namespace {

struct Both {
  __device__ bool operator()(bool a, bool b) const { return a && b; }
};
struct Either {
  __device__ bool operator()(bool a, bool b) const { return a || b; }
};
struct OneOnly {
  __device__ bool operator()(bool a, bool b) const { return a != b; }
};
template <class F>
std::unique_ptr<Kernel> logic(const KernelRequest& request) {
  return dispatch<Booleans>(request.in[0].dtype,
                            [&]<class T>() { return broadcast_kernel<bool, bool, F>(request); });
}

// y = test(x).
template <class T, class Test>
struct TestEach {
  const T* x;
  bool* y;
  Test test;
  __device__ void operator()(int64_t i) const { y[i] = test(computed(x[i])); }
};
template <class T, class Test>
std::unique_ptr<Kernel> testing_kernel(const KernelRequest& request, const Test& test) {
  return make_kernel([test, count = request.out[0].count()](const KernelArgs& args) {
    for_elements(args, count,
                 TestEach<T, Test>{args.in[0].as<const T>(), args.out[0].as<bool>(), test});
  });
}

struct IsFalse {
  __device__ bool operator()(bool x) const { return !x; }
};
struct IsNan {
  template <class T>
  __device__ bool operator()(T x) const {
    return x != x;
  }
};
struct IsInfinite {
  bool up, down;
  template <class T>
  __device__ bool operator()(T x) const {
    const bool infinite = x == x && x - x != T(0);
    return infinite && (x > 0 ? up : down);
  }
};

std::unique_ptr<Kernel> prepare_not(const KernelRequest& request) {
  return dispatch<Booleans>(request.in[0].dtype,
                            [&]<class T>() { return testing_kernel<T>(request, IsFalse()); });
}
template <class Test>
std::unique_ptr<Kernel> of_floats(const KernelRequest& request, const Test& test) {
  return dispatch<Floats>(request.in[0].dtype,
                          [&]<class T>() { return testing_kernel<T>(request, test); });
}
std::unique_ptr<Kernel> prepare_is_nan(const KernelRequest& request) {
  return of_floats(request, IsNan());
}
std::unique_ptr<Kernel> prepare_is_inf(const KernelRequest& request) {
  AttributeReader attributes = request.attributes();
  return of_floats(request, IsInfinite{attributes.integer("detect_positive", 1) != 0,
                                       attributes.integer("detect_negative", 1) != 0});
}

// Integers are computed as double, which represents every int32. Larger types fall back to the
// host.
struct Power {
  template <class A, class B>
  __device__ A operator()(A base, B exponent) const {
    if constexpr (std::is_same_v<A, float> && std::is_same_v<B, float>)
      return ::powf(base, exponent);
    else
      return static_cast<A>(::pow(static_cast<double>(base), static_cast<double>(exponent)));
  }
};
using Bases = Types<float, double, int32_t>;

std::unique_ptr<Kernel> prepare_pow(const KernelRequest& request) {
  return dispatch<Bases>(request.in[0].dtype, [&]<class A>() {
    return dispatch<Numbers>(request.in[1].dtype,
                             [&]<class B>() { return kernel_of_two<A, B, A, Power>(request); });
  });
}

// The result has the dividend's sign, as in C, if c_like, else the divisor's sign, as in Python.
template <bool c_like>
struct Modulo {
  template <class T>
  __device__ T operator()(T a, T b) const {
    T rest;
    if constexpr (std::is_floating_point_v<T>)
      rest = ::fmod(a, b);
    else
      rest = b == 0 ? T(0) : remainder_of(a, b);
    return !c_like && rest != 0 && (rest < 0) != (b < 0) ? static_cast<T>(rest + b) : rest;
  }
};
template <bool c_like>
std::unique_ptr<Kernel> modulo(const KernelRequest& request) {
  return dispatch<Numbers>(request.in[0].dtype, [&]<class T>() {
    return broadcast_kernel<T, T, Modulo<c_like>>(request);
  });
}
std::unique_ptr<Kernel> prepare_mod(const KernelRequest& request) {
  return request.attributes().integer("fmod", 0) != 0 ? modulo<true>(request)
                                                      : modulo<false>(request);
}

template <bool left>
struct Shift {
  template <class T>
  __device__ T operator()(T a, T b) const {
    if (b >= 8 * sizeof(T)) return T(0);
    return static_cast<T>(left ? a << b : a >> b);
  }
};
template <bool left>
std::unique_ptr<Kernel> shift(const KernelRequest& request) {
  return dispatch<Unsigned>(
      request.in[0].dtype, [&]<class T>() { return broadcast_kernel<T, T, Shift<left>>(request); });
}
std::unique_ptr<Kernel> prepare_bit_shift(const KernelRequest& request) {
  return request.attributes().text("direction", "") == "LEFT" ? shift<true>(request)
                                                              : shift<false>(request);
}

}  // namespace

std::vector<KernelEntry> logic_cuda() {
  return {{"And", "", {{"GPU", takes<Booleans>(), logic<Both>}}},
          {"Or", "", {{"GPU", takes<Booleans>(), logic<Either>}}},
          {"Xor", "", {{"GPU", takes<Booleans>(), logic<OneOnly>}}},
          {"Not", "", {{"GPU", takes<Booleans>(), prepare_not}}},
          {"IsNaN", "", {{"GPU", takes<Floats>(), prepare_is_nan}}},
          {"IsInf", "", {{"GPU", takes<Floats>(), prepare_is_inf}}},
          {"Pow", "", {{"GPU", every({takes<Bases>(), takes<Numbers>(1)}), prepare_pow}}},
          {"Mod", "", {{"GPU", takes<Numbers>(), prepare_mod}}},
          {"BitShift", "", {{"GPU", takes<Unsigned>(), prepare_bit_shift}}}};
}

}  // namespace lockstep
