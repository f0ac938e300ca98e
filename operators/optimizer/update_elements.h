// The kernels of updates share this arithmetic on every device, for one parameter and for many, so
// that all give the same bits.
#pragma once

#include <vector>

#include "runtime/kernel.h"

namespace lockstep {

// One parameter.
template <class Rule>
struct UpdateElements {
  const float *gradient = nullptr, *param = nullptr;
  const float* slots[Rule::kSlots] = {};
  float *step = nullptr, *new_param = nullptr;  // step: null among many
  float* new_slots[Rule::kSlots] = {};
  float factor = 1, decay = 0;
  int64_t count = 0;

  // Results may lie over operands.
  template <class Given>
  constexpr void update(const Rule& rule, const Given& given, bool skipped, int64_t i) const {
    const float before = param[i];
    float slope = factor * gradient[i];
    if (decay != 0) slope += before * decay;
    float kept[Rule::kSlots] = {};
    for (int s = 0; s < Rule::kSlots; ++s) kept[s] = slots[s][i];
    const float taken = rule.step(given, slope, kept, skipped);
    if (step) step[i] = skipped ? 0 : taken;
    for (int s = 0; s < Rule::kSlots; ++s) new_slots[s][i] = kept[s];
    new_param[i] = skipped ? before : before - taken;
  }
};

// Behind the parameters; null where left out.
struct UpdateNumbers {
  const float *rate, *number;
  const int64_t* unless;
};

// Which operand is what: see update.h.
template <class Rule>
class UpdateOperandsOf {
 public:
  UpdateOperandsOf(const KernelRequest& request, bool many) : many_(many) {
    AttributeReader attributes = request.attributes();
    if (!many) return;
    factors_ = attributes.numbers("factors");
    decays_ = attributes.numbers("decays");
  }

  std::size_t count() const { return many_ ? factors_.size() : 1; }

  UpdateElements<Rule> at(const KernelArgs& args, std::size_t k) const {
    const std::size_t n = count();
    UpdateElements<Rule> one;
    // Where slots begin among operands and results, then the parameter.
    const std::size_t first = many_ ? k : 1;
    for (std::size_t s = 0; s < kSlots; ++s) {
      one.slots[s] = args.in[first + s * n].template as<const float>();
      one.new_slots[s] = args.out[first + s * n].template as<float>();
    }
    const std::size_t param = first + kSlots * n;
    one.param = args.in[many_ ? param : param + 1].template as<const float>();
    one.new_param = args.out[param].template as<float>();
    one.gradient = args.in[many_ ? param + n : 0].template as<const float>();
    one.count = args.out[param].count();
    if (!many_) {
      one.step = args.out[0].template as<float>();
      return one;
    }
    one.factor = factors_[k];
    one.decay = decays_[k];
    return one;
  }

  UpdateNumbers numbers(const KernelArgs& args) const {
    const std::size_t rate = many_ ? (kSlots + 2) * count() : kSlots + 1;
    const std::size_t number = many_ ? rate + 1 : rate + 2;
    auto at = [&](std::size_t i) -> const void* {
      return i < args.in.size() ? args.in[i].data : nullptr;
    };
    return {static_cast<const float*>(at(rate)), static_cast<const float*>(at(number)),
            static_cast<const int64_t*>(at(number + 1))};
  }

 private:
  static constexpr std::size_t kSlots = Rule::kSlots;
  bool many_;
  std::vector<float> factors_, decays_;
};

}  // namespace lockstep
