#include "operators/kit/chunks_cuda.h"
#include "operators/kit/dispatch.h"
#include "operators/optimizer/optimizer.h"
#include "operators/optimizer/rules.h"
#include "operators/optimizer/update_elements.h"
#include "operators/optimizer/update_places.h"

namespace lockstep {
namespace {

// A gradient as the backward pass left it: of 32 or 16 bits, and with its channels innermost or as
// the parameter is. Divisions in 64 bits are slow.
struct LaidGradient {
  const void* data = nullptr;
  DType type = DType::float32;
  uint32_t channels = 1, plane = 1;  // plane: 1 if places are the parameter's

  __device__ float at(int64_t i) const {
    const int64_t place = plane == 1 ? i : place_of(static_cast<uint32_t>(i));
    if (type == DType::float16) return computed(static_cast<const __half*>(data)[place]);
    if (type == DType::bfloat16) return computed(static_cast<const __nv_bfloat16*>(data)[place]);
    return static_cast<const float*>(data)[place];
  }
  __device__ uint32_t place_of(uint32_t i) const {
    const uint32_t row = i / (channels * plane), within = i - row * channels * plane;
    const uint32_t channel = within / plane;
    return row * channels * plane + (within - channel * plane) * channels + channel;
  }
};

LaidGradient laid(const Tensor& gradient) {
  const TensorDesc& desc = gradient.desc;
  if (desc.channel_block == 1) return {gradient.data, desc.dtype};
  const int64_t channels = desc.dims[1];
  return {gradient.data, desc.dtype, static_cast<uint32_t>(channels),
          static_cast<uint32_t>(desc.count() / desc.dims[0] / channels)};
}

template <class Rule>
struct Parameter {
  UpdateElements<Rule> elements;
  LaidGradient gradient;
};

template <class Rule>
struct Updates {
  Rule rule;
  UpdateNumbers numbers;
  Chunks<Parameter<Rule>> parameters;
};

template <class Rule>
__global__ void __launch_bounds__(kBlock)
    run_updates(const __grid_constant__ Updates<Rule> updates) {
  const UpdateNumbers& numbers = updates.numbers;
  const auto given = updates.rule.given(*numbers.rate, numbers.number);
  const bool skipped = numbers.unless && *numbers.unless >= 0;
  updates.parameters.here([&](const Parameter<Rule>& parameter, int64_t begin) {
    const int64_t end = std::min(begin + kChunk, parameter.elements.count);
    for (int64_t i = begin + threadIdx.x; i < end; i += kBlock)
      parameter.elements.update(updates.rule, given, skipped, i, parameter.gradient.at(i));
  });
}

template <class Rule, bool kMany>
std::unique_ptr<Kernel> prepare_update(const KernelRequest& request) {
  static_assert(sizeof(Updates<Rule>) <= 32764, "more than a kernel's arguments may be");
  return make_kernel([rule = Rule::read(request.attributes()),
                      operands = UpdateOperandsOf<Rule>(request, kMany)](const KernelArgs& args) {
    const std::size_t n = operands.count();
    for (std::size_t first = 0; first < n; first += kMostTensors) {
      Updates<Rule> updates{rule, operands.numbers(args), {}};
      for (std::size_t k = first; k < std::min(n, first + kMostTensors); ++k) {
        const UpdateElements<Rule> elements = operands.at(args, k);
        updates.parameters.add({elements, laid(operands.gradient(args, k))}, elements.count);
      }
      const int blocks = updates.parameters.blocks();
      if (blocks == 0) continue;
      launch(run_updates<Rule>, static_cast<unsigned>(blocks), kBlock, stream_of(args), updates);
    }
  });
}

// Narrow gradients as they lie, if all channels are innermost.
template <class Rule>
Layouts gradients_as_laid(const KernelRequest& request) {
  Layouts layouts = row_major(request);
  const std::size_t n = request.attributes().numbers("factors").size();
  const auto places = UpdatePlaces::of_many(Rule::kSlots, n);
  for (std::size_t k = 0; k < n; ++k) {
    const TensorDesc& gradient = request.in[places.gradient(k)];
    if (gradient.channel_block > 1 && gradient.channel_block == gradient.dims[1] &&
        gradient.count() <= UINT32_MAX)
      layouts.in[places.gradient(k)] = gradient.channel_block;
  }
  return layouts;
}

struct Answer {
  int64_t* to;
  int64_t value;
  __device__ void operator()(int64_t) const { *to = value; }
};
struct AnswerIfNotFinite {
  const float* x;
  int64_t* to;
  int64_t value;
  __device__ void operator()(int64_t i) const {
    if (!isfinite(x[i])) *to = value;  // all writers write the same value
  }
};

// From the last operand to the first, so that the first non-finite one writes last.
std::unique_ptr<Kernel> prepare_first_non_finite(const KernelRequest&) {
  return make_kernel([](const KernelArgs& args) {
    auto* first = args.out[0].as<int64_t>();
    for_elements(args, 1, Answer{first, -1});
    for (std::size_t k = args.in.size(); k-- > 0;)
      for_elements(args, args.in[k].count(),
                   AnswerIfNotFinite{args.in[k].as<const float>(), first, static_cast<int64_t>(k)});
  });
}

}  // namespace

std::vector<KernelEntry> optimizer_cuda() {
  std::vector<KernelEntry> entries{
      {"FirstNonFinite", kOwnDomain, {{"GPU", takes<Float32>(), prepare_first_non_finite}}}};
  for_each_update_rule([&]<class Rule>() {
    entries.push_back(
        {Rule::kType, kOwnDomain, {{"GPU", takes<Float32>(), prepare_update<Rule, false>}}});
    entries.push_back(
        {type_of_many(Rule::kType),
         kOwnDomain,
         {{"GPU", takes<Float32>(), prepare_update<Rule, true>, gradients_as_laid<Rule>}}});
  });
  return entries;
}

}  // namespace lockstep
