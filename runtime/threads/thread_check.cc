// SPDX-License-Identifier: Apache-2.0
#include "runtime/threads/thread_check.h"

#include <atomic>
#include <exception>
#include <thread>
#include <vector>

namespace lockstep {

void try_threads(int64_t count, std::size_t& begun) {
  std::atomic<bool> tried{false};
  std::vector<std::thread> threads;
  const auto end = [&] {
    begun = threads.size();
    tried = true;
    tried.notify_all();
    for (std::thread& thread : threads) thread.join();
  };
  try {
    for (int64_t left = count; left > 0; --left)
      threads.emplace_back([&tried] { tried.wait(false); });
  } catch (const std::exception&) {
    end();
    throw;
  }
  end();
}

}  // namespace lockstep
