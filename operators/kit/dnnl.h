// SPDX-License-Identifier: Apache-2.0
// A oneDNN helper that hides the differences between versions 2.6 (Debian 12) and 3.x in describing
// primitives. For operators/*_cpu.cc.
#pragma once

#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/kernel.h"
#include "runtime/threads/parallel.h"

namespace lockstep {

dnnl::engine& cpu_engine();

// Scratchpads are part of the planned workspace: no hidden allocation, and one primitive may run on
// several replicas at once.
dnnl::primitive_attr planned_scratchpad();

// Throw NoMemory where there is no room for what oneDNN allocates while it describes a primitive,
// or compiles one.
void check_room_for_description();
void check_room_for_code(const std::string& implementation);

// A primitive's description; the arguments are oneDNN 3's after the engine.
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

// The same for backward primitives, which take the forward description as a hint.
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

// Descriptions of a tensor as it lies in the plan (row-major) and as "whatever is fastest".
dnnl::memory::desc plain_desc(const Dims& dims, DType dtype = DType::float32);
dnnl::memory::desc any_desc(const Dims& dims, DType dtype = DType::float32);

// Whether the processor, and oneDNN's limit on what is used of it, have all of `isa`.
bool has(dnnl::cpu_isa isa);
// A refusal: takes float32, and bfloat16 where the processor multiplies it. Elsewhere oneDNN
// emulates it, which is slower than widening.
std::string dnnl_floats(const KernelRequest& request);
// Whether oneDNN's kernels use a processor's matrix unit for it.
bool multiplies_bfloat16_matrices();

// The same for a tensor in its own layout.
dnnl::memory::desc desc_of(const TensorDesc& tensor);
// The layout of images in the plan's terms. Row-major where the plan has no such layout, or where
// blocks would mostly be padding.
Layout image_layout_of(const dnnl::memory::desc& desc, const Dims& dims);
// The layout of filters of one group: tiles that the filters fill, or row-major.
Layout filter_layout_of(const dnnl::memory::desc& desc, const Dims& dims);

// Whether oneDNN's implementation of that name computes products of matrices, which one of the next
// two functions prepares.
bool multiplies_matrices(const std::string& implementation);
// Makes what sgemm() needs besides its operands, once in a process: kernels that multiply call this
// when they are prepared. Throws if there is no memory.
void prepare_sgemm();
// The same for convolutions that oneDNN computes as products of bfloat16.
void prepare_bfloat16_products();
// True if oneDNN's implementation of that name computes by AMX tiles. prepare_tiles() compiles the
// functions that configure them.
bool multiplies_tiles(const std::string& implementation);
void prepare_tiles();

// A kernel of oneDNN primitives. Prepare by naming operands and the primitives to execute in order;
// reorders between the plan's layout and a primitive's go through the workspace.
class DnnlKernel final : public Kernel {
 public:
  explicit DnnlKernel(std::string description) : description_(std::move(description)) {}

  // Operand `index` of the node, stored as `plain`, in the layout `wanted`.
  dnnl::memory input(int index, const dnnl::memory::desc& plain, const dnnl::memory::desc& wanted);
  // Result `index`; finish() adds the reorder back to `plain`.
  dnnl::memory output(int index, const dnnl::memory::desc& plain, const dnnl::memory::desc& made);
  dnnl::memory scratch(const dnnl::memory::desc& desc);
  // Moves operand `index` to result `index`, in another layout.
  void move(int index, const dnnl::memory::desc& from, const dnnl::memory::desc& to);
  // Compiles the primitive and adds its scratchpad. `fine`: `desc` was made under FineShares, and
  // the primitive runs so.
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
  std::vector<std::pair<dnnl::memory, dnnl::memory>> results_;  // made, plain
  dnnl::stream stream_{cpu_engine()};
};

// C = alpha * op(A) op(B) + beta * C, row-major; threads as set for this thread.
void sgemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, float alpha,
           const float* a, int64_t lda, const float* b, int64_t ldb, float beta, float* c,
           int64_t ldc);

std::string dnnl_version();

}  // namespace lockstep
