// SPDX-License-Identifier: Apache-2.0
#include "app/detection/found_boxes.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "lockstep/error.h"
#include "lockstep/processes.h"
#include "runtime/dist/agree.h"

namespace lockstep {
namespace {

constexpr const char* kWhat = "the boxes found";
constexpr std::size_t kMessage = std::size_t{16} << 20U;  // bytes that a rank sends at once

template <class T>
void put(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// Writes field by field, because a struct's padding has no value.
std::string bytes_of(const std::vector<FoundBoxes>& pictures) {
  std::string bytes;
  for (const FoundBoxes& boxes : pictures) {
    put(bytes, static_cast<uint64_t>(boxes.size()));
    for (const FoundBox& box : boxes) {
      put(bytes, box.corners);
      put(bytes, box.score);
      put(bytes, box.kind);
    }
  }
  return bytes;
}

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
    }
    return boxes;
  }
  void check_end() const {
    check(at_ == bytes_.size(), "rank ", rank_, " sent ", bytes_.size() - at_,
          " bytes more than its boxes take");
  }

 private:
  template <class T>
  T take() {
    T value;
    check(bytes_.size() - at_ >= sizeof value, "rank ", rank_, " sent only ", bytes_.size(),
          " bytes, which end within a box");
    std::memcpy(&value, bytes_.data() + at_, sizeof value);
    at_ += sizeof value;
    return value;
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

bool is_finite(const FoundBox& box) {
  return std::isfinite(box.score) && std::all_of(box.corners.begin(), box.corners.end(),
                                                 [](float at) { return std::isfinite(at); });
}

std::string text_of(const FoundBox& box) {
  const Corners& at = box.corners;
  return join(at[0], ", ", at[1], ", ", at[2], ", ", at[3], " with a score of ", box.score);
}

std::vector<Detection> detections_of(const std::vector<FoundBoxes>& pictures) {
  std::vector<Detection> detections;
  for (std::size_t picture = 0; picture < pictures.size(); ++picture)
    for (const FoundBox& box : pictures[picture])
      detections.push_back({static_cast<int32_t>(picture),
                            static_cast<int32_t>(std::max<int64_t>(0, box.kind - 1)),
                            coco_box_of(box.corners), box.score});
  return detections;
}

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
