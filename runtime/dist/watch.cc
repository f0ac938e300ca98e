// SPDX-License-Identifier: Apache-2.0
#include "runtime/dist/watch.h"

#include <algorithm>
#include <sstream>

#include "graph/printable.h"
#include "lockstep/error.h"
#include "lockstep/processes.h"

namespace lockstep {
namespace {

using Clock = std::chrono::steady_clock;
constexpr Milliseconds kLook(100);      // between two polls of the store
constexpr Milliseconds kBeat(400);      // between two heartbeats
constexpr Milliseconds kSilence(3000);  // a process without a heartbeat for this long counts as
                                        // stopped
constexpr Milliseconds kRumour(1500);   // time until the cause of a broken connection is known
constexpr std::size_t kLongestReason = 65536;  // enough for any reason, and within the store's
                                               // limit
constexpr const char* kFailed = "failed";
constexpr char kError = 'e', kLost = 'l';  // in front of a stored reason

std::string life_key(int rank) { return join("life/", rank); }

}  // namespace

std::string text_of(const Member& member) {
  return join("rank ", member.rank, " (host ", member.host, ", process ", member.process, ")");
}

Watch::Watch(Store& store, int rank, std::vector<Member> members, Milliseconds patience)
    : store_(store), rank_(rank), members_(std::move(members)), patience_(patience) {
  thread_ = std::thread([this] { look(); });
}

Watch::~Watch() {
  {
    std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  thread_.join();
  try {
    show_life();
  } catch (const std::exception&) {  // no process can be informed
  }
}

Watch::Waiting::Waiting(Watch& watch, const std::string& what, int peer, Interruptible& wait)
    : watch_(watch), what_(what), peer_(peer), since_(Clock::now()), wait_(wait) {
  std::unique_lock lock(watch.mutex_);
  if (watch.failure_) {
    lock.unlock();
    watch.stop(what, peer);
  }
  watch.waits_.push_back(this);
}

Watch::Waiting::~Waiting() {
  std::lock_guard lock(watch_.mutex_);
  std::erase(watch_.waits_, this);
}

const Watch::Waiting* Watch::foremost() const {
  for (const Waiting* waiting : waits_)
    if (waiting->peer_ != kEverybody) return waiting;
  return waits_.empty() ? nullptr : waits_.front();
}

void Watch::stop(const std::string& what, int peer, const std::string& seen) {
  // A process that ends announces the reason before its connections break. If it is killed, rank 0
  // notices.
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, kRumour, [&] { return failure_.has_value(); });
  lock.unlock();
  blame({!seen.empty()        ? seen
         : peer == kEverybody ? text(rank_) + " lost its connections to the others"
                              : text(peer) + " closed its connection"});
  lock.lock();
  const std::string error =
      join("step ", step_.load(), ": cannot exchange '", what, "' with ",
           peer == kEverybody ? "all others" : text(peer), ", because ", failure_->text);
  if (!failure_->is_error) throw LostRank(error);
  throw Error(error);
}

void Watch::give_up(const std::string& why) { blame({text(rank_) + " gave up: " + why, true}); }

void Watch::look() {
  auto last_beat = Clock::time_point();
  std::unique_lock lock(mutex_);
  while (!over_) {
    const Waiting* waiting = foremost();
    const bool late = waiting && !failure_ && Clock::now() - waiting->since_ > patience_;
    const int peer = waiting ? waiting->peer_ : kNobody;
    const std::string what = waiting ? waiting->what_ : "";
    lock.unlock();
    try {
      if (auto failure = store_.get(kFailed)) learn(failure_stored(*failure));
      if (rank_ == 0)
        for (const Member& member : members_)
          if (auto why = store_.get(gone_key(member.rank)))
            blame({text(member.rank) + " ended without a message: " + *why});
      if (Clock::now() - last_beat > kBeat) {
        last_beat = Clock::now();
        show_life();
      }
      if (late)
        blame({join(find_culprit(peer), "; ", text(rank_), " waited ", patience_.count() / 1000.0,
                    " s for '", what, "' in step ", step_.load())});
    } catch (const std::exception& error) {
      blame({error.what()});
    }
    lock.lock();
    changed_.wait_for(lock, kLook, [&] { return over_; });
  }
}

void Watch::show_life() {
  std::unique_lock lock(mutex_);
  const Waiting* waiting = foremost();
  const int peer = over_ ? kLeft : waiting ? waiting->peer_ : kNobody;
  const std::string what = waiting ? waiting->what_ : "";
  lock.unlock();
  store_.set(life_key(rank_), join(++beat_, " ", step_.load(), " ", peer, " ", what));
}

std::optional<Watch::Sign> Watch::sign_of(int rank) {
  auto text = store_.get(life_key(rank));
  if (!text) return std::nullopt;
  std::istringstream stream(*text);
  Sign sign;
  stream >> sign.beat >> sign.step >> sign.waits_for;
  std::getline(stream >> std::ws, sign.what);
  return sign;
}

// Follows the chain of waits to a process that does not wait, or has no heartbeat.
std::string Watch::find_culprit(int peer) {
  std::vector<std::optional<Sign>> before;
  for (const Member& member : members_) before.push_back(sign_of(member.rank));
  std::vector<std::optional<Sign>> now = before;
  const auto silent = [&](const Member& member) {
    const std::size_t at = member.rank;
    if (member.rank == rank_ || (now[at] && now[at]->waits_for == kLeft)) return false;
    return !now[at] || (before[at] && before[at]->beat == now[at]->beat);
  };
  const auto first_silent = [&] { return std::find_if(members_.begin(), members_.end(), silent); };
  // Reads again only signs of silent processes, and only while there are any.
  for (auto end = Clock::now() + kSilence;
       first_silent() != members_.end() && Clock::now() < end;) {
    std::this_thread::sleep_for(kLook);
    show_life();
    for (const Member& member : members_)
      if (silent(member)) now[member.rank] = sign_of(member.rank);
  }
  now[rank_] = sign_of(rank_);
  if (const auto found = first_silent(); found != members_.end()) {
    const auto& sign = now[found->rank];
    return join(text(found->rank), " does not respond: it is stopped or unreachable",
                sign ? join(", since step ", sign->step) : "");
  }
  if (peer == kEverybody) return find_absentee(now);
  std::vector<bool> seen(members_.size(), false);
  for (int at = peer; at >= 0 && !seen[at];) {
    seen[at] = true;
    const Sign& sign = *now[at];
    if (sign.waits_for == kEverybody) return find_absentee(now);
    if (sign.waits_for == kNobody || sign.waits_for == kLeft) return text_of_absence(at, sign);
    at = sign.waits_for;
  }
  return "the ranks wait for each other";
}

// Returns the first process that is missing where all should meet: in an earlier step, or not
// waiting.
std::string Watch::find_absentee(const std::vector<std::optional<Sign>>& signs) {
  uint64_t step = 0;
  for (const auto& sign : signs) step = std::max(step, sign->step);
  for (const Member& member : members_) {
    const Sign& sign = *signs[member.rank];
    if (sign.step < step || sign.waits_for == kNobody || sign.waits_for == kLeft)
      return text_of_absence(member.rank, sign);
  }
  return join("all ranks wait for each other in step ", step);
}

std::string Watch::text_of_absence(int rank, const Sign& sign) const {
  return join(
      text(rank),
      sign.waits_for == kLeft ? " has left the run" : " responds, but is busy with something else",
      " in step ", sign.step);
}

std::string Watch::stored(const Failure& failure) {
  return (failure.is_error ? kError : kLost) + failure.text.substr(0, kLongestReason);
}

Watch::Failure Watch::failure_stored(const std::string& text) {
  return {text.substr(std::min<std::size_t>(1, text.size())), text.starts_with(kError)};
}

void Watch::blame(const Failure& failure) {
  {
    std::lock_guard lock(mutex_);
    if (failure_) return;
  }
  try {
    store_.add(kFailed, stored(failure));
    const auto first = store_.get(kFailed);
    learn(first ? failure_stored(*first) : failure);
  } catch (const std::exception& error) {
    learn({error.what()});  // without the store the processes cannot agree on a reason
  }
}

void Watch::learn(const Failure& failure) {
  std::lock_guard lock(mutex_);
  if (!failure_) failure_ = {printable(failure.text), failure.is_error};
  changed_.notify_all();
  for (const Waiting* waiting : waits_) waiting->wait_.interrupt();
}

}  // namespace lockstep
