// SPDX-License-Identifier: Apache-2.0
#include "operators/gemm/narrow_product_cpu.h"

#include "operators/gemm/gemm.h"
#include "operators/kit/dispatch.h"
#include "operators/kit/dnnl.h"

namespace lockstep {
namespace {

// y [m, n] = op(a) [m, k] op(b) [k, n] + bias [n].
struct Product {
  int64_t m = 0, n = 0, k = 0;
  bool trans_a = false, trans_b = false, bias = false;
};

dnnl::memory::desc matrix(int64_t rows, int64_t columns, bool transposed) {
  return {{rows, columns},
          dnnl::memory::data_type::bf16,
          transposed ? dnnl::memory::dims{1, rows} : dnnl::memory::dims{columns, 1}};
}

dnnl::matmul::primitive_desc describe(const Product& p) {
  const auto a = matrix(p.m, p.k, p.trans_a), b = matrix(p.k, p.n, p.trans_b),
             y = matrix(p.m, p.n, false);
  if (p.bias) return describe_primitive<dnnl::matmul>(a, b, matrix(1, p.n, false), y);
  return describe_primitive<dnnl::matmul>(a, b, y);
}

std::unique_ptr<Kernel> product_kernel(const Product& p) {
  supported(p.m > 0 && p.n > 0 && p.k > 0, "takes matrices that are not empty");
  const auto desc = describe(p);
  auto kernel = std::make_unique<DnnlKernel>(join("dnnl ", desc.impl_info_str()));
  std::vector<std::pair<int, dnnl::memory>> args{
      {DNNL_ARG_SRC, kernel->input(0, desc.src_desc(), desc.src_desc())},
      {DNNL_ARG_WEIGHTS, kernel->input(1, desc.weights_desc(), desc.weights_desc())},
      {DNNL_ARG_DST, kernel->output(0, desc.dst_desc(), desc.dst_desc())}};
  if (p.bias) {
    const auto bias = matrix(1, p.n, false);
    args.emplace_back(DNNL_ARG_BIAS, kernel->input(2, bias, bias));
  }
  kernel->execute<dnnl::matmul>(desc, args);
  kernel->finish();
  return kernel;
}

std::string not_narrow(const KernelRequest& request) {
  const std::string reason = takes<Types<BFloat16>>()(request);
  return reason.empty() ? dnnl_floats(request) : reason;
}

std::string not_plain_gemm(const KernelRequest& request) {
  if (const std::string reason = not_narrow(request); !reason.empty()) return reason;
  const GemmAttrs attrs = read_gemm(request.attributes());
  if (attrs.alpha != 1) return "takes products that are not scaled";
  if (request.in.size() < 3 || !request.in[2].present()) return "";
  const Dims& c = request.in[2].dims;
  const bool row = c == Dims{request.out[0].dims[1]} || c == Dims{1, request.out[0].dims[1]};
  return row && attrs.beta == 1 ? "" : "takes one row that is added to all";
}

std::unique_ptr<Kernel> prepare_gemm(const KernelRequest& request) {
  const GemmAttrs attrs = read_gemm(request.attributes());
  const Dims &a = request.in[0].dims, &y = request.out[0].dims;
  return product_kernel({.m = y[0],
                         .n = y[1],
                         .k = a[attrs.trans_a ? 0 : 1],
                         .trans_a = attrs.trans_a,
                         .trans_b = attrs.trans_b,
                         .bias = request.in.size() > 2 && request.in[2].present()});
}

std::string not_one_matrix(const KernelRequest& request) {
  if (const std::string reason = not_narrow(request); !reason.empty()) return reason;
  return request.in[0].dims.size() >= 2 && request.in[1].dims.size() == 2
             ? ""
             : "takes one matrix on the right";
}

// All rows of the left operand form one matrix.
std::unique_ptr<Kernel> prepare_matmul(const KernelRequest& request) {
  const Dims& b = request.in[1].dims;
  return product_kernel(
      {.m = request.in[0].count() / std::max<int64_t>(1, b[0]), .n = b[1], .k = b[0]});
}

}  // namespace

Candidate narrow_gemm() { return {"oneDNN in bfloat16", not_plain_gemm, prepare_gemm}; }
Candidate narrow_matmul() { return {"oneDNN in bfloat16", not_one_matrix, prepare_matmul}; }

}  // namespace lockstep
