// SPDX-License-Identifier: Apache-2.0
// The programs of the padded sizes that were used last.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "data/detection/padded_shapes.h"

namespace lockstep {

template <class Sized>  // a program for its member `size`
class RecentPrograms {
 public:
  // Keeps up to `most` programs.
  explicit RecentPrograms(std::size_t most) : most_(most) {}

  // The program for this size. make(), if there is none yet, returns it as a unique_ptr; the
  // program that has not been used for the longest time is dropped before.
  template <class Make>
  Sized& of(const PictureSize& size, const Make& make) {
    const auto known = std::find_if(programs_.begin(), programs_.end(),
                                    [&](const auto& program) { return program->size == size; });
    if (known != programs_.end()) {
      std::rotate(programs_.begin(), known, known + 1);
      return *programs_.front();
    }
    if (programs_.size() == most_) programs_.pop_back();
    programs_.insert(programs_.begin(), make());
    ++made_;
    return *programs_.front();
  }
  std::size_t count() const { return programs_.size(); }
  std::size_t made() const { return made_; }  // in all; a size that was dropped is made again
  // A program that is kept, or null.
  const Sized* any() const { return programs_.empty() ? nullptr : programs_.front().get(); }

 private:
  std::size_t most_, made_ = 0;
  std::vector<std::unique_ptr<Sized>> programs_;  // most recently used first
};

}  // namespace lockstep
