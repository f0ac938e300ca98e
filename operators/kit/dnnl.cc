// SPDX-License-Identifier: Apache-2.0
#include "operators/kit/dnnl.h"

#include <oneapi/dnnl/dnnl_debug.h>

#include <algorithm>

#include "graph/type_names.h"
#include "operators/kit/simd/isa.h"
#include "operators/layout/padding.h"
#include "runtime/threads/thread_limit.h"

namespace lockstep {
namespace {

constexpr TypeName<dnnl::memory::data_type> kTypes[] = {
    {DType::float32, dnnl::memory::data_type::f32},
    {DType::bfloat16, dnnl::memory::data_type::bf16},
    {DType::float16, dnnl::memory::data_type::f16}};
dnnl::memory::data_type data_type_of(DType dtype) { return name_in(kTypes, dtype, "oneDNN"); }

DType dtype_of(const dnnl::memory::desc& desc) {
#if DNNL_VERSION_MAJOR >= 3
  const dnnl::memory::data_type type = desc.get_data_type();
#else
  const dnnl::memory::data_type type = desc.data_type();
#endif
  for (const auto& [dtype, name] : kTypes)
    if (type == name) return dtype;
  return DType::undefined;
}

using Tag = dnnl::memory::format_tag;

// oneDNN's tag for a layout of tensors with `dimensions` dimensions.
struct TaggedLayout {
  Layout layout;
  std::size_t dimensions;
  Tag tag;
};
// Layouts shared by oneDNN's kernels and plans. Wide blocks come first.
const TaggedLayout kTagged[] = {{Layout::blocks(16), 3, Tag::aBc16b},
                                {Layout::blocks(16), 4, Tag::aBcd16b},
                                {Layout::blocks(16), 5, Tag::aBcde16b},
                                {Layout::blocks(8), 3, Tag::aBc8b},
                                {Layout::blocks(8), 4, Tag::aBcd8b},
                                {Layout::blocks(8), 5, Tag::aBcde8b},
                                {Layout::in({16, Turned::no, Pairs::none}), 4, Tag::ABcd16b16a},
                                {Layout::in({16, Turned::each, Pairs::none}), 4, Tag::ABcd16a16b},
                                {Layout::in({16, Turned::all, Pairs::none}), 4, Tag::BAcd16a16b},
                                {Layout::in({16, Turned::no, Pairs::flat}), 4, Tag::ABcd8b16a2b},
                                {Layout::in({16, Turned::each, Pairs::flat}), 4, Tag::ABcd8a16b2a},
                                {Layout::in({16, Turned::all, Pairs::flat}), 4, Tag::BAcd8a16b2a},
                                {Layout::in({16, Turned::no, Pairs::deep}), 4, Tag::ABcd16b16a2b},
                                {Layout::in({16, Turned::each, Pairs::deep}), 4, Tag::ABcd16a16b2a},
                                {Layout::in({8, Turned::no, Pairs::none}), 4, Tag::ABcd8b8a},
                                {Layout::in({8, Turned::each, Pairs::none}), 4, Tag::ABcd8a8b}};

// The first layout that `fits` and that `desc` describes; row-major if no layout does.
template <class Fits>
Layout tagged_layout(const dnnl::memory::desc& desc, const Dims& dims, const Fits& fits) {
  const DType dtype = dtype_of(desc);
  for (const TaggedLayout& known : kTagged)
    if (known.dimensions == dims.size() && fits(known.layout) &&
        desc == dnnl::memory::desc(dims, data_type_of(dtype), known.tag))
      return known.layout;
  return Layout();
}

void check_status(dnnl_status_t status, const char* verb, const std::string& what) {
  if (status != dnnl_success)
    fail("oneDNN ", dnnl_version(), ": ", verb, " ", what, " failed: ", dnnl_status2str(status));
}

}  // namespace

dnnl::engine& cpu_engine() {
  static dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

dnnl::primitive_attr planned_scratchpad() {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

dnnl::memory::desc plain_desc(const Dims& dims, DType dtype) {
  Dims strides(dims.size(), 1);
  for (std::size_t i = dims.size(); i-- > 1;)
    strides[i - 1] = strides[i] * std::max<int64_t>(1, dims[i]);
  return {dims, data_type_of(dtype), strides};
}

dnnl::memory::desc any_desc(const Dims& dims, DType dtype) {
  return {dims, data_type_of(dtype), dnnl::memory::format_tag::any};
}

bool has(dnnl::cpu_isa isa) {
  const auto needed = static_cast<unsigned>(isa);
  return (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & needed) == needed;
}

bool multiplies_bfloat16() { return has(dnnl::cpu_isa::avx512_core_bf16); }

std::string dnnl_floats(const KernelRequest& request) {
  const DType type = request.in[0].dtype;
  if (type == DType::bfloat16)
    return multiplies_bfloat16() ? "" : "takes bfloat16 on processors with AVX512-BF16";
  return type == DType::float32 ? "" : join("takes float32 or bfloat16, not ", type);
}

bool multiplies_bfloat16_matrices() { return has(dnnl::cpu_isa::avx512_core_amx); }

dnnl::memory::desc desc_of(const TensorDesc& tensor) {
  if (tensor.layout.is_rows()) return plain_desc(tensor.dims, tensor.dtype);
  for (const TaggedLayout& known : kTagged)
    if (known.layout == tensor.layout && known.dimensions == tensor.dims.size())
      return {tensor.dims, data_type_of(tensor.dtype), known.tag};
  fail("internal: oneDNN has no name for ", tensor);
}

Layout image_layout_of(const dnnl::memory::desc& desc, const Dims& dims) {
  return tagged_layout(desc, dims, [&](Layout layout) {
    return layout.is_blocks() && worth_padding(dims[1], layout.block());
  });
}

Layout filter_layout_of(const dnnl::memory::desc& desc, const Dims& dims) {
  return tagged_layout(desc, dims, [&](Layout layout) {
    return layout.is_tiles() && layout.tiles().are_filled_by(dims);
  });
}

dnnl::memory DnnlKernel::bind(const dnnl::memory::desc& desc, Source source, std::size_t index) {
  dnnl::memory memory(desc, cpu_engine(), DNNL_MEMORY_NONE);
  bindings_.push_back({memory, source, index});
  return memory;
}

dnnl::memory DnnlKernel::input(int index, const dnnl::memory::desc& plain,
                               const dnnl::memory::desc& wanted) {
  dnnl::memory from = bind(plain, Source::in, index);
  if (plain == wanted) return from;
  dnnl::memory to = scratch(wanted);
  reorder(from, to);
  return to;
}

dnnl::memory DnnlKernel::output(int index, const dnnl::memory::desc& plain,
                                const dnnl::memory::desc& made) {
  dnnl::memory to = bind(plain, Source::out, index);
  if (plain == made) return to;
  dnnl::memory from = scratch(made);
  results_.emplace_back(from, to);
  return from;
}

dnnl::memory DnnlKernel::scratch(const dnnl::memory::desc& desc) {
  std::size_t offset = workspace_;
  workspace_ += (desc.get_size() + 63) / 64 * 64;
  return bind(desc, Source::workspace, offset);
}

void DnnlKernel::append(const std::string& implementation, const dnnl::primitive& primitive,
                        const std::vector<std::pair<int, dnnl::memory>>& args, bool fine) {
  if (multiplies_matrices(implementation)) {
    const bool narrow = std::any_of(args.begin(), args.end(), [](const auto& arg) {
      return dtype_of(arg.second.get_desc()) == DType::bfloat16;
    });
    if (narrow)
      prepare_bfloat16_products();
    else
      prepare_sgemm();
  }
  if (multiplies_tiles(implementation)) prepare_tiles();
  Execution execution{primitive, {}, fine};
  for (const auto& [arg, memory] : args) execution.args.push_back({arg, memory.get()});
  executions_.push_back(std::move(execution));
}

void DnnlKernel::reorder(dnnl::memory from, dnnl::memory to) {
  reordered_ += from.get_desc().get_size() + to.get_desc().get_size();
  check_room_for_description();
  dnnl::reorder::primitive_desc desc(from, to, planned_scratchpad());
  execute<dnnl::reorder>(desc, {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}});
}

void DnnlKernel::move(int index, const dnnl::memory::desc& from, const dnnl::memory::desc& to) {
  const std::size_t operand = index;
  reorder(bind(from, Source::in, operand), bind(to, Source::out, operand));
}

void DnnlKernel::finish() {
  for (auto& [made, plain] : results_) reorder(made, plain);
}

// Calls the C interface, because the C++ interface first copies its arguments into a map.
void DnnlKernel::run(const KernelArgs& args) {
  for (Binding& binding : bindings_) {
    void* data = binding.source == Source::in    ? args.in[binding.index].data
                 : binding.source == Source::out ? args.out[binding.index].data
                                                 : args.workspace + binding.index;
    check_status(dnnl_memory_set_data_handle(binding.memory.get(), data), "binding operands of",
                 description_);
  }
  for (Execution& execution : executions_) {
    std::optional<FineShares> fine;
    if (execution.fine) fine.emplace();
    check_status(
        dnnl_primitive_execute(execution.primitive.get(), stream_.get(),
                               static_cast<int>(execution.args.size()), execution.args.data()),
        "executing", description_);
  }
  // oneDNN multiplies padding, too. An infinite operand leaves NaN in padding, and the next kernel
  // would spread it.
  for (const Tensor& result : args.out) clear_padding(result);
}

void sgemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, float alpha,
           const float* a, int64_t lda, const float* b, int64_t ldb, float beta, float* c,
           int64_t ldc) {
  check_status(dnnl_sgemm(transpose_a ? 'T' : 'N', transpose_b ? 'T' : 'N', m, n, k, alpha, a, lda,
                          b, ldb, beta, c, ldc),
               "multiplying by", "sgemm");
}

std::string dnnl_version() {
  const dnnl_version_t* version = ::dnnl_version();
  return join(version->major, ".", version->minor, ".", version->patch);
}

}  // namespace lockstep
