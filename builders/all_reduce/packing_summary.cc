// SPDX-License-Identifier: Apache-2.0
#include "builders/all_reduce/packing_summary.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "graph/limits.h"

namespace lockstep {
namespace {

std::string bytes(double number) { return text_of_bytes(std::llround(number)); }

std::string line_of(const char* when, const char* what, const std::vector<int64_t>& sizes) {
  const SizeStatistics of = statistics_of(sizes);
  return join(when, " packing: ", of.count, " ", what, of.count == 1 ? "" : "s", ", mean ",
              bytes(of.mean), ", median ", bytes(of.median), ", total ",
              bytes(static_cast<double>(of.total)));
}

}  // namespace

SizeStatistics statistics_of(std::vector<int64_t> sizes) {
  SizeStatistics of;
  if (sizes.empty()) return of;
  std::sort(sizes.begin(), sizes.end());
  const std::size_t half = sizes.size() / 2;
  of.count = static_cast<int64_t>(sizes.size());
  of.total = std::accumulate(sizes.begin(), sizes.end(), int64_t{0});
  of.mean = static_cast<double>(of.total) / static_cast<double>(of.count);
  of.median = static_cast<double>(sizes[half]);
  if (sizes.size() % 2 == 0) of.median = (of.median + static_cast<double>(sizes[half - 1])) / 2;
  return of;
}

std::vector<std::string> packing_summary(const Buckets& buckets,
                                         const std::vector<GradientSize>& gradients) {
  std::vector<int64_t> before, after;
  for (const GradientSize& gradient : gradients) before.push_back(gradient.bytes());
  for (const Bucket& bucket : buckets) {
    after.push_back(0);
    for (int i : bucket) after.back() += gradients[i].bytes();
  }
  return {line_of("before", "gradient", before), line_of("after", "bucket", after)};
}

std::vector<std::string> packing_summary(const TrainingModel& model) {
  if (model.bucket_plan.empty() || model.gradients.empty()) return {};
  const std::set<std::string> packed = names_in_buckets(model.bucket_plan);
  std::vector<GradientSize> sizes;
  for (const Replicated& gradient : model.gradients) {
    if (!packed.contains(gradient.name)) continue;  // summed by rows
    const Value value = model.step.at(gradient.values.at(0));
    sizes.push_back(
        {gradient.name, element_count(to_dims(model.step.shape(value))), model.step.dtype(value)});
  }
  return packing_summary(parse_buckets(model.bucket_plan, sizes, "the step's buckets"), sizes);
}

}  // namespace lockstep
