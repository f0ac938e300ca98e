// SPDX-License-Identifier: Apache-2.0
#include "app/pages/memory_advice.h"

#include <optional>

#include "app/inspect/requests.h"
#include "app/pages/memory_need.h"
#include "graph/limits.h"
#include "graph/phases.h"
#include "runtime/plan/compile.h"

namespace lockstep {
namespace {

constexpr int kMostPlannedNodes = 30000;  // a plan takes some seconds
constexpr int kMostHalvings = 6;

// The bytes that the step needs with these settings; none if the source does not take them.
std::optional<std::size_t> needed_with(const ModelRequest& request, bool inference,
                                       const std::vector<KernelTable>& kernels) {
  try {
    const SourcedModel source = model_from(request);
    if (main_graph(source.model).node_count() > kMostPlannedNodes) return std::nullopt;
    CompileRequest compiled =
        plan_request(source, inference, devices_of(source, inference), kernels);
    compiled.limits_memory = false;
    const Plan plan = compile(compiled);
    return need_of(plan, memory_with_loader(source, compiled, plan)).bytes;
  } catch (const Error&) {
    return std::nullopt;  // such as a batch that leaves a replica without examples
  }
}

class Adviser {
 public:
  Adviser(const ModelRequest& request, bool inference, const std::vector<KernelTable>& kernels,
          std::size_t needs, std::size_t limit)
      : request_(request), inference_(inference), kernels_(kernels), needs_(needs), limit_(limit) {}

  std::vector<std::string> advise(int64_t batch) {
    for (const char* parts : {"2", "4", "8"})
      if (!inference_ && try_setting("TRAIN.MICRO_BATCHES", parts)) break;
    if (!inference_) try_setting("PRECISION", "bfloat16");
    for (int i = 0; i < kMostHalvings && batch > 1; ++i) {
      batch /= 2;
      ModelRequest smaller = request_;
      smaller.batch = batch;
      if (take(smaller, join("--batch ", batch))) break;
    }
    return std::move(advice_);
  }

 private:
  // True if the step then fits.
  bool try_setting(const char* key, const char* value) {
    ModelRequest changed = request_;
    changed.settings.emplace_back(key);
    changed.settings.emplace_back(value);
    return take(changed, join(key, " ", value));
  }

  bool take(const ModelRequest& changed, const std::string& name) {
    const std::optional<std::size_t> bytes = needed_with(changed, inference_, kernels_);
    if (!bytes || *bytes >= needs_) return false;
    const bool fits = *bytes <= limit_;
    advice_.push_back(
        join(name, ": needs ", text_of_bytes(*bytes),
             fits ? ", which fits" : join(", ", text_of_bytes(*bytes - limit_), " too much")));
    return fits;
  }

  const ModelRequest& request_;
  const bool inference_;
  const std::vector<KernelTable>& kernels_;
  const std::size_t needs_, limit_;
  std::vector<std::string> advice_;
};

}  // namespace

std::vector<std::string> memory_advice(const ModelRequest& request, bool inference,
                                       const std::vector<KernelTable>& kernels, std::size_t needs,
                                       std::size_t limit) {
  if (needs <= limit) return {};
  const SourcedModel source = model_from(request);
  if (main_graph(source.model).node_count() > kMostPlannedNodes) return {};
  return Adviser(request, inference, kernels, needs, limit).advise(rows_of_replica(source, 0));
}

}  // namespace lockstep
