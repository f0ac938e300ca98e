// SPDX-License-Identifier: Apache-2.0
// A look at the pictures before anything is trained on them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace lockstep {

struct PicturesToCheck {
  int64_t count = 0;
  // Looks at a picture's header; throws naming it. Called from several threads.
  std::function<void(int64_t number)> look;
};

// Throws naming the first twenty pictures with a broken header, and the number of all. `say`: gets
// lines if this takes seconds.
void check_pictures(const std::vector<PicturesToCheck>& sets, int threads,
                    const std::function<void(const std::string& line)>& say);

}  // namespace lockstep
