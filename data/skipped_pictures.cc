// SPDX-License-Identifier: Apache-2.0
#include "data/skipped_pictures.h"

#include <algorithm>
#include <set>

#include "graph/limits.h"
#include "lockstep/error.h"

namespace lockstep {

void SkippedPictures::add(const Row& row, int64_t tries, const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (row.step > taken_) waiting_.emplace(std::tuple(row, tries), why);
}

SkippedPictures::Told SkippedPictures::take(int64_t last) {
  const std::lock_guard lock(mutex_);
  Told told;
  std::set<std::string> names;
  while (!waiting_.empty()) {
    const auto first = waiting_.begin();
    const auto& [row, tries] = first->first;
    if (row.step > last) break;
    told.rows += tries == 0;
    if (names.insert(first->second).second) told.pictures.push_back(first->second);
    waiting_.erase(first);
  }
  taken_ = std::max(taken_, last);
  return told;
}

void SkippedPictures::begin_again() {
  const std::lock_guard lock(mutex_);
  waiting_.clear();
  taken_ = -1;
}

void stand_in(const BadRow& bad, SkippedPictures& skipped,
              const std::function<std::vector<int64_t>(int64_t step)>& pictures_of,
              const std::function<void(int64_t step, int64_t place)>& read) {
  std::set<int64_t> tried;
  const auto note = [&](int64_t picture, const std::string& why) {
    skipped.add(bad.row, static_cast<int64_t>(tried.size()), why);
    tried.insert(picture);
    if (static_cast<int64_t>(tried.size()) == bad.distinct)
      fail(
          "none of the ", bad.distinct,
          " pictures that may be used here can be read; check the folder of the data set. The last "
          "error: ",
          why);
  };
  note(bad.picture, bad.why);
  for (int64_t from = bad.row.step;; ++from) {
    const std::vector<int64_t> pictures = pictures_of(from);
    const auto count = static_cast<int64_t>(pictures.size());
    for (int64_t tries = 0; tries < count; ++tries) {
      const int64_t place = (bad.place + tries) % count;
      const int64_t picture = pictures[place];
      if (tried.count(picture) > 0) continue;
      try {
        return read(from, place);
      } catch (const NoMemory&) {
        throw;
      } catch (const Error& error) {
        note(picture, error.what());
      }
    }
  }
}

}  // namespace lockstep
