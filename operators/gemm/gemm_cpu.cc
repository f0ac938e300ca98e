// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "operators/gemm/gemm.h"
#include "operators/gemm/narrow_product_cpu.h"
#include "operators/kit/broadcast.h"
#include "operators/kit/dispatch.h"
#include "operators/kit/dnnl.h"
#include "runtime/threads/parallel.h"

namespace lockstep {
namespace {

struct Product {
  bool trans_a = false;
  bool trans_b = false;
  int64_t m = 0, n = 0, k = 0;
};

// Y = alpha * op(A) op(B) + beta * Y for one pair of matrices.
template <class T>
void multiply(const Product& p, T alpha, const T* a, const T* b, T beta, T* y) {
  if constexpr (std::is_same_v<T, float>) {
    if (p.m == 0 || p.n == 0) return;
    if (p.k > 0)
      return sgemm(p.trans_a, p.trans_b, p.m, p.n, p.k, alpha, a, p.trans_a ? p.m : p.k, b,
                   p.trans_b ? p.k : p.n, beta, y, p.n);
  }
  for (int64_t i = 0; i < p.m; ++i)
    for (int64_t j = 0; j < p.n; ++j) {
      T total{};
      for (int64_t l = 0; l < p.k; ++l)
        total +=
            a[p.trans_a ? l * p.m + i : i * p.k + l] * b[p.trans_b ? j * p.k + l : l * p.n + j];
      T old = beta == T(0) ? T(0) : beta * y[i * p.n + j];
      y[i * p.n + j] = alpha * total + old;
    }
}

template <class T>
std::unique_ptr<Kernel> gemm_kernel(const KernelRequest& request) {
  if constexpr (std::is_same_v<T, float>) prepare_sgemm();
  GemmAttrs attrs = read_gemm(request.attributes());
  const Dims& a = request.in[0].dims;
  const Dims& y = request.out[0].dims;
  Product product{attrs.trans_a, attrs.trans_b, y[0], y[1], a[attrs.trans_a ? 0 : 1]};
  const bool has_c = request.in.size() > 2 && request.in[2].present();
  Broadcast<1> walk(y, {has_c ? request.in[2].dims : Dims{}});
  auto run = [=, threads = request.threads](const KernelArgs& args) {
    T* out = args.out[0].as<T>();
    if (has_c) {
      const T* c = args.in[2].as<T>();
      const int64_t grain = std::max<int64_t>(1, 16384 / std::max<int64_t>(1, walk.row_length));
      parallel_for(walk.rows, grain, threads, [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
          const T* from = c + walk.at(row)[0];
          T* to = out + row * walk.row_length;
          if (walk.step[0] == 1)
            std::copy_n(from, walk.row_length, to);
          else
            std::fill_n(to, walk.row_length, *from);
        }
      });
    }
    multiply<T>(product, static_cast<T>(attrs.alpha), args.in[0].as<T>(), args.in[1].as<T>(),
                static_cast<T>(has_c ? attrs.beta : 0), out);
  };
  return make_kernel(run, std::is_same_v<T, float> ? "dnnl sgemm" : "plain loops");
}

template <class T>
std::unique_ptr<Kernel> matmul_kernel(const KernelRequest& request) {
  if constexpr (std::is_same_v<T, float>) prepare_sgemm();
  Dims a = request.in[0].dims, b = request.in[1].dims, y = request.out[0].dims;
  if (a.size() == 1) a.insert(a.begin(), 1), y.insert(y.end() - (b.size() > 1 ? 1 : 0), 1);
  if (b.size() == 1) b.push_back(1), y.push_back(1);
  auto matrix = [](const Dims& dims) { return dims[dims.size() - 1] * dims[dims.size() - 2]; };
  auto batch = [](const Dims& dims) { return Dims(dims.begin(), dims.end() - 2); };
  const std::size_t last = y.size() - 1;
  Product product{false, false, y[last - 1], y[last], a.back()};
  // With a single right operand, all rows of the left operand form one matrix.
  if (b.size() == 2 && a.size() > 2) {
    product.m = element_count(y) / std::max<int64_t>(1, product.n);
    y = {product.m, product.n};
    a = {product.m, product.k};
  }
  Broadcast<2> walk(batch(y), {batch(a), batch(b)});
  const int64_t size_a = matrix(a), size_b = matrix(b), size_y = matrix(y);
  auto run = [=](const KernelArgs& args) {
    for (int64_t row = 0; row < walk.rows; ++row) {
      auto at = walk.at(row);
      for (int64_t i = 0; i < walk.row_length; ++i)
        multiply<T>(product, T(1), args.in[0].as<T>() + (at[0] + i * walk.step[0]) * size_a,
                    args.in[1].as<T>() + (at[1] + i * walk.step[1]) * size_b, T(0),
                    args.out[0].as<T>() + (row * walk.row_length + i) * size_y);
    }
  };
  return make_kernel(run, std::is_same_v<T, float> ? "dnnl sgemm" : "plain loops");
}

using OtherNumbers = Types<double, int32_t, int64_t>;

std::unique_ptr<Kernel> other_gemm(const KernelRequest& request) {
  return dispatch<OtherNumbers>(request.in[0].dtype,
                                [&]<class T>() { return gemm_kernel<T>(request); });
}

std::unique_ptr<Kernel> other_matmul(const KernelRequest& request) {
  return dispatch<OtherNumbers>(request.in[0].dtype,
                                [&]<class T>() { return matmul_kernel<T>(request); });
}

}  // namespace

std::vector<KernelEntry> gemm_cpu() {
  return {{"Gemm",
           "",
           {{"oneDNN", takes<Float32>(), gemm_kernel<float>},
            narrow_gemm(),
            {"CPU", takes<OtherNumbers>(), other_gemm}}},
          {"MatMul",
           "",
           {{"oneDNN", takes<Float32>(), matmul_kernel<float>},
            narrow_matmul(),
            {"CPU", takes<OtherNumbers>(), other_matmul}}}};
}

}  // namespace lockstep
