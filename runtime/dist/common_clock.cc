// SPDX-License-Identifier: Apache-2.0
#include "runtime/dist/common_clock.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "runtime/dist/store.h"

namespace lockstep {
namespace {

using Clock = std::chrono::steady_clock;

// A busy machine delays many questions, so questions are repeated until one was answered quickly.
constexpr int kQuestions = 40, kMostQuestions = 2000;
constexpr int64_t kQuick = 40'000;  // nanoseconds
constexpr Milliseconds kLongest(500);

// A question lies between two readings of the own clock. The shortest one has the smallest error.
class Questions {
 public:
  explicit Questions(const LocalClock& clock) : clock_(clock) {}

  // `answer` returns the store's time.
  template <class Answer>
  void ask(const Answer& answer) {
    const int64_t before = clock_();
    const int64_t there = answer();
    const int64_t after = clock_();
    const int64_t error = (after - before + 1) / 2;
    if (asked_++ > 0 && error >= best_.error) return;
    const int64_t middle = before + (after - before) / 2;
    best_ = {middle, there - middle, error};
  }
  bool may_end() const {
    return asked_ >= kMostQuestions || (asked_ >= kQuestions && best_.error <= kQuick) ||
           (asked_ >= kQuestions && Clock::now() - since_ > kLongest);
  }
  const ClockPoint& best() const { return best_; }

 private:
  const LocalClock& clock_;
  const Clock::time_point since_ = Clock::now();
  int asked_ = 0;
  ClockPoint best_;
};

// Ranks that meet in a folder have no store with a clock, and a folder may be slow: rank 0 answers
// the others one by one, by messages.
constexpr int kRounds = 60;
constexpr uint64_t kQuestion = (uint64_t{1} << 62U) + 64;  // beyond the numbers of agree.cc
constexpr uint64_t kAnswer = kQuestion + 1;
constexpr const char* kTimeOfRank0 = "the time of rank 0";

void answer_all(Comm& comm, const LocalClock& clock) {
  for (int rank = 1; rank < comm.size(); ++rank) {
    Transfer& question = comm.receiving(rank, kQuestion, kTimeOfRank0);
    Transfer& answer = comm.sending(rank, kAnswer, kTimeOfRank0);
    char asked = 0;
    int64_t time = 0;
    for (int round = 0; round < kRounds; ++round) {
      question.start(&asked, sizeof asked);
      question.wait();
      time = clock();
      answer.start(&time, sizeof time);
      answer.wait();
    }
  }
}

ClockPoint compare_with_rank_0(Comm& comm, const LocalClock& clock) {
  Transfer& question = comm.sending(0, kQuestion, kTimeOfRank0);
  Transfer& answer = comm.receiving(0, kAnswer, kTimeOfRank0);
  char asks = 0;
  int64_t time = 0;
  Questions questions(clock);
  for (int round = 0; round < kRounds; ++round)
    questions.ask([&] {
      answer.start(&time, sizeof time);
      question.start(&asks, sizeof asks);
      question.wait();
      answer.wait();
      return time;
    });
  return questions.best();
}

}  // namespace

ClockPoint compare_clocks(Comm& comm, const LocalClock& clock) {
  Store& store = comm.store();
  if (!store.now()) {
    if (comm.rank() > 0) return compare_with_rank_0(comm, clock);
    answer_all(comm, clock);
    return {clock(), 0, 0};
  }
  Questions questions(clock);
  while (!questions.may_end()) questions.ask([&] { return *store.now(); });
  return questions.best();
}

double CommonClock::seconds() const { return static_cast<double>(last_.here - first_.here) * 1e-9; }

int64_t CommonClock::common(int64_t here) const {
  if (last_.here <= first_.here) return here + first_.offset;
  const double share =
      static_cast<double>(here - first_.here) / static_cast<double>(last_.here - first_.here);
  return here + first_.offset +
         std::llround(share * static_cast<double>(last_.offset - first_.offset));
}

int64_t CommonClock::error() const { return std::max(first_.error, last_.error); }

double CommonClock::drift_ppm() const {
  return seconds() <= 0 ? 0 : static_cast<double>(last_.offset - first_.offset) * 1e-3 / seconds();
}

double CommonClock::drift_error_ppm() const {
  return seconds() <= 0 ? 0 : static_cast<double>(first_.error + last_.error) * 1e-3 / seconds();
}

}  // namespace lockstep
