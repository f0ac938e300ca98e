// SPDX-License-Identifier: Apache-2.0
// Helpers for oneDNN that hide the differences between versions 2.6 (Debian 12) and 3.x. For
// operators/*_cpu.cc.
#pragma once

#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lockstep/kernel.h"
#include "runtime/threads/thread_limit.h"

namespace lockstep {

dnnl::engine& cpu_engine();

// Makes scratchpads part of the planned workspace: oneDNN allocates nothing, and one primitive may
// run on several replicas at once.
dnnl::primitive_attr planned_scratchpad();

// Throw NoMemory if there is not enough memory for oneDNN's allocations while it describes or
// compiles a primitive.
void check_room_for_description();
void check_room_for_code(const std::string& implementation);

// Returns a primitive's description. The arguments are the ones of oneDNN 3 after the engine.
template <class Primitive, class... Args>
typename Primitive::primitive_desc describe_primitive(Args&&... args) {
  check_room_for_description();
#if DNNL_VERSION_MAJOR >= 3
  return {cpu_engine(), std::forward<Args>(args)..., planned_scratchpad()};
#else
  return {typename Primitive::desc(std::forward<Args>(args)...), planned_scratchpad(),
          cpu_engine()};
#endif
}

// Describes a backward primitive, which needs the forward description as a hint.
template <class Primitive, class Hint, class... Args>
typename Primitive::primitive_desc describe_backward(const Hint& hint, Args&&... args) {
  check_room_for_description();
#if DNNL_VERSION_MAJOR >= 3
  return {cpu_engine(), std::forward<Args>(args)..., hint, planned_scratchpad()};
#else
  return {typename Primitive::desc(std::forward<Args>(args)...), planned_scratchpad(), cpu_engine(),
          hint};
#endif
}

// plain_desc() describes a row-major tensor, any_desc() lets oneDNN choose the fastest layout.
dnnl::memory::desc plain_desc(const Dims& dims, DType dtype = DType::float32);
dnnl::memory::desc any_desc(const Dims& dims, DType dtype = DType::float32);

// True if the processor has all of `isa` and oneDNN's ISA limit permits it.
bool has(dnnl::cpu_isa isa);
// A refusal that accepts float32, and bfloat16 on processors that multiply it. On other processors
// oneDNN emulates bfloat16, which is slower than widening.
std::string dnnl_floats(const KernelRequest& request);
// True if oneDNN's bfloat16 kernels use the processor's matrix unit (AMX).
bool multiplies_bfloat16_matrices();

// Describes a tensor in its planned layout.
dnnl::memory::desc desc_of(const TensorDesc& tensor);
// The plan's name for a layout of images. Row-major if the plan has no such layout, or if blocks
// would mostly be padding.
Layout image_layout_of(const dnnl::memory::desc& desc, const Dims& dims);
// The plan's name for a layout of the filters of one group: tiles without padding, or row-major.
Layout filter_layout_of(const dnnl::memory::desc& desc, const Dims& dims);

// True if oneDNN's implementation of this name computes matrix products. prepare_sgemm() or
// prepare_bfloat16_products() prepares them.
bool multiplies_matrices(const std::string& implementation);
// Makes everything that sgemm() needs besides its operands, once per process. Kernels that multiply
// call this when they are prepared. Throws if there is not enough memory.
void prepare_sgemm();
// Prepares convolutions that oneDNN computes as bfloat16 matrix products, once per process.
void prepare_bfloat16_products();
// True if oneDNN's implementation of this name computes with AMX tiles. prepare_tiles() compiles
// the functions that configure tiles.
bool multiplies_tiles(const std::string& implementation);
void prepare_tiles();

// A kernel of oneDNN primitives. To prepare a kernel, name operands and the primitives to execute
// in order. Reorders between the plan's layout and a primitive's layout go through the workspace.
class DnnlKernel final : public Kernel {
 public:
  explicit DnnlKernel(std::string description) : description_(std::move(description)) {}

  // Binds operand `index` of the node, stored as `plain`, in the layout `wanted`.
  dnnl::memory input(int index, const dnnl::memory::desc& plain, const dnnl::memory::desc& wanted);
  // Binds result `index`; finish() adds the reorder back to `plain`.
  dnnl::memory output(int index, const dnnl::memory::desc& plain, const dnnl::memory::desc& made);
  dnnl::memory scratch(const dnnl::memory::desc& desc);
  // Copies operand `index` to result `index`, in another layout.
  void move(int index, const dnnl::memory::desc& from, const dnnl::memory::desc& to);
  // Compiles the primitive and adds its scratchpad. `fine`: `desc` was made under FineShares, and
  // the primitive runs under FineShares.
  template <class Primitive, class PrimitiveDesc>
  void execute(const PrimitiveDesc& desc, std::vector<std::pair<int, dnnl::memory>> args,
               bool fine = false) {
    if (desc.scratchpad_desc().get_size() > 0)
      args.emplace_back(DNNL_ARG_SCRATCHPAD, scratch(desc.scratchpad_desc()));
    std::optional<FineShares> shares;
    if (fine) shares.emplace();
    check_room_for_code(desc.impl_info_str());
    append(desc.impl_info_str(), Primitive(desc), args, fine);
  }
  void finish();

  void run(const KernelArgs& args) override;
  std::size_t workspace_bytes() const override { return workspace_; }
  std::size_t reordered_bytes() const override { return reordered_; }
  std::string describe() const override { return description_; }

 private:
  enum class Source { in, out, workspace };
  struct Binding {
    dnnl::memory memory;
    Source source;
    std::size_t index;  // operand, or offset in the workspace
  };
  struct Execution {
    dnnl::primitive primitive;
    std::vector<dnnl_exec_arg_t> args;
    bool fine;
  };

  dnnl::memory bind(const dnnl::memory::desc& desc, Source source, std::size_t index);
  void append(const std::string& implementation, const dnnl::primitive& primitive,
              const std::vector<std::pair<int, dnnl::memory>>& args, bool fine);
  void reorder(dnnl::memory from, dnnl::memory to);

  std::string description_;
  std::size_t workspace_ = 0, reordered_ = 0;
  std::vector<Binding> bindings_;
  std::vector<Execution> executions_;
  std::vector<std::pair<dnnl::memory, dnnl::memory>> results_;  // layout made by the primitive,
                                                                // planned layout
  dnnl::stream stream_{cpu_engine()};
};

// C = alpha * op(A) op(B) + beta * C, row-major. Uses this thread's limit on threads.
void sgemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, float alpha,
           const float* a, int64_t lda, const float* b, int64_t ldb, float beta, float* c,
           int64_t ldc);

std::string dnnl_version();

}  // namespace lockstep
