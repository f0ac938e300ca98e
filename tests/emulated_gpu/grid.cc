// SPDX-License-Identifier: Apache-2.0
// Runs a grid of threads on one host thread. Threads that meet at barriers have separate stacks,
// and switch to the next thread when they wait.
#include <ucontext.h>

#include <array>
#include <csetjmp>
#include <exception>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "lockstep/error.h"
#include "operators/kit/launch_cuda.h"

thread_local GridPlace threadIdx, blockIdx, gridDim, blockDim;

namespace lockstep::testing {
namespace {

constexpr int kMostThreads = 1024;
constexpr std::size_t kStack = 64 * 1024;

// Blocks, and the threads of a block, run in an order that changes with each launch.
thread_local unsigned launches = 0;

// Visits each of `count` blocks once, in steps that are coprime to the count.
class BlockOrder {
 public:
  BlockOrder(unsigned count, unsigned launch) : count_(count), first_(launch % count) {
    constexpr unsigned kScatter = 2654435761U;  // the golden ratio of 2^32
    step_ = launch * kScatter % count;
    while (std::gcd(step_, count) != 1) ++step_;
  }
  unsigned at(unsigned i) const {
    return static_cast<unsigned>((first_ + uint64_t{i} * step_) % count_);
  }

 private:
  unsigned count_, first_, step_;
};

// The threads of a block, reused for the next block. A switch between stacks makes no system call,
// except for the first switch to each stack.
class Block {
 public:
  void run(int threads, bool backwards, const std::function<void()>& body) {
    body_ = &body;
    ended_.assign(kMostThreads, 0);
    for (int left = threads; left > 0;) {  // from one barrier to the next
      int ended_now = 0;
      for (int i = 0; i < threads; ++i) {
        current_ = static_cast<std::size_t>(backwards ? threads - 1 - i : i);
        if (ended_[current_]) continue;
        threadIdx.x = static_cast<unsigned>(current_);
        resume();
        if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
        ended_now += ended_[current_];
      }
      check(ended_now == 0 || ended_now == left, ended_now, " threads of a block ended where ",
            left - ended_now, " others wait at a barrier");
      left -= ended_now;
    }
  }

  void yield() {
    if (_setjmp(places_[current_]) == 0) _longjmp(scheduler_, 1);
  }

 private:
  void resume() {
    if (_setjmp(scheduler_) != 0) return;
    if (started_[current_]) _longjmp(places_[current_], 1);
    started_[current_] = 1;
    ucontext_t back{}, &context = contexts_[current_];
    getcontext(&context);
    context.uc_stack.ss_sp = stacks_.get() + current_ * kStack;
    context.uc_stack.ss_size = kStack;
    makecontext(&context, &Block::enter, 0);
    swapcontext(&back, &context);
  }
  static void enter();
  void serve() {
    for (;;) {
      try {
        (*body_)();
      } catch (...) {  // continues on the stack that started the grid
        thrown_ = std::current_exception();
      }
      ended_[current_] = 1;
      yield();
    }
  }

  const std::function<void()>* body_ = nullptr;
  std::size_t current_ = 0;
  std::exception_ptr thrown_;
  std::vector<char> ended_, started_ = std::vector<char>(kMostThreads, 0);
  std::jmp_buf scheduler_{};
  std::array<std::jmp_buf, kMostThreads> places_{};
  std::array<ucontext_t, kMostThreads> contexts_{};
  std::unique_ptr<std::byte[]> stacks_{new std::byte[kMostThreads * kStack]};
};
thread_local std::unique_ptr<Block> running;

void Block::enter() { running->serve(); }

template <class RunBlock>
void for_blocks_of(dim3 blocks, int threads, const RunBlock& run) {
  gridDim = {blocks.x, blocks.y, blocks.z};
  blockDim = {static_cast<unsigned>(threads), 1, 1};
  check(threads > 0 && threads <= kMostThreads && blocks.x > 0 && blocks.y > 0 && blocks.z > 0 &&
            blocks.y <= 65535 && blocks.z <= 65535,
        "no grid of ", blocks.x, "x", blocks.y, "x", blocks.z, " blocks of ", threads, " threads");
  const bool backwards = ++launches % 2 == 0;
  const unsigned count = blocks.x * blocks.y * blocks.z;
  const BlockOrder order(count, launches);
  for (unsigned i = 0; i < count; ++i) {
    const unsigned number = order.at(i);
    blockIdx = {number % blocks.x, number / blocks.x % blocks.y, number / blocks.x / blocks.y};
    run(backwards);
  }
}

}  // namespace

void run_grid(dim3 blocks, int threads, const std::function<void()>& thread) {
  for_blocks_of(blocks, threads, [&](bool backwards) {
    for (int t = 0; t < threads; ++t) {
      threadIdx.x = static_cast<unsigned>(backwards ? threads - 1 - t : t);
      thread();
    }
  });
}

void run_grid_of_meetings(dim3 blocks, int threads, const std::function<void()>& thread) {
  if (!running) running = std::make_unique<Block>();
  try {
    for_blocks_of(blocks, threads,
                  [&](bool backwards) { running->run(threads, backwards, thread); });
  } catch (...) {
    running.reset();  // some threads still wait at a barrier
    throw;
  }
}

}  // namespace lockstep::testing

void __syncthreads() { lockstep::testing::running->yield(); }
