// SPDX-License-Identifier: Apache-2.0
#include "app/train/patience.h"

#include <cmath>
#include <iomanip>
#include <sstream>

#include "app/format.h"
#include "app/train/saved_numbers.h"
#include "graph/printable.h"
#include "lockstep/error.h"
#include "runtime/dist/agree.h"

namespace lockstep {
namespace {

constexpr const char* kPatienceSoFar = "patience";

}  // namespace

void Patience::tested(const HeldOutTest& result, int64_t iterations) {
  if (most_ == 0 || iterations <= last_at_) return;
  double score = result.trouble.empty() ? result.score : kWorthless;
  if (comm_)
    score = std::stod(share_text(*comm_, join(std::setprecision(17), score), "the test's score"));
  const bool is_better = score > best_;
  without_ = is_better ? 0 : without_ + 1;
  if (is_better) best_ = score, best_at_ = iterations;
  last_at_ = iterations;
}

std::string Patience::why(const std::string& score) const {
  const std::string since = best_at_ > 0 ? join(" since iteration ", best_at_) : "";
  return join("ended early: ", count_of(without_, "test", "tests"), " without a better ", score,
              since, " (TEST.PATIENCE ", most_, ")");
}

Metadata Patience::noted(Metadata metadata) const {
  if (most_ > 0)
    metadata[kPatienceSoFar] =
        join(std::setprecision(17), best_, " ", best_at_, " ", without_, " ", last_at_);
  return metadata;
}

void Patience::go_on_from(const Metadata& saved, const std::string& path) {
  const auto found = saved.find(kPatienceSoFar);
  if (most_ == 0 || found == saved.end()) return;
  std::istringstream in(found->second);
  double best = 0;
  int64_t best_at = 0, without = 0, last_at = 0;
  const bool read = static_cast<bool>(in >> best >> best_at >> without >> last_at);
  const bool fits = read && in.peek() == std::istringstream::traits_type::eof() &&
                    std::isfinite(best) && best <= 1 && best_at >= 0 && without >= 0 &&
                    last_at >= best_at && last_at <= kMostSteps;
  check(fits, path, ": its metadata has patience '", printable(found->second),
        "', should be the best score, its iteration, the number of tests since then, and the "
        "iteration of the last test");
  best_ = best, best_at_ = best_at, without_ = without, last_at_ = last_at;
  goes_on_ = true;
}

}  // namespace lockstep
