// SPDX-License-Identifier: Apache-2.0
#include "operators/gemm/gemm.h"
#include "operators/gemm/product_cuda.h"
#include "operators/kit/dispatch.h"
#include "operators/kit/elements_cuda.h"

namespace lockstep {
namespace {

// Writes C, broadcast, to the result; the product then adds beta times the result.
template <class T>
struct Spread {
  Walk<1> walk;
  const T* c;
  T* y;
  __device__ void operator()(int64_t i) const {
    int64_t at[1];
    walk.at(i, at);
    y[i] = c[at[0]];
  }
};

std::unique_ptr<Kernel> prepare_gemm(const KernelRequest& request) {
  const GemmAttrs attrs = read_gemm(request.attributes());
  const Dims &a = request.in[0].dims, &y = request.out[0].dims;
  const bool has_c = request.in.size() > 2 && request.in[2].present();
  const int64_t k = a[attrs.trans_a ? 0 : 1];
  auto product = chosen_product(request, {.type = request.in[0].dtype,
                                          .trans_a = attrs.trans_a,
                                          .trans_b = attrs.trans_b,
                                          .m = y[0],
                                          .n = y[1],
                                          .k = k,
                                          .alpha = attrs.alpha,
                                          .beta = has_c ? attrs.beta : 0});
  const Walk<1> walk(Broadcast<1>(y, {has_c ? request.in[2].dims : Dims{}}));
  return dispatch<TensorFloats>(request.in[0].dtype, [&]<class Host>() {
    using T = DeviceType<Host>;
    auto run = [=, count = request.out[0].count()](const KernelArgs& args) {
      if (has_c)
        for_elements(args, count, Spread<T>{walk, args.in[2].as<const T>(), args.out[0].as<T>()});
      product->run(stream_of(args), args.in[0].data, args.in[1].data, args.out[0].data,
                   args.workspace);
    };
    return make_kernel(run, description_of_products(request), CublasProduct::kWorkspace);
  });
}

std::string no_vectors(const KernelRequest& request) {
  const bool matrices = request.in[0].dims.size() >= 2 && request.in[1].dims.size() >= 2;
  return matrices ? "" : "takes matrices, not a vector";
}

std::unique_ptr<Kernel> prepare_matmul(const KernelRequest& request) {
  Dims a = request.in[0].dims, b = request.in[1].dims, y = request.out[0].dims;
  auto matrix = [](const Dims& dims) { return dims[dims.size() - 1] * dims[dims.size() - 2]; };
  auto batch = [](const Dims& dims) { return Dims(dims.begin(), dims.end() - 2); };
  const std::size_t last = y.size() - 1;
  MatrixProduct product{.type = request.in[0].dtype, .m = y[last - 1], .n = y[last], .k = a.back()};
  if (b.size() == 2 && a.size() > 2) {  // all rows of the left operand form a single matrix
    product.m = element_count(y) / product.n;
    y = {product.m, product.n};
    a = {product.m, product.k};
  }
  const Broadcast<2> walk(batch(y), {batch(a), batch(b)});
  supported(walk.rows == 1, "takes batches that are broadcast in one way, not in ", walk.rows);
  product.batch = walk.row_length;
  product.stride_a = walk.step[0] * matrix(a);
  product.stride_b = walk.step[1] * matrix(b);
  product.stride_y = matrix(y);
  auto shared = chosen_product(request, product);
  auto run = [shared](const KernelArgs& args) {
    shared->run(stream_of(args), args.in[0].data, args.in[1].data, args.out[0].data,
                args.workspace);
  };
  return make_kernel(run, description_of_products(request), CublasProduct::kWorkspace);
}

}  // namespace

std::vector<KernelEntry> gemm_cuda() {
  const Refusal matrices = every({takes<TensorFloats>(), not_empty, no_vectors});
  const Refusal products = every({takes<TensorFloats>(), not_empty});
  return {{"Gemm", "", {{"cuBLASLt", products, prepare_gemm}}},
          {"MatMul", "", {{"cuBLASLt", matrices, prepare_matmul}}}};
}

}  // namespace lockstep
