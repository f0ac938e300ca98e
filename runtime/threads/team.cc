// SPDX-License-Identifier: Apache-2.0
#include "runtime/threads/team.h"

#include <pthread.h>
#include <strings.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <utility>

namespace lockstep {
namespace {

constexpr int kShortTurns = 100;

// Returns the number of spins of a thread without work before it sleeps.
int long_turns() {
  static const int turns = [] {
    constexpr int kTurns = 100'000;  // some milliseconds
    if (const char* said = std::getenv("GOMP_SPINCOUNT")) {
      const bool number = *said >= '0' && *said <= '9';
      return number ? static_cast<int>(std::min(std::strtol(said, nullptr, 10), long{INT_MAX}))
                    : kTurns;
    }
    const char* policy = std::getenv("OMP_WAIT_POLICY");
    return policy && strcasecmp(policy, "passive") == 0 ? kShortTurns : kTurns;
  }();
  return turns;
}

// A member's shares that no thread has begun, and their round.
struct Unbegun {
  uint32_t round;
  uint16_t begin, end;

  uint64_t packed() const { return uint64_t{round} << 32 | uint64_t{begin} << 16 | end; }
  static Unbegun of(uint64_t packed) {
    return {static_cast<uint32_t>(packed >> 32), static_cast<uint16_t>(packed >> 16),
            static_cast<uint16_t>(packed)};
  }
};

}  // namespace

struct alignas(64) Team::Member {
  int number = 0;
  std::atomic<uint64_t> unbegun{0};
  alignas(64) std::atomic<int> calls{0};  // counts calls to work
};

PlaceInTeam& place_in_team() {
  thread_local PlaceInTeam place;
  return place;
}

Team& Team::of_this_thread() {
  thread_local Team team;
  return team;
}

Team::Team() : turns_(long_turns()), owners_turns_(long_turns()) {
  all_.push_back(std::make_unique<Member>());
}

Team::~Team() { end_others(); }

void Team::end_others() {
  ended_ = true;
  for (const auto& member : all_) wake(*member);
  for (std::thread& other : others_) other.join();
  others_.clear();
  cores_of_others_.clear();
  all_.resize(1);
  ended_ = false;
}

void Team::grow(int threads) {
  if (this->threads() >= threads) return;
  end_others();  // they read all_, which changes
  while (static_cast<int>(all_.size()) < threads) {
    all_.push_back(std::make_unique<Member>());
    all_.back()->number = static_cast<int>(all_.size()) - 1;
  }
  try {
    for (int k = 1; k < threads; ++k)
      others_.emplace_back([this, &member = *all_[k]] { serve(member); });
  } catch (...) {
    end_others();
    throw;
  }
  if (!cores_.empty()) place_others();  // they began on the owner's core
}

namespace {

// The kernel's struct sched_attr, which C libraries define since 2025.
struct Scheduling {
  uint32_t size, policy;
  uint64_t flags;
  int32_t nice;
  uint32_t priority;
  uint64_t runtime, deadline, period;  // nanoseconds
};

// Requests short time slices. A thread that wakes up then preempts a program with longer slices, if
// the thread has not yet had its fair part of the core. Linux before 6.12 ignores this.
void ask_for_short_slices() {
  Scheduling own{};
  if (syscall(SYS_sched_getattr, 0, &own, sizeof(own), 0) != 0 || own.policy != SCHED_OTHER) return;
  own.runtime = 100'000;
  syscall(SYS_sched_setattr, 0, &own, 0);
}

void keep_to(pthread_t thread, int core) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  pthread_setaffinity_np(thread, sizeof(one), &one);  // on failure the thread stays unbound
}

bool keeps_to(int core) {  // the calling thread
  cpu_set_t now;
  return pthread_getaffinity_np(pthread_self(), sizeof(now), &now) == 0 && CPU_COUNT(&now) == 1 &&
         CPU_ISSET(core, &now);
}

}  // namespace

void Team::begin(const WaitPolicy& manner) {
  if (!std::ranges::equal(cores_, manner.cores)) {
    end();
    // The process may have been moved since.
    const bool known =
        pthread_getaffinity_np(pthread_self(), sizeof(anywhere_), &anywhere_) == 0 &&
        std::ranges::all_of(manner.cores, [this](int core) { return CPU_ISSET(core, &anywhere_); });
    if (known && !manner.cores.empty()) {
      cores_ = manner.cores;
      keep_to(pthread_self(), cores_[0]);
    }
  }
  if (!others_.empty() && !std::ranges::equal(cores_, cores_of_others_)) place_others();
  turns_.store(manner.short_waits ? kShortTurns : long_turns(), std::memory_order_relaxed);
  owners_turns_ = manner.short_waits && cores_.empty() ? kShortTurns : long_turns();
}

// Unbinds the owner, because threads that it starts would inherit its core. If the owner was moved
// meanwhile, leaves it.
void Team::end() {
  if (!cores_.empty() && keeps_to(cores_[0]))
    pthread_setaffinity_np(pthread_self(), sizeof(anywhere_), &anywhere_);
  cores_ = {};
}

void Team::place_others() {
  cores_of_others_.assign(cores_.begin(), cores_.end());
  for (std::size_t k = 0; k < others_.size(); ++k)
    if (k + 1 < cores_.size())
      keep_to(others_[k].native_handle(), cores_[k + 1]);
    else
      pthread_setaffinity_np(others_[k].native_handle(), sizeof(anywhere_), &anywhere_);
}

// Waits until value differs from `seen`: spins, then sleeps.
void Team::wait_while(const std::atomic<int>& value, int seen, int turns) {
  for (int turn = turns; turn > 0; --turn) {
    if (value.load(std::memory_order_acquire) != seen) return;
    __builtin_ia32_pause();
  }
  value.wait(seen, std::memory_order_acquire);
}

// An OpenMP barrier.
void Team::barrier() {
  const PlaceInTeam place = place_in_team();
  if (place.shares == 1) return;
  Team& team = *place.team;
  const int seen = team.barriers_.load(std::memory_order_acquire);
  if (team.arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 < place.shares)
    return wait_while(team.barriers_, seen, team.turns_.load(std::memory_order_relaxed));
  team.arrived_.store(0, std::memory_order_relaxed);
  team.barriers_.fetch_add(1, std::memory_order_release);
  team.barriers_.notify_all();
}

void Team::wake(Member& member) {
  member.calls.fetch_add(1, std::memory_order_release);
  member.calls.notify_one();
}

void Team::serve(Member& member) {
  ask_for_short_slices();
  int seen = 0;
  while (true) {
    wait_while(member.calls, seen, turns_.load(std::memory_order_relaxed));
    seen = member.calls.load(std::memory_order_acquire);
    if (ended_) return;
    take_part(member.number);
  }
}

// Takes one of `from`'s shares. A member that has taken a share reads the work of the current
// round, which does not change before all shares have ended.
//
// A member called by an earlier round may arrive during a round for fewer threads and must not take
// a share. So it reads the size between reading and exchanging the shares; the exchange fails if
// another round has begun meanwhile.
bool Team::take(int me, Member& from, int& share) {
  uint64_t seen = from.unbegun.load(std::memory_order_acquire);
  while (true) {
    Unbegun rest = Unbegun::of(seen);
    if (rest.begin >= rest.end || me >= size_.load(std::memory_order_acquire)) return false;
    share = me == from.number ? rest.begin++ : --rest.end;
    if (from.unbegun.compare_exchange_weak(seen, rest.packed(), std::memory_order_acq_rel,
                                           std::memory_order_acquire))
      return true;
  }
}

void Team::take_part(int me) {
  PlaceInTeam& place = place_in_team();
  const PlaceInTeam before = std::exchange(place, {this, 0, 1, me});
  const int size = size_.load(std::memory_order_acquire);
  for (int k = 0; k < size; ++k) {
    Member& from = *all_[(me + k) % size];
    while (take(me, from, place.share)) {
      const Round round = this_round_;
      place.shares = round.shares;
      round.floats.set();
      round.work(round.data, place.share, round.shares);
      if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1) left_.notify_one();
    }
  }
  place = before;
}

void Team::run(int shares, int threads, Work work, void* data) {
  threads = std::clamp(std::min(shares, threads), 1, this->threads());
  this_round_ = {work, data, shares, FloatMode::of_this_thread()};
  left_.store(shares, std::memory_order_relaxed);
  size_.store(threads, std::memory_order_relaxed);
  ++rounds_;
  for (int k = 0; k < threads; ++k)
    all_[k]->unbegun.store(Unbegun{rounds_, static_cast<uint16_t>(shares * k / threads),
                                   static_cast<uint16_t>(shares * (k + 1) / threads)}
                               .packed(),
                           std::memory_order_release);
  for (int k = 1; k < threads; ++k) wake(*all_[k]);
  take_part(0);
  for (int left = left_.load(std::memory_order_acquire); left > 0;
       left = left_.load(std::memory_order_acquire))
    wait_while(left_, left, owners_turns_);
}

}  // namespace lockstep
