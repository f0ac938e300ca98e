// SPDX-License-Identifier: Apache-2.0
#include "operators/elementwise/casts.h"
#include "operators/kit/chunks_cuda.h"
#include "operators/kit/dispatch.h"
#include "operators/optimizer/optimizer.h"
#include "operators/optimizer/rules.h"
#include "operators/optimizer/update_elements.h"
#include "operators/optimizer/update_operands.h"

namespace lockstep {
namespace {

// The layout of a gradient, as the backward pass wrote it, and of a copy, as the forward pass needs
// it. Each has 32 or 16 bits, and is channels-last or has the parameter's layout. The size of a
// launch's arguments limits the fields for each parameter.
struct LaidBeside {
  const void* gradient = nullptr;
  void* copy = nullptr;  // null: none
  uint32_t channels = 1, plane = 1;
  int8_t gradient_type = 0, copy_type = 0;        // DType
  bool gradient_last = false, copy_last = false;  // true if channels-last

  __device__ float slope(int64_t i, int64_t with_channels_last) const {
    const int64_t place = gradient_last ? with_channels_last : i;
    return read(TensorFloats(), gradient, gradient_type, place);
  }
  __device__ void write(int64_t i, int64_t with_channels_last, float value) const {
    if (!copy) return;
    const int64_t place = copy_last ? with_channels_last : i;
    store(TensorFloats(), copy, copy_type, place, value);
  }
  // The channels-last offset of the parameter's element i. 64-bit divisions are slow.
  __device__ int64_t channels_last(int64_t place) const {
    if (!gradient_last && !copy_last) return place;
    const auto i = static_cast<uint32_t>(place);
    const uint32_t row = i / (channels * plane), within = i - row * channels * plane;
    const uint32_t channel = within / plane;
    return row * channels * plane + (within - channel * plane) * channels + channel;
  }

 private:
  template <class T>
  __device__ static bool is(int8_t type) {
    return type == static_cast<int8_t>(dtype_of<T>());
  }
  template <class... T>
  __device__ static float read(Types<T...>, const void* data, int8_t type, int64_t place) {
    float value = 0;
    ((is<T>(type) && (value = computed(static_cast<const DeviceType<T>*>(data)[place]), true)) ||
     ...);
    return value;
  }
  template <class... T>
  __device__ static void store(Types<T...>, void* data, int8_t type, int64_t place, float value) {
    ((is<T>(type) &&
      (static_cast<DeviceType<T>*>(data)[place] = stored<DeviceType<T>>(value), true)) ||
     ...);
  }
};

LaidBeside laid(const Tensor& gradient, const Tensor* copy) {
  LaidBeside made{.gradient = gradient.data,
                  .gradient_type = static_cast<int8_t>(gradient.desc.dtype)};
  if (copy) {
    made.copy = copy->data;
    made.copy_type = static_cast<int8_t>(copy->desc.dtype);
  }
  const Dims& dims = gradient.desc.dims;
  if (dims.size() < 3 || gradient.count() == 0) return made;
  made.channels = static_cast<uint32_t>(dims[1]);
  made.plane = static_cast<uint32_t>(gradient.count() / dims[0] / dims[1]);
  made.gradient_last = made.plane > 1 && gradient.desc.layout.is_channels_last();
  made.copy_last = made.plane > 1 && copy && copy->desc.layout.is_channels_last();
  return made;
}

template <class Rule>
struct Parameter {
  UpdateElements<Rule> elements;
  LaidBeside beside;
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
    for (int64_t i = begin + threadIdx.x; i < end; i += kBlock) {
      const int64_t last = parameter.beside.channels_last(i);
      const float slope = parameter.beside.slope(i, last);
      parameter.beside.write(i, last,
                             parameter.elements.update(updates.rule, given, skipped, i, slope));
    }
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
        updates.parameters.add(
            {elements, laid(operands.gradient(args, k), operands.only_copy(args, k))},
            elements.count);
      }
      const int blocks = updates.parameters.blocks();
      if (blocks == 0) continue;
      launch(run_updates<Rule>, static_cast<unsigned>(blocks), kBlock, stream_of(args), updates);
    }
  });
}

// Reads channels-last gradients without a reorder, and writes copies in the layouts of the casts
// that they replace.
template <class Rule>
Layouts laid_beside(const KernelRequest& request) {
  Layouts layouts = row_major(request);
  const std::size_t n = request.attributes().numbers("factors").size();
  const std::vector<int64_t> copies = request.attributes().integers("copies");
  const auto places = UpdatePlaces::of_many(Rule::kSlots, n, copies.size());
  for (std::size_t k = 0; k < n; ++k) {
    const TensorDesc& gradient = request.in[places.gradient(k)];
    if (gradient.layout.is_channels_last() && gradient.count() <= UINT32_MAX)
      layouts.in[places.gradient(k)] = gradient.layout;
  }
  for (std::size_t c = 0; c < copies.size(); ++c)
    layouts.out[places.new_copy(c)] = layout_of_cast(request.in[places.param(copies[c])]);
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

// Checks operands from the last to the first, so that the first non-finite operand is written last.
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
    entries.push_back({type_of_many(Rule::kType),
                       kOwnDomain,
                       {{"GPU", takes<Float32>(), prepare_update<Rule, true>, laid_beside<Rule>}}});
  });
  return entries;
}

}  // namespace lockstep
