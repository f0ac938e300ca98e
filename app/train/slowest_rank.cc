// SPDX-License-Identifier: Apache-2.0
#include "app/train/slowest_rank.h"

#include <algorithm>
#include <array>
#include <iomanip>
#include <sstream>
#include <utility>

#include "app/format.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

constexpr double kMuchSlower = 1.1;   // a rank this many times as slow as another is named
constexpr double kSecondsJudged = 1;  // shorter times are noise
constexpr int64_t kStepsJudged = 5;

// The parts of a rank's time, as reasons.
struct Part {
  const char* reason;
  const char* on_queues;  // the reason if a rank's devices have queues
  double RankTimes::*seconds;
};
constexpr std::array<Part, 3> kParts{
    {{"its computation", "its steps, in host time and with their waits for other ranks",
      &RankTimes::computing},
     {"its data", "its data", &RankTimes::data},
     {"its waiting for messages", "its waiting for messages", &RankTimes::waiting}}};

double each(const RankTimes& times, double RankTimes::*part) {
  return times.*part / static_cast<double>(std::max<int64_t>(times.steps, 1));
}
double own_of(const RankTimes& times) {
  return each(times, &RankTimes::computing) + each(times, &RankTimes::data);
}
double whole_of(const RankTimes& times) { return own_of(times) + each(times, &RankTimes::waiting); }

bool have_queues(const std::vector<RankTimes>& ranks) {
  return std::ranges::any_of(ranks, &RankTimes::on_queues);
}

std::string ms(double seconds) { return fixed(seconds * 1e3, 1) + " ms"; }

Slowest compared(const std::vector<RankTimes>& ranks, double (*measure)(const RankTimes&),
                 const std::string& measured) {
  const auto [least, most] = std::ranges::minmax_element(ranks, {}, measure);
  if (measure(*most) <= kMuchSlower * measure(*least)) return {};
  const auto more = [&, most = &*most, least = &*least](const Part& part) {
    return each(*most, part.seconds) - each(*least, part.seconds);
  };
  const Part& part = *std::ranges::max_element(kParts, {}, more);
  Slowest slowest{static_cast<int>(most - ranks.begin()),
                  have_queues(ranks) ? part.on_queues : part.reason, ""};
  const auto fastest = least - ranks.begin();
  slowest.text = join("rank ", slowest.rank, " is the slowest, because of ", slowest.why, ": ",
                      ms(each(*most, part.seconds)), " of a step against ",
                      ms(each(*least, part.seconds)), " of rank ", fastest, "; ", measured,
                      " takes ", ms(measure(*most)), " against ", ms(measure(*least)));
  return slowest;
}

}  // namespace

RankTimes& RankTimes::operator+=(const RankTimes& other) {
  computing += other.computing;
  data += other.data;
  waiting += other.waiting;
  steps += other.steps;
  on_queues = on_queues || other.on_queues;
  return *this;
}

RankTimes RankTimes::since(const RankTimes& before) const {
  return {computing - before.computing, data - before.data, waiting - before.waiting,
          steps - before.steps, on_queues};
}

std::string text_of(const RankTimes& times) {
  return join(std::setprecision(9), times.computing, " ", times.data, " ", times.waiting, " ",
              times.steps, " ", times.on_queues ? 1 : 0);
}

RankTimes rank_times_in(const std::string& text) {
  RankTimes times;
  std::istringstream in(text);
  in >> times.computing >> times.data >> times.waiting >> times.steps >> times.on_queues;
  return times;
}

Slowest slowest_rank(const std::vector<RankTimes>& ranks) {
  if (ranks.size() < 2) return {};
  Slowest slowest =
      compared(ranks, own_of, have_queues(ranks) ? "a step with its data" : "all its own work");
  return slowest.rank >= 0 ? slowest : compared(ranks, whole_of, "a whole step");
}

std::string SlowestRankWatch::add(const std::vector<RankTimes>& window) {
  if (!std::exchange(begun_, true)) return "";
  sums_.resize(window.size());
  double longest = 0;
  int64_t fewest = INT64_MAX;
  for (std::size_t rank = 0; rank < window.size(); ++rank) {
    sums_[rank] += window[rank];
    longest = std::max(longest, whole_of(sums_[rank]) * static_cast<double>(sums_[rank].steps));
    fewest = std::min(fewest, sums_[rank].steps);
  }
  if (longest < kSecondsJudged || fewest < kStepsJudged) return "";
  const Slowest slowest = slowest_rank(std::exchange(sums_, {}));
  if (slowest.rank < 0 || (slowest.rank == said_rank_ && slowest.why == said_why_)) return "";
  said_rank_ = slowest.rank;
  said_why_ = slowest.why;
  return slowest.text;
}

}  // namespace lockstep
