// SPDX-License-Identifier: Apache-2.0
#include "runtime/dist/store.h"

#include <algorithm>
#include <thread>

#include "lockstep/error.h"

namespace lockstep {

std::string Store::wait(const std::string& key, Milliseconds patience) {
  const auto end = std::chrono::steady_clock::now() + patience;
  for (Milliseconds pause(1);; pause = std::min(pause * 2, Milliseconds(50))) {
    if (auto value = get(key)) return *value;
    if (std::chrono::steady_clock::now() > end)
      fail("no rank wrote '", key, "' to the store within ", patience.count() / 1000.0, " s");
    std::this_thread::sleep_for(pause);
  }
}

std::string gone_key(int rank) { return join("gone/", rank); }

}  // namespace lockstep
