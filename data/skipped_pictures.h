// SPDX-License-Identifier: Apache-2.0
// Skips pictures that cannot be read and chooses replacements (TRAIN.SKIP_BAD_IMAGES).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

namespace lockstep {

// The action for a picture that cannot be read: fail, use another picture, or leave the row empty.
enum class InPlaceOfBad { nothing_and_stop, another, nothing };

// The bad pictures of minibatches. They are reported step by step, so that reports do not depend on
// how far minibatches are read ahead. Thread-safe.
class SkippedPictures {
 public:
  struct Row {
    int64_t step = 0, item = 0;  // of a row
    friend auto operator<=>(const Row&, const Row&) = default;
  };
  // `tries` is the number of bad pictures tried before for this row. A row that is read again is
  // not counted again.
  void add(const Row& row, int64_t tries, const std::string& why);

  struct Told {
    std::vector<std::string> pictures;  // reason for each picture, in the order of steps and items
    int64_t rows = 0;                   // number of rows without their own picture
  };
  // Returns and removes the bad pictures of steps up to `last`.
  Told take(int64_t last);
  void begin_again();  // starts again at step 0, for another test

 private:
  std::mutex mutex_;
  std::map<std::tuple<Row, int64_t>, std::string> waiting_;
  int64_t taken_ = -1;
};

// A row of a step with a bad picture.
struct BadRow {
  SkippedPictures::Row row;
  int64_t place = 0;     // index of the row in the step of all processes
  int64_t picture = 0;   // number of the bad picture
  int64_t distinct = 0;  // number of possible pictures for the row, including the bad picture
  std::string why;
};
// Reads the next good picture of the step instead of a bad picture, or a picture of a later step if
// the step has no good picture. The choice depends only on step, place and picture numbers, so it
// is equal for any number of threads and processes and for a resumed run. `pictures_of(step)`
// returns the step's pictures by place, or nothing if their shape does not fit. `read(step, place)`
// throws if the picture is bad, too. Throws if all pictures are bad.
void stand_in(const BadRow& bad, SkippedPictures& skipped,
              const std::function<std::vector<int64_t>(int64_t step)>& pictures_of,
              const std::function<void(int64_t step, int64_t place)>& read);

}  // namespace lockstep
