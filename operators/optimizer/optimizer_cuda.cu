#include "operators/kit/dispatch.h"
#include "operators/kit/elements_cuda.h"
#include "operators/optimizer/optimizer.h"
#include "operators/optimizer/rules.h"
#include "operators/optimizer/update_elements.h"

namespace lockstep {
namespace {

// The description of many parameters for a launch; passed as the kernel's argument.
constexpr int kMostUpdates = 256;
constexpr int64_t kChunk = 4096;  // elements of a block

template <class Rule>
struct Updates {
  Rule rule;
  UpdateNumbers numbers;
  int count = 0;
  int first_block[kMostUpdates + 1] = {0};
  UpdateElements<Rule> parameters[kMostUpdates] = {};

  void add(const UpdateElements<Rule>& parameter) {
    parameters[count] = parameter;
    const auto blocks = static_cast<int>((parameter.count + kChunk - 1) / kChunk);
    first_block[count + 1] = first_block[count] + blocks;
    ++count;
  }
};

template <class Rule>
__global__ void __launch_bounds__(kBlock)
    run_updates(const __grid_constant__ Updates<Rule> updates) {
  int low = 0, high = updates.count;  // the parameter that this block belongs to
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    (static_cast<int>(blockIdx.x) >= updates.first_block[middle] ? low : high) = middle;
  }
  const UpdateNumbers& numbers = updates.numbers;
  const auto given = updates.rule.given(*numbers.rate, numbers.number);
  const bool skipped = numbers.unless && *numbers.unless >= 0;
  const UpdateElements<Rule>& parameter = updates.parameters[low];
  const int64_t begin = (static_cast<int64_t>(blockIdx.x) - updates.first_block[low]) * kChunk;
  const int64_t end = std::min(begin + kChunk, parameter.count);
  for (int64_t i = begin + threadIdx.x; i < end; i += kBlock)
    parameter.update(updates.rule, given, skipped, i);
}

template <class Rule, bool kMany>
std::unique_ptr<Kernel> prepare_update(const KernelRequest& request) {
  static_assert(sizeof(Updates<Rule>) <= 32764, "more than a kernel's arguments may be");
  return make_kernel([rule = Rule::read(request.attributes()),
                      operands = UpdateOperandsOf<Rule>(request, kMany)](const KernelArgs& args) {
    const std::size_t n = operands.count();
    for (std::size_t first = 0; first < n; first += kMostUpdates) {
      Updates<Rule> updates{rule, operands.numbers(args)};
      for (std::size_t k = first; k < std::min(n, first + kMostUpdates); ++k)
        updates.add(operands.at(args, k));
      const int blocks = updates.first_block[updates.count];
      if (blocks == 0) continue;
      launch(run_updates<Rule>, static_cast<unsigned>(blocks), kBlock, stream_of(args), updates);
    }
  });
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
    entries.push_back({type_of_many(Rule::kType),
                       kOwnDomain,
                       {{"GPU", takes<Float32>(), prepare_update<Rule, true>}}});
  });
  return entries;
}

}  // namespace lockstep
