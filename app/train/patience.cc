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

constexpr double kWorthless = -1;  // below every score

}  // namespace

void Patience::tested(const HeldOutTest& result, int64_t iterations) {
  if (most_ == 0) return;
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

std::string Patience::text() const {
  if (most_ == 0) return "";
  return join(std::setprecision(17), best_, " ", best_at_, " ", without_, " ", last_at_);
}

void Patience::go_on_with(const std::string& text, const std::string& path) {
  if (text.empty() || most_ == 0) return;
  std::istringstream in(text);
  double best = 0;
  int64_t best_at = 0, without = 0, last_at = 0;
  const bool read = static_cast<bool>(in >> best >> best_at >> without >> last_at);
  const bool fits = read && in.peek() == std::istringstream::traits_type::eof() &&
                    std::isfinite(best) && best <= 1 && best_at >= 0 && without >= 0 &&
                    last_at >= best_at && last_at <= kMostSteps;
  check(fits, path, ": its metadata has patience '", printable(text),
        "', should be the best score, its iteration, the number of tests since then, and the "
        "iteration of the last test");
  best_ = best, best_at_ = best_at, without_ = without, last_at_ = last_at;
}

bool Patience::lacks_test_after(int64_t iterations, int64_t test_iters) const {
  return most_ > 0 && last_at_ < iterations && iterations % test_iters == 0;
}

}  // namespace lockstep
