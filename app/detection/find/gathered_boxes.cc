// SPDX-License-Identifier: Apache-2.0
// Boxes of all processes on rank 0, field by field: a struct's padding has no value.
#include <algorithm>
#include <cstring>
#include <limits>

#include "app/detection/find/found_boxes.h"
#include "lockstep/error.h"
#include "runtime/dist/agree.h"

namespace lockstep {
namespace {

constexpr const char* kWhat = "the boxes found";
constexpr std::size_t kMessage = std::size_t{16} << 20U;  // bytes that a rank sends at once

template <class T>
void put(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

template <class T>
void put_list(std::string& bytes, const std::vector<T>& values) {
  put(bytes, static_cast<uint64_t>(values.size()));
  bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

std::string bytes_of(const std::vector<FoundBoxes>& pictures) {
  std::string bytes;
  for (const FoundBoxes& boxes : pictures) {
    put(bytes, static_cast<uint64_t>(boxes.size()));
    for (const FoundBox& box : boxes) {
      put(bytes, box.corners);
      put(bytes, box.score);
      put(bytes, box.kind);
      put(bytes, box.mask.height);
      put(bytes, box.mask.width);
      put_list(bytes, box.mask.counts);
      put_list(bytes, box.points);
    }
  }
  return bytes;
}

static_assert(sizeof(FoundPoint) == 4 * sizeof(float));

class BoxReader {
 public:
  BoxReader(const std::string& bytes, int rank) : bytes_(bytes), rank_(rank) {}

  FoundBoxes picture() {
    FoundBoxes boxes;
    for (auto count = take<uint64_t>(); count > 0; --count) {
      FoundBox& box = boxes.emplace_back();
      box.corners = take<Corners>();
      box.score = take<float>();
      box.kind = take<int64_t>();
      box.mask.height = take<int64_t>();
      box.mask.width = take<int64_t>();
      box.mask.counts = take_list<uint32_t>();
      box.points = take_list<FoundPoint>();
    }
    return boxes;
  }
  void check_end() const {
    check(at_ == bytes_.size(), "rank ", rank_, " sent ", bytes_.size() - at_,
          " bytes more than its boxes take");
  }

 private:
  void check_left(uint64_t count, std::size_t each) const {
    check(count <= (bytes_.size() - at_) / each, "rank ", rank_, " sent only ", bytes_.size(),
          " bytes, which end within a box");
  }
  template <class T>
  T take() {
    T value;
    check_left(1, sizeof value);
    std::memcpy(&value, bytes_.data() + at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  template <class T>
  std::vector<T> take_list() {
    const auto count = take<uint64_t>();
    check_left(count, sizeof(T));
    std::vector<T> values(count);
    if (count > 0) std::memcpy(values.data(), bytes_.data() + at_, count * sizeof(T));
    at_ += count * sizeof(T);
    return values;
  }

  const std::string& bytes_;
  int rank_;
  std::size_t at_ = 0;
};

// Gathers the ranks' bytes on rank 0, in messages of limited length.
std::vector<std::string> gather_long(Comm& comm, const std::string& mine) {
  constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();
  const uint64_t longest = kMost - least_of_all(comm, kMost - mine.size(), kWhat);
  std::vector<std::string> all(comm.rank() == 0 ? static_cast<std::size_t>(comm.size()) : 0);
  for (std::size_t first = 0; first < longest; first += kMessage) {
    const std::string part = mine.substr(std::min(first, mine.size()), kMessage);
    const std::vector<std::string> parts = gather_texts(comm, part, kWhat);
    for (std::size_t rank = 0; rank < parts.size(); ++rank) all[rank] += parts[rank];
  }
  return all;
}

}  // namespace

std::vector<FoundBoxes> gather_boxes(Comm& comm, const std::vector<FoundBoxes>& mine,
                                     std::size_t pictures) {
  const std::vector<std::string> all = gather_long(comm, bytes_of(mine));
  if (all.empty()) return {};
  std::vector<BoxReader> readers;
  for (std::size_t rank = 0; rank < all.size(); ++rank)
    readers.emplace_back(all[rank], static_cast<int>(rank));
  std::vector<FoundBoxes> found;
  for (std::size_t picture = 0; picture < pictures; ++picture)
    found.push_back(readers[picture % all.size()].picture());
  for (const BoxReader& reader : readers) reader.check_end();
  return found;
}

}  // namespace lockstep
