// SPDX-License-Identifier: Apache-2.0
// Checks pictures before any training.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace lockstep {

struct PicturesToCheck {
  int64_t count = 0;
  // Reads a picture's header; throws naming the picture. Called from several threads.
  std::function<void(int64_t number)> look;
};

// Throws naming the first twenty pictures with a broken header, and the number of all. `say` gets
// lines if the check takes seconds.
void check_pictures(const std::vector<PicturesToCheck>& sets, int threads,
                    const std::function<void(const std::string& line)>& say);

}  // namespace lockstep
