#include <algorithm>
#include <atomic>

#include "operators/kit/dispatch.h"
#include "operators/optimizer/optimizer.h"
#include "operators/optimizer/rules.h"
#include "operators/optimizer/update_elements.h"
#include "operators/optimizer/written_twice.h"
#include "runtime/finite.h"
#include "runtime/parallel.h"

namespace lockstep {
namespace {

constexpr int64_t kGrain = 16384;

// Elements are updated in arrays of this function's own, piece by piece: results lie over operands,
// and for pointers to both the compiler would not compute several elements at once.
template <class Rule, class Given>
void update_range(const UpdateElements<Rule>& parameter, const float* gradients, const Tensor* copy,
                  Rule rule, Given given, bool skipped, int64_t begin, int64_t end) {
  constexpr int64_t kPiece = kPieceOfCopy;
  float gradient[kPiece], param[kPiece], step[kPiece], slots[Rule::kSlots][kPiece];
  UpdateElements<Rule> piece;
  piece.param = piece.new_param = param;
  for (int s = 0; s < Rule::kSlots; ++s) piece.slots[s] = piece.new_slots[s] = slots[s];
  piece.step = parameter.step ? step : nullptr;
  piece.factor = parameter.factor;
  piece.decay = parameter.decay;
  for (; begin < end; begin += kPiece) {
    const int64_t count = std::min(kPiece, end - begin);
    std::copy_n(gradients + begin, count, gradient);
    std::copy_n(parameter.param + begin, count, param);
    for (int s = 0; s < Rule::kSlots; ++s) std::copy_n(parameter.slots[s] + begin, count, slots[s]);
    for (int64_t i = 0; i < count; ++i) piece.update(rule, given, skipped, i, gradient[i]);
    std::copy_n(param, count, parameter.new_param + begin);
    if (copy) write_copy(param, *copy, begin, count);
    for (int s = 0; s < Rule::kSlots; ++s)
      std::copy_n(slots[s], count, parameter.new_slots[s] + begin);
    if (parameter.step) std::copy_n(step, count, parameter.step + begin);
  }
}

// A share of a sweep begins and ends between two pieces of a parameter, or with the parameter.
int64_t whole_pieces(int64_t elements, int64_t all) {
  return std::min(all, (elements + kPieceOfCopy - 1) / kPieceOfCopy * kPieceOfCopy);
}

// One sweep over all parameters, however small some are. `ends`: of each parameter, counted from
// the first one's start.
template <class Rule, bool kMany>
std::unique_ptr<Kernel> prepare_update(const KernelRequest& request) {
  const UpdateOperandsOf<Rule> operands(request, kMany);
  std::vector<int64_t> ends;
  for (std::size_t k = 0; k < operands.count(); ++k)
    ends.push_back((ends.empty() ? 0 : ends.back()) +
                   request.out[operands.places().new_param(k)].count());
  return make_kernel([rule = Rule::read(request.attributes()), operands, ends,
                      threads = request.threads](const KernelArgs& args) {
    const UpdateNumbers numbers = operands.numbers(args);
    const auto given = rule.given(*numbers.rate, numbers.number);
    const bool skipped = numbers.unless && *numbers.unless >= 0;
    const int64_t count = ends.empty() ? 0 : ends.back();
    parallel_for(count, kGrain, threads, [&](int64_t begin, int64_t end) {
      auto k = static_cast<std::size_t>(std::ranges::upper_bound(ends, begin) - ends.begin());
      for (; begin < end; begin = ends[k++]) {
        const int64_t first = k == 0 ? 0 : ends[k - 1];
        const int64_t all = ends[k] - first;
        update_range(operands.at(args, k), operands.gradient(args, k).template as<const float>(),
                     operands.copy(args, k), rule, given, skipped, whole_pieces(begin - first, all),
                     whole_pieces(std::min(end, ends[k]) - first, all));
      }
    });
  });
}

// A parameter that lies as its gradient does is updated as both lie, and so are its slots. Copies
// are row-major, as casts are.
template <class Rule, bool kMany>
Layouts update_wish(const KernelRequest& request) {
  const UpdateOperandsOf<Rule> operands(request, kMany);
  const UpdatePlaces places = operands.places();
  Layouts layouts = row_major(request);
  for (std::size_t k = 0; k < places.params; ++k) {
    const int block = request.in[places.gradient(k)].channel_block;
    if (operands.has_copy(k) || block != request.in[places.param(k)].channel_block) continue;
    layouts.in[places.gradient(k)] = layouts.in[places.param(k)] = block;
    layouts.out[places.new_param(k)] = block;
    for (std::size_t s = 0; s < places.slots; ++s)
      layouts.in[places.slot(s, k)] = layouts.out[places.new_slot(s, k)] = block;
    if (!kMany) layouts.out[UpdatePlaces::kStep] = block;
  }
  return layouts;
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

// Narrow gradients are widened first.
std::string only_float32(const KernelRequest& request) {
  for (const TensorDesc& in : request.in)
    if (in.dtype == DType::float16 || in.dtype == DType::bfloat16)
      return text_of_types({DType::float32}, in.dtype);
  return "";
}

}  // namespace

std::vector<KernelEntry> optimizer_cpu() {
  const Refusal floats = every({takes<Float32>(), only_float32});
  std::vector<KernelEntry> entries{
      {"FirstNonFinite", kOwnDomain, {{"CPU", takes<Float32>(), prepare_first_non_finite}}}};
  for_each_update_rule([&]<class Rule>() {
    entries.push_back(
        {Rule::kType,
         kOwnDomain,
         {{"CPU", takes<Float32>(), prepare_update<Rule, false>, update_wish<Rule, false>}}});
    entries.push_back({type_of_many(Rule::kType),
                       kOwnDomain,
                       {{"CPU", floats, prepare_update<Rule, true>, update_wish<Rule, true>}}});
  });
  return entries;
}

}  // namespace lockstep
