// SPDX-License-Identifier: Apache-2.0
#include "lockstep/results.h"

#include <algorithm>

namespace lockstep {
namespace {

float sum(std::span<const Tensor> numbers) {
  float total = 0;
  for (const Tensor& number : numbers) total += *number.as<float>();
  return total;
}

}  // namespace

std::span<const Tensor> Results::of(std::size_t item) const {
  const std::size_t replicas = model_->replicas;
  return fetched_.subspan(item * replicas, replicas);
}

std::span<const Tensor> Results::named(const std::vector<Replicated>& items, std::size_t before,
                                       std::string_view name, const char* what) const {
  std::string names;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (items[i].name == name) return of(before + i);
    names += join(names.empty() ? "" : ", ", "'", items[i].name, "'");
  }
  fail("the step has no ", what, " '", name, "'", names.empty() ? "" : "; it has ", names);
}

std::span<const Tensor> Results::loss_of_each(std::string_view name) const {
  return named(model_->losses, 0, name, "loss");
}
std::span<const Tensor> Results::metric_of_each(std::string_view name) const {
  return named(model_->metrics, model_->losses.size(), name, "metric");
}

float Results::loss() const {
  return sum(fetched_.first(model_->losses.size() * model_->replicas));
}
float Results::loss(std::string_view name) const { return sum(loss_of_each(name)); }
float Results::share_of(std::size_t replica) const {
  const int all = std::max(model_->whole_replicas, model_->replicas);
  return shares_.empty() ? 1.F / static_cast<float>(all) : shares_[replica];
}

float Results::share_of_metric(std::string_view name) const {
  const std::span<const Tensor> each = metric_of_each(name);
  float total = 0;
  for (std::size_t k = 0; k < each.size(); ++k)  // without rows, the mean is NaN
    if (share_of(k) > 0) total += share_of(k) * *each[k].as<float>();
  return total;
}

float Results::metric(std::string_view name) const {
  float shares = 0;
  for (int k = 0; k < model_->replicas; ++k) shares += share_of(k);
  return share_of_metric(name) / shares;
}

std::optional<Results::Skipped> Results::skipped() const {
  if (model_->checks.empty()) return std::nullopt;
  const std::size_t before = model_->losses.size() + model_->metrics.size();
  if (*of(before)[0].as<int64_t>() < 0) return std::nullopt;
  const std::span<const Tensor> origins = of(before + 1);
  for (std::size_t k = 0; k < origins.size(); ++k)
    if (const int64_t origin = *origins[k].as<int64_t>(); origin >= 0)
      return Skipped{model_->first_replica + static_cast<int>(k),
                     model_->gradients.at(origin).name};
  return Skipped{};
}

}  // namespace lockstep
