// SPDX-License-Identifier: Apache-2.0
// The arithmetic of updates. The kernels of every device share it, for one parameter and for many,
// so that all compute the same bits.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "lockstep/kernel.h"
#include "operators/optimizer/update_operands.h"

namespace lockstep {

// One parameter. The kernel handles the gradient's layout.
template <class Rule>
struct UpdateElements {
  const float* param = nullptr;
  const float* slots[Rule::kSlots] = {};
  float *step = nullptr, *new_param = nullptr;  // step: null for many
  float* new_slots[Rule::kSlots] = {};
  float factor = 1, decay = 0;
  int64_t count = 0;

  // Updates element i and returns the new parameter. Results may alias operands.
  template <class Given>
  constexpr float update(const Rule& rule, const Given& given, bool skipped, int64_t i,
                         float gradient) const {
    const float before = param[i];
    float slope = factor * gradient;
    if (!Rule::kDecouplesDecay && decay != 0) slope += before * decay;
    float kept[Rule::kSlots] = {};
    for (int s = 0; s < Rule::kSlots; ++s) kept[s] = slots[s][i];
    float taken = rule.step(given, slope, kept, skipped);
    if (Rule::kDecouplesDecay && decay != 0) taken += given.rate * decay * before;
    if (step) step[i] = skipped ? 0 : taken;
    for (int s = 0; s < Rule::kSlots; ++s) new_slots[s][i] = kept[s];
    return new_param[i] = skipped ? before : before - taken;
  }
};

// The operands after the parameters; null if omitted.
struct UpdateNumbers {
  const float *rate, *number;
  const int64_t* unless;
};

// The operands of one update operator, for each parameter.
template <class Rule>
class UpdateOperandsOf {
 public:
  UpdateOperandsOf(const KernelRequest& request, bool many) : many_(many) {
    AttributeReader attributes = request.attributes();
    factors_ = many ? attributes.numbers("factors") : std::vector<float>{1};
    decays_ =
        many ? attributes.numbers("decays") : std::vector<float>{attributes.number("decay", 0)};
    if (many) copied_ = attributes.integers("copies");
  }

  std::size_t count() const { return factors_.size(); }
  UpdatePlaces places() const { return {Rule::kSlots, count(), many_, copied_.size()}; }

  UpdateElements<Rule> at(const KernelArgs& args, std::size_t k) const {
    UpdateElements<Rule> one;
    const UpdatePlaces places = this->places();
    for (std::size_t s = 0; s < places.slots; ++s) {
      one.slots[s] = args.in[places.slot(s, k)].template as<const float>();
      one.new_slots[s] = args.out[places.new_slot(s, k)].template as<float>();
    }
    const Tensor& new_param = args.out[places.new_param(k)];
    one.param = args.in[places.param(k)].template as<const float>();
    one.new_param = new_param.template as<float>();
    one.count = new_param.count();
    if (!many_) one.step = args.out[UpdatePlaces::kStep].template as<float>();
    one.factor = factors_[k];
    one.decay = decays_[k];
    return one;
  }

  const Tensor& gradient(const KernelArgs& args, std::size_t k) const {
    return args.in[places().gradient(k)];
  }

  // The indices of the copies of parameter k: [first, second).
  std::pair<std::size_t, std::size_t> copies_of(std::size_t k) const {
    // clang 14 does not compile libstdc++'s std::ranges::equal_range.
    const auto [first, end] =
        std::equal_range(copied_.begin(), copied_.end(), static_cast<int64_t>(k));
    return {first - copied_.begin(), end - copied_.begin()};
  }
  // The only copy of parameter k; null if there is none. For kernels that write at most one.
  const Tensor* only_copy(const KernelArgs& args, std::size_t k) const {
    const auto [first, end] = copies_of(k);
    check(end - first <= 1, "internal: several copies of parameter ", k);
    return first == end ? nullptr : &args.out[places().new_copy(first)];
  }

  UpdateNumbers numbers(const KernelArgs& args) const {
    const UpdatePlaces places = this->places();
    auto at = [&](std::size_t i) -> const void* {
      return i < args.in.size() ? args.in[i].data : nullptr;
    };
    return {static_cast<const float*>(at(places.rate())),
            static_cast<const float*>(at(places.number())),
            static_cast<const int64_t*>(at(places.unless()))};
  }

 private:
  bool many_;
  std::vector<float> factors_, decays_;
  std::vector<int64_t> copied_;  // the parameter's index for each copy; ascending
};

}  // namespace lockstep
