#include "runtime/dist/interruption.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <ctime>
#include <string>

#include "graph/error.h"
#include "runtime/dist/store.h"

namespace lockstep {
namespace {

constexpr Milliseconds kBetweenLooks(50);
constexpr int64_t kSameWish = 1000;  // milliseconds
constexpr const char* kWish = "interrupted";

std::atomic<int> caught{0};
std::atomic<int64_t> caught_at{0};
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<int64_t>::is_always_lock_free,
              "a signal handler writes them");

int64_t milliseconds_now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1000000;
}

void handle(int number) {
  const int64_t now = milliseconds_now();
  if (caught == 0) {
    caught_at = now;
    caught = number;
  } else if (now - caught_at > kSameWish) {
    std::signal(number, SIG_DFL);
    std::raise(number);
  }
}

// Calls async-signal-safe functions only.
void end_at_once(int number) {
  constexpr char kOfInt[] = "lockstep: interrupted before the first step; nothing was saved\n";
  constexpr char kOfTerm[] =
      "lockstep: stopped by SIGTERM before the first step; nothing was saved\n";
  const bool is_int = number == SIGINT;
  [[maybe_unused]] const ssize_t told = write(STDERR_FILENO, is_int ? kOfInt : kOfTerm,
                                              (is_int ? sizeof kOfInt : sizeof kOfTerm) - 1);
  _exit(128 + number);
}

void handle_by(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  for (int number : {SIGINT, SIGTERM}) sigaction(number, &action, nullptr);
}

std::string begun_key(int rank) { return join("interrupted/", rank); }

}  // namespace

void end_on_signals_until_steps_begin() { handle_by(end_at_once); }

Interruption::Interruption(Comm* comm) : comm_(comm) {
  caught = 0;
  handle_by(handle);
  if (comm_) thread_ = std::thread([this] { watch(); });
}

Interruption::~Interruption() {
  over_ = true;
  if (thread_.joinable()) thread_.join();
  handle_by(SIG_DFL);
  if (!comm_ || announced_) return;
  // Tells processes that have yet to agree that this one has finished.
  try {
    announce();
  } catch (const std::exception&) {  // they have finished, too
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
    lost_ = true;  // the next exchange reports why
  }
}

// True if any process was sent a signal.
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
