// SPDX-License-Identifier: Apache-2.0
#include "app/train/plateau.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "builders/optimizers/lr_policy.h"
#include "lockstep/error.h"
#include "runtime/dist/agree.h"

namespace lockstep {
namespace {

constexpr const char* kPlateau = "plateau";
using nlohmann::json;

}  // namespace

Plateau::Plateau(LrSchedule& schedule, Comm* comm) : schedule_(schedule), comm_(comm) {
  schedule_.drops.clear();
}

bool Plateau::is_used() const {
  const LrPolicy* const policy = find_lr_policy(schedule_.policy);
  return policy && policy->follows_tests;
}

// The comparison of torch.optim.lr_scheduler.ReduceLROnPlateau for mode "max" or "min" and
// threshold_mode "rel". The first best value is infinite, so no loss is better by a threshold of 1.
bool Plateau::is_better(const HeldOutTest& result) const {
  const double value = result.measured.value_or(result.score);
  if (!result.trouble.empty() || !std::isfinite(value)) return false;
  constexpr double kWorst = std::numeric_limits<double>::infinity();
  const double best = best_.value_or(result.larger_is_better ? -kWorst : kWorst);
  const double threshold = schedule_.plateau.threshold;
  return result.larger_is_better ? value > best * (1 + threshold) : value < best * (1 - threshold);
}

// The order of ReduceLROnPlateau.step().
void Plateau::tested(const HeldOutTest& result, int64_t iterations) {
  if (!is_used() || iterations <= last_at_) return;
  last_at_ = iterations;
  if (!comm_ || comm_->rank() == 0) {
    const PlateauRule& rule = schedule_.plateau;
    const bool is_best = is_better(result);
    if (is_best) best_ = result.measured.value_or(result.score);
    not_better_ = is_best ? 0 : not_better_ + 1;
    if (cooling_ > 0) {
      --cooling_;
      not_better_ = 0;
    }
    if (not_better_ > rule.patience) {
      schedule_.drops.push_back(iterations);
      cooling_ = rule.cooldown;
      not_better_ = 0;
    }
  }
  if (comm_) read(share_text(*comm_, comm_->rank() == 0 ? text() : "", "the plateau's state"));
}

Metadata Plateau::noted(Metadata metadata) const {
  if (is_used()) metadata[kPlateau] = text();
  return metadata;
}

void Plateau::go_on_from(const Metadata& saved, const std::string& path) {
  const auto found = saved.find(kPlateau);
  if (!is_used() || found == saved.end()) return;
  try {
    read(found->second);
  } catch (const std::exception&) {
    fail(path, ": its metadata '", kPlateau, "' is damaged");
  }
  goes_on_ = true;
}

void Plateau::forget_results() {
  best_.reset();
  not_better_ = 0;
  goes_on_ = false;
}

bool Plateau::lacks(int64_t iterations) const {
  return is_used() && goes_on_ && last_at_ < iterations;
}

std::string Plateau::text() const {
  return json{{"best", best_ ? json(*best_) : json()},
              {"not_better", not_better_},
              {"cooling", cooling_},
              {"last_at", last_at_},
              {"drops", schedule_.drops}}
      .dump();
}

void Plateau::read(const std::string& text) {
  const json said = json::parse(text);
  const json& best = said.at("best");
  best_ = best.is_null() ? std::nullopt : std::optional(best.get<double>());
  not_better_ = said.at("not_better").get<int64_t>();
  cooling_ = said.at("cooling").get<int64_t>();
  last_at_ = said.at("last_at").get<int64_t>();
  schedule_.drops = said.at("drops").get<std::vector<int64_t>>();
}

}  // namespace lockstep
