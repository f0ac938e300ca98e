// SPDX-License-Identifier: Apache-2.0
#include "runtime/dist/interruption.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <ctime>
#include <string>

#include "lockstep/error.h"
#include "lockstep/processes.h"
#include "runtime/dist/store.h"

namespace lockstep {
namespace {

constexpr Milliseconds kBetweenLooks(50);
constexpr int64_t kSameWish = 1000;  // milliseconds
constexpr const char* kWish = "interrupted";

std::atomic<int> caught{0};
std::atomic<int64_t> caught_at{0};

int64_t milliseconds_now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1000000;
}

// Phases of a run, for signals.
enum class Phase { before_steps, steps, done };
std::atomic<Phase> phase{Phase::before_steps};

sigset_t both_signals() {
  sigset_t both;
  sigemptyset(&both);
  sigaddset(&both, SIGINT);
  sigaddset(&both, SIGTERM);
  return both;
}

// Ends the process as an unhandled signal does.
void end_by(int number) {
  const sigset_t both = both_signals();
  std::signal(number, SIG_DFL);
  pthread_sigmask(SIG_UNBLOCK, &both, nullptr);
  std::raise(number);
}

[[noreturn]] void end_before_steps(int number) {
  constexpr char kOfInt[] = "lockstep: interrupted before the first step; nothing was saved\n";
  constexpr char kOfTerm[] =
      "lockstep: stopped by SIGTERM before the first step; nothing was saved\n";
  const bool is_int = number == SIGINT;
  [[maybe_unused]] const ssize_t told = write(STDERR_FILENO, is_int ? kOfInt : kOfTerm,
                                              (is_int ? sizeof kOfInt : sizeof kOfTerm) - 1);
  _exit(128 + number);
}

void receive(int number) {
  if (phase == Phase::before_steps) end_before_steps(number);
  const int64_t now = milliseconds_now();
  if (phase == Phase::steps && caught == 0) {
    caught_at = now;
    caught = number;
  } else if (phase == Phase::done || now - caught_at > kSameWish) {
    end_by(number);
  }
}

// Receives signals in a separate thread: no handler may run on a computing thread. oneDNN's matrix
// products point the stack pointer into a buffer on the heap, and a handler's frame overwrites the
// memory below.
void* receive_signals(void*) {
  const sigset_t both = both_signals();
  while (true) {
    int number = 0;
    if (sigwait(&both, &number) == 0) receive(number);
  }
}

// Starts the thread with a small stack: under `ulimit -v`, other allocations may need the 8 MiB of
// a default stack.
bool start_receiver() {
  constexpr std::size_t kStack = std::size_t{256} << 10;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStack);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_t thread;
  const int trouble = pthread_create(&thread, &attributes, receive_signals, nullptr);
  pthread_attr_destroy(&attributes);
  check(trouble == 0, "cannot start the thread that receives signals: ", std::strerror(trouble));
  return true;
}

std::string begun_key(int rank) { return join("interrupted/", rank); }

}  // namespace

void end_on_signals_until_steps_begin() {
  phase = Phase::before_steps;
  const sigset_t both = both_signals();
  pthread_sigmask(SIG_BLOCK, &both, nullptr);
  static const bool started = start_receiver();
  static_cast<void>(started);
}

Interruption::Interruption(Comm* comm) : comm_(comm) {
  caught = 0;
  phase = Phase::steps;
  if (comm_) thread_ = std::thread([this] { watch(); });
}

Interruption::~Interruption() {
  over_ = true;
  if (thread_.joinable()) thread_.join();
  phase = Phase::done;
  if (!comm_ || announced_) return;
  // Announces to processes that have yet to agree that this process has finished.
  try {
    announce();
  } catch (const std::exception&) {  // the others have finished, too
  }
}

bool Interruption::may_begin(int64_t step) {
  if (!comm_) {
    signal_ = caught.load();
    return signal_ == 0;
  }
  std::unique_lock lock(mutex_);
  if (!announced_) {
    begun_ = step + 1;
    return true;
  }
  lock.unlock();
  comm_->wait_until([&] { return last_ >= 0 || lost_; }, "the step to end after");
  return lost_ || step < last_;
}

void Interruption::watch() {
  try {
    while (!over_ && !find_wish()) std::this_thread::sleep_for(kBetweenLooks);
    if (over_) return;
    announce();
    while (!over_ && !all_announced()) std::this_thread::sleep_for(kBetweenLooks);
  } catch (const std::exception&) {
    lost_ = true;  // the next exchange reports the reason
  }
}

// True if any process has received a signal.
bool Interruption::find_wish() {
  Store& store = comm_->store();
  if (caught != 0) store.add(kWish, std::to_string(caught.load()));
  const auto wish = store.get(kWish);
  if (wish) signal_ = std::stoi(*wish);
  return wish.has_value();
}

void Interruption::announce() {
  std::lock_guard lock(mutex_);
  comm_->store().set(begun_key(comm_->rank()), std::to_string(begun_));
  announced_ = true;
}

bool Interruption::all_announced() {
  int64_t most = 0;
  for (int rank = 0; rank < comm_->size(); ++rank) {
    const auto begun = comm_->store().get(begun_key(rank));
    if (!begun) return false;
    most = std::max<int64_t>(most, std::stoll(*begun));
  }
  last_ = most;
  return true;
}

}  // namespace lockstep
