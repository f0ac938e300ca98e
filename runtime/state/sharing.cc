// SPDX-License-Identifier: Apache-2.0
#include "runtime/state/sharing.h"

#include "graph/placement.h"

namespace lockstep {

InCommon Sharing::may_share(const TrainingModel& model, const Use& use) const {
  if (!allowed_ || use.updates.empty()) return {};
  InCommon common = in_common(model);
  // True if all states get new values that are made of no state: the old values may differ.
  const bool replaced = use.initial && model.init.inputs().empty();
  std::erase_if(common.states, [&](const std::vector<std::string>& names) {
    std::vector<int> numbers;
    for (const std::string& name : names) numbers.push_back(states_.number_of(name));
    return apart_.contains(names.front()) ||
           !(replaced ? states_.lie_alike(numbers) : states_.are_equal(numbers));
  });
  return common;
}

void Sharing::arrange(const Plan& plan, const Use& use) {
  std::set<int> together;
  for (const std::vector<int>& group : plan.shared) together.insert(group.begin(), group.end());
  std::set<std::string> updated;
  for (const Binding& update : use.updates) updated.insert(update.state);
  for (std::size_t i = 0; i < plan.session_states(); ++i) {
    const int number = static_cast<int>(i);
    if (together.contains(number) || !states_.is_shared(number)) continue;
    const bool lies_as_it_wants = use.chooses && plan.state_descs[i].present();
    if (!updated.contains(plan.states[i]) && !lies_as_it_wants) continue;
    if (!use.initial) apart_.insert(states_.home_of(number));
    states_.separate(number);
  }
  states_.share(plan.shared);
}

void Sharing::separate_for_good() {
  allowed_ = false;
  for (std::size_t i = 0; i < states_.names().size(); ++i) states_.separate(static_cast<int>(i));
}

}  // namespace lockstep
