#include <atomic>

#include "operators/kit/dispatch.h"
#include "operators/optimizer/optimizer.h"
#include "operators/optimizer/rules.h"
#include "operators/optimizer/update_elements.h"
#include "runtime/finite.h"
#include "runtime/parallel.h"

namespace lockstep {
namespace {

constexpr int64_t kGrain = 16384;

// All by value, and a separate function: otherwise the compiler must assume that results alias the
// arguments, and does not vectorise.
template <class Rule, class Given>
[[gnu::noinline]] void update_range(UpdateElements<Rule> parameter, Rule rule, Given given,
                                    bool skipped, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) parameter.update(rule, given, skipped, i);
}

template <class Rule, bool kMany>
std::unique_ptr<Kernel> prepare_update(const KernelRequest& request) {
  return make_kernel([rule = Rule::read(request.attributes()),
                      operands = UpdateOperandsOf<Rule>(request, kMany),
                      threads = request.threads](const KernelArgs& args) {
    const UpdateNumbers numbers = operands.numbers(args);
    const auto given = rule.given(*numbers.rate, numbers.number);
    const bool skipped = numbers.unless && *numbers.unless >= 0;
    for (std::size_t k = 0; k < operands.count(); ++k) {
      const UpdateElements<Rule> parameter = operands.at(args, k);
      parallel_for(parameter.count, kGrain, threads, [&](int64_t begin, int64_t end) {
        update_range(parameter, rule, given, skipped, begin, end);
      });
    }
  });
}

std::unique_ptr<Kernel> prepare_first_non_finite(const KernelRequest& request) {
  return make_kernel([threads = request.threads](const KernelArgs& args) {
    int64_t& first = *args.out[0].as<int64_t>();
    first = -1;
    for (std::size_t k = 0; k < args.in.size() && first < 0; ++k) {
      const float* x = args.in[k].as<float>();
      std::atomic<bool> finite{true};
      parallel_for(args.in[k].count(), kGrain, threads, [&](int64_t begin, int64_t end) {
        if (!all_finite(x + begin, end - begin)) finite = false;
      });
      if (!finite) first = static_cast<int64_t>(k);
    }
  });
}

}  // namespace

std::vector<KernelEntry> optimizer_cpu() {
  std::vector<KernelEntry> entries{
      {"FirstNonFinite", kOwnDomain, {{"CPU", takes<Float32>(), prepare_first_non_finite}}}};
  for_each_update_rule([&]<class Rule>() {
    entries.push_back(
        {Rule::kType, kOwnDomain, {{"CPU", takes<Float32>(), prepare_update<Rule, false>}}});
    entries.push_back({type_of_many(Rule::kType),
                       kOwnDomain,
                       {{"CPU", takes<Float32>(), prepare_update<Rule, true>}}});
  });
  return entries;
}

}  // namespace lockstep
