// SPDX-License-Identifier: Apache-2.0
#include "operators/gemm/cublas_product.h"

#include <cublasLt.h>

#include <map>
#include <mutex>

#include "graph/type_names.h"
#include "lockstep/error.h"
#include "runtime/cuda/check.h"
#include "runtime/cuda/library.h"

namespace lockstep {
namespace {

const SharedLibrary& cublas_library() {
  static const SharedLibrary library(
      join("cuBLASLt ", CUBLAS_VER_MAJOR, ".", CUBLAS_VER_MINOR, " of CUDA's toolkit"),
      {"libcublasLt.so.13", "libcublasLt.so.12"});
  return library;
}

struct Api {
  const SharedLibrary& library = cublas_library();
  decltype(cublasLtCreate)* create = library["cublasLtCreate"];
  decltype(cublasLtGetStatusString)* text_of = library["cublasLtGetStatusString"];
  decltype(cublasLtMatmulDescCreate)* create_product = library["cublasLtMatmulDescCreate"];
  decltype(cublasLtMatmulDescSetAttribute)* set_product = library["cublasLtMatmulDescSetAttribute"];
  decltype(cublasLtMatmulDescDestroy)* destroy_product = library["cublasLtMatmulDescDestroy"];
  decltype(cublasLtMatrixLayoutCreate)* create_layout = library["cublasLtMatrixLayoutCreate"];
  decltype(cublasLtMatrixLayoutSetAttribute)* set_layout =
      library["cublasLtMatrixLayoutSetAttribute"];
  decltype(cublasLtMatrixLayoutDestroy)* destroy_layout = library["cublasLtMatrixLayoutDestroy"];
  decltype(cublasLtMatmulPreferenceCreate)* create_preference =
      library["cublasLtMatmulPreferenceCreate"];
  decltype(cublasLtMatmulPreferenceSetAttribute)* set_preference =
      library["cublasLtMatmulPreferenceSetAttribute"];
  decltype(cublasLtMatmulPreferenceDestroy)* destroy_preference =
      library["cublasLtMatmulPreferenceDestroy"];
  decltype(cublasLtMatmulAlgoGetHeuristic)* choose = library["cublasLtMatmulAlgoGetHeuristic"];
  decltype(cublasLtMatmul)* multiply = library["cublasLtMatmul"];
};

const Api& api() {
  static const Api loaded;
  return loaded;
}

void check_blas(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS) fail("cuBLASLt: ", what, ": ", api().text_of(status));
}

// One per device, kept until the program ends.
cublasLtHandle_t handle_of_current_device() {
  static std::mutex mutex;
  static std::map<int, cublasLtHandle_t> handles;
  int device = 0;
  check_cuda(cudaGetDevice(&device), "the current device");
  std::lock_guard lock(mutex);
  cublasLtHandle_t& handle = handles[device];
  if (!handle) check_blas(api().create(&handle), "a handle");
  return handle;
}

constexpr TypeName<cudaDataType_t> kTypes[] = {
    {DType::float32, CUDA_R_32F}, {DType::float16, CUDA_R_16F}, {DType::bfloat16, CUDA_R_16BF}};
cudaDataType_t type_of(DType type) { return name_in(kTypes, type, "cuBLASLt"); }

}  // namespace

// cuBLASLt is column-major: it sees a row-major matrix as its transpose, so y' = b' a'.
struct CublasProduct::Chosen {
  cublasLtHandle_t handle = nullptr;
  cublasLtMatmulDesc_t product = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, y = nullptr;
  cublasLtMatmulAlgo_t algorithm{};

  explicit Chosen(const MatrixProduct& p) : handle(handle_of_current_device()) {
    const bool rounds = p.tf32 && p.type == DType::float32;
    check_blas(
        api().create_product(&product, rounds ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F,
                             CUDA_R_32F),
        "a product");
    transpose(CUBLASLT_MATMUL_DESC_TRANSA, p.trans_b);
    transpose(CUBLASLT_MATMUL_DESC_TRANSB, p.trans_a);
    lay_out(a, p,
            {p.trans_a ? p.k : p.m, p.trans_a ? p.m : p.k, p.between_rows_of_a(), p.stride_a});
    lay_out(b, p,
            {p.trans_b ? p.n : p.k, p.trans_b ? p.k : p.n, p.between_rows_of_b(), p.stride_b});
    lay_out(y, p, {p.m, p.n, p.between_rows_of_y(), p.stride_y});
    choose(p.alignment);
  }
  ~Chosen() {
    for (cublasLtMatrixLayout_t layout : {a, b, y})
      if (layout) api().destroy_layout(layout);
    if (product) api().destroy_product(product);
  }
  Chosen(const Chosen&) = delete;

 private:
  void transpose(cublasLtMatmulDescAttributes_t which, bool transposed) const {
    const cublasOperation_t value = transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    check_blas(api().set_product(product, which, &value, sizeof value), "a product");
  }

  // Row-major matrices, as stored in memory.
  struct Matrices {
    int64_t rows, columns, between_rows, stride;
  };
  static void lay_out(cublasLtMatrixLayout_t& layout, const MatrixProduct& p, const Matrices& of) {
    check_blas(api().create_layout(&layout, type_of(p.type), static_cast<uint64_t>(of.columns),
                                   static_cast<uint64_t>(of.rows), of.between_rows),
               "a matrix");
    const auto count = static_cast<int32_t>(p.batch);
    check_blas(api().set_layout(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count),
               "a batch");
    check_blas(api().set_layout(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &of.stride,
                                sizeof of.stride),
               "a batch");
  }

  void choose(uint32_t alignment) {
    cublasLtMatmulPreference_t preference = nullptr;
    check_blas(api().create_preference(&preference), "a preference");
    const std::size_t workspace = kWorkspace;
    // Partial sums are added in float32, never in the result's 16 bits.
    const uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
    cublasLtMatmulHeuristicResult_t best{};
    int found = 0;
    cublasStatus_t status = api().set_preference(
        preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace, sizeof workspace);
    if (status == CUBLAS_STATUS_SUCCESS)
      status = api().set_preference(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
                                    &reductions, sizeof reductions);
    for (const auto matrix :
         {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
          CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
      if (status == CUBLAS_STATUS_SUCCESS)
        status = api().set_preference(preference, matrix, &alignment, sizeof alignment);
    if (status == CUBLAS_STATUS_SUCCESS)
      status = api().choose(handle, product, b, a, y, y, preference, 1, &best, &found);
    api().destroy_preference(preference);
    supported(
        status != CUBLAS_STATUS_NOT_SUPPORTED && (status != CUBLAS_STATUS_SUCCESS || found > 0),
        "cuBLASLt has no algorithm for this product");
    check_blas(status, "choosing an algorithm");
    algorithm = best.algo;
  }
};

CublasProduct::CublasProduct(const MatrixProduct& product, bool has_device) : product_(product) {
  if (has_device) chosen_ = std::make_unique<Chosen>(product_);
}
CublasProduct::~CublasProduct() = default;

void CublasProduct::run(cudaStream_t stream, const void* a, const void* b, void* y,
                        void* workspace) {
  check(chosen_ != nullptr, "this plan was made without a GPU");
  check_blas(api().multiply(chosen_->handle, chosen_->product, &product_.alpha, b, chosen_->b, a,
                            chosen_->a, &product_.beta, y, chosen_->y, y, chosen_->y,
                            &chosen_->algorithm, workspace, kWorkspace, stream),
             "a product");
}

bool cublas_is_there() { return cublas_library().found(); }

}  // namespace lockstep
