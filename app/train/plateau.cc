// SPDX-License-Identifier: Apache-2.0
#include "app/train/plateau.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

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

// The order of torch.optim.lr_scheduler.ReduceLROnPlateau.step(), for the mode "max".
void Plateau::tested(const HeldOutTest& result, int64_t iterations) {
  if (!is_used()) return;
  if (!comm_ || comm_->rank() == 0) {
    const PlateauRule& rule = schedule_.plateau;
    const bool is_first = std::isinf(best_);
    const bool is_better = result.trouble.empty() && std::isfinite(result.score) &&
                           (is_first || result.score > best_ * (1 + rule.threshold));
    if (is_better) best_ = result.score;
    not_better_ = is_better ? 0 : not_better_ + 1;
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
}

std::string Plateau::text() const {
  return json{{"best", std::isinf(best_) ? json() : json(best_)},
              {"not_better", not_better_},
              {"cooling", cooling_},
              {"drops", schedule_.drops}}
      .dump();
}

void Plateau::read(const std::string& text) {
  const json said = json::parse(text);
  const json& best = said.at("best");
  best_ = best.is_null() ? -std::numeric_limits<double>::infinity() : best.get<double>();
  not_better_ = said.at("not_better").get<int64_t>();
  cooling_ = said.at("cooling").get<int64_t>();
  schedule_.drops = said.at("drops").get<std::vector<int64_t>>();
}

}  // namespace lockstep
