// SPDX-License-Identifier: Apache-2.0
#include "operators/kit/dnnl.h"

#include <oneapi/dnnl/dnnl_debug.h>

#include <algorithm>

#include "operators/layout/padding.h"

namespace lockstep {
namespace {

dnnl::memory::data_type data_type_of(DType dtype) {
  switch (dtype) {
    case DType::float32:
      return dnnl::memory::data_type::f32;
    case DType::bfloat16:
      return dnnl::memory::data_type::bf16;
    case DType::float16:
      return dnnl::memory::data_type::f16;
    default:
      fail("oneDNN kernels do not take ", dtype);
  }
}

DType dtype_of(const dnnl::memory::desc& desc) {
#if DNNL_VERSION_MAJOR >= 3
  const dnnl::memory::data_type type = desc.get_data_type();
#else
  const dnnl::memory::data_type type = desc.data_type();
#endif
  for (const DType dtype : {DType::float32, DType::bfloat16, DType::float16})
    if (type == data_type_of(dtype)) return dtype;
  return DType::undefined;
}

// The tiles in which oneDNN's convolutions read and write filters.
const std::vector<std::pair<FilterTiles, dnnl::memory::format_tag>> kTiles{
    {{16, Turned::no, Pairs::none}, dnnl::memory::format_tag::ABcd16b16a},
    {{16, Turned::each, Pairs::none}, dnnl::memory::format_tag::ABcd16a16b},
    {{16, Turned::all, Pairs::none}, dnnl::memory::format_tag::BAcd16a16b},
    {{16, Turned::no, Pairs::flat}, dnnl::memory::format_tag::ABcd8b16a2b},
    {{16, Turned::each, Pairs::flat}, dnnl::memory::format_tag::ABcd8a16b2a},
    {{16, Turned::all, Pairs::flat}, dnnl::memory::format_tag::BAcd8a16b2a},
    {{16, Turned::no, Pairs::deep}, dnnl::memory::format_tag::ABcd16b16a2b},
    {{16, Turned::each, Pairs::deep}, dnnl::memory::format_tag::ABcd16a16b2a},
    {{8, Turned::no, Pairs::none}, dnnl::memory::format_tag::ABcd8b8a},
    {{8, Turned::each, Pairs::none}, dnnl::memory::format_tag::ABcd8a8b}};

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

std::string dnnl_floats(const KernelRequest& request) {
  const DType type = request.in[0].dtype;
  if (type == DType::bfloat16)
    return has(dnnl::cpu_isa::avx512_core_bf16) ? ""
                                                : "takes bfloat16 on processors with AVX512-BF16";
  return type == DType::float32 ? "" : join("takes float32 or bfloat16, not ", type);
}

bool multiplies_bfloat16_matrices() { return has(dnnl::cpu_isa::avx512_core_amx); }

dnnl::memory::desc desc_of(const TensorDesc& tensor) {
  if (tensor.channel_block == 1) return plain_desc(tensor.dims, tensor.dtype);
  using Tag = dnnl::memory::format_tag;
  if (is_in_tiles(tensor.channel_block)) {
    const auto in = [&](Tag tag) -> dnnl::memory::desc {
      return {tensor.dims, data_type_of(tensor.dtype), tag};
    };
    check(tensor.dims.size() == 4, "internal: tiles in ", tensor.dims.size(), " dimensions");
    for (const auto& [tiles, tag] : kTiles)
      if (tensor.channel_block == layout_of(tiles)) return in(tag);
    fail("internal: filters lie as ", text_of(tensor));
  }
  // oneDNN's tags name the block, for each number of spatial dimensions.
  const bool wide = tensor.channel_block == 16;
  check(wide || tensor.channel_block == 8, "internal: channel blocks of ", tensor.channel_block);
  const Tag tags[2][3] = {{Tag::aBc8b, Tag::aBcd8b, Tag::aBcde8b},
                          {Tag::aBc16b, Tag::aBcd16b, Tag::aBcde16b}};
  check(tensor.dims.size() >= 3 && tensor.dims.size() <= 5, "internal: channel blocks in ",
        tensor.dims.size(), " dimensions");
  return {tensor.dims, data_type_of(tensor.dtype), tags[wide ? 1 : 0][tensor.dims.size() - 3]};
}

int channel_block_of(const dnnl::memory::desc& desc, const Dims& dims) {
  const DType dtype = dtype_of(desc);
  if (desc == plain_desc(dims, dtype)) return 1;
  for (int block : {16, 8})
    if (dims.size() >= 3 && dims.size() <= 5 && worth_padding(dims[1], block) &&
        desc == desc_of({dtype, dims, block}))
      return block;
  return 0;
}

int filter_layout_of(const dnnl::memory::desc& desc, const Dims& dims) {
  if (dims.size() != 4) return 1;
  const DType dtype = dtype_of(desc);
  for (const auto& [tiles, tag] : kTiles)
    if (dims[0] % tiles.outputs() == 0 && dims[1] % tiles.inputs() == 0 &&
        desc == desc_of({dtype, dims, layout_of(tiles)}))
      return layout_of(tiles);
  return 1;
}

dnnl::memory DnnlKernel::bind(const dnnl::memory::desc& desc, Source source, std::size_t index) {
  dnnl::memory memory(desc, cpu_engine(), DNNL_MEMORY_NONE);
  bindings_.push_back({memory, source, index});
  return memory;
}

dnnl::memory DnnlKernel::input(int index, const dnnl::memory::desc& plain,
                               const dnnl::memory::desc& wanted) {
  dnnl::memory from = bind(plain, Source::in, static_cast<std::size_t>(index));
  if (plain == wanted) return from;
  dnnl::memory to = scratch(wanted);
  reorder(from, to);
  return to;
}

dnnl::memory DnnlKernel::output(int index, const dnnl::memory::desc& plain,
                                const dnnl::memory::desc& made) {
  dnnl::memory to = bind(plain, Source::out, static_cast<std::size_t>(index));
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
  const auto operand = static_cast<std::size_t>(index);
  reorder(bind(from, Source::in, operand), bind(to, Source::out, operand));
}

void DnnlKernel::finish() {
  for (auto& [made, plain] : results_) reorder(made, plain);
}

// Uses the C interface: the C++ one copies its arguments into a map first.
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
  // oneDNN multiplies padding, too: an infinite operand leaves NaN, which the next kernel would
  // spread.
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
