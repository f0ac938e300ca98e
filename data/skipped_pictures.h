// SPDX-License-Identifier: Apache-2.0
// Pictures that cannot be read, and the ones that stand in for them (TRAIN.SKIP_BAD_IMAGES).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

namespace lockstep {

// The substitute that a minibatch has for a picture that cannot be read.
enum class InPlaceOfBad { nothing_and_stop, another, nothing };

// The bad pictures of minibatches. They are told by steps, so that the numbers do not depend on how
// far minibatches are read ahead. Thread-safe.
class SkippedPictures {
 public:
  struct Row {
    int64_t step = 0, item = 0;  // of a minibatch
    friend auto operator<=>(const Row&, const Row&) = default;
  };
  // `tries`: how many bad pictures this row had before. A row that is read again is not counted
  // again.
  void add(const Row& row, int64_t tries, const std::string& why);

  struct Told {
    std::vector<std::string> pictures;  // why each cannot be read, in the order of steps and items
    int64_t rows = 0;                   // of minibatches that lack their own picture
  };
  // Of the steps up to `last` whose bad pictures have not been taken yet.
  Told take(int64_t last);
  void begin_again();  // at step 0, such as for another test

 private:
  std::mutex mutex_;
  std::map<std::tuple<Row, int64_t>, std::string> waiting_;
  int64_t taken_ = -1;
};

// A row of a step whose own picture is bad.
struct BadRow {
  SkippedPictures::Row row;
  int64_t place = 0;     // of the row in the step of all processes
  int64_t picture = 0;   // a number
  int64_t distinct = 0;  // how many pictures may stand in for each other, this one included
  std::string why;
};
// Reads the next good picture of the step, by place, instead of a bad one, or where the step has
// none, that of the steps after it. So the choice is a matter of numbers: the same for any number
// of threads and processes, and for a run that was resumed. `pictures_of(step)`: by place; empty if
// the pictures of that step do not fit. `read(step, place)`: throws if that picture is bad, too.
// Throws if all are.
void stand_in(const BadRow& bad, SkippedPictures& skipped,
              const std::function<std::vector<int64_t>(int64_t step)>& pictures_of,
              const std::function<void(int64_t step, int64_t place)>& read);

}  // namespace lockstep
