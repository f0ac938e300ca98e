// SPDX-License-Identifier: Apache-2.0
#include "data/arrays/stored_array.h"

#include <algorithm>

#include "lockstep/error.h"

namespace lockstep {

void StoredArray::add(DType dtype, const Dims& row, ArrayRows rows) {
  check(dtype == dtype_ && row == row_, "array '", name_,
        "': ", parts_.empty() ? std::string() : file(), " has rows of ", dtype_, row_, ", but ",
        rows.path, " has rows of ", dtype, row, "; all files of an array need the same");
  starts_.push_back(rows_);
  check(!__builtin_add_overflow(rows_, rows.rows, &rows_), rows.path, ": too many rows");
  parts_.push_back(std::move(rows));
}

void StoredArray::finish(const std::shared_ptr<const StoredBytes>& decoded) {
  for (ArrayRows& part : parts_)
    if (!part.bytes) part.bytes = decoded;
}

bool StoredArray::is_memory() const {
  return std::ranges::all_of(parts_, [](const ArrayRows& part) { return part.bytes->is_memory(); });
}

// An empty part begins where the next one does, so the last one of equal starts has the row.
std::size_t StoredArray::part_of(int64_t row) const {
  return std::ranges::upper_bound(starts_, row) - starts_.begin() - 1;
}

std::string StoredArray::where(int64_t row) const {
  const std::size_t part = part_of(row);
  return join(parts_[part].path, ", row ", row - starts_[part]);
}

// Each part is read once, so that its file is looked at once.
void StoredArray::read(std::span<const RowRange> ranges) const {
  struct Place {
    std::size_t part;
    StoredBytes::Piece piece;
  };
  std::vector<Place> places;
  const int64_t each = row_bytes();
  for (auto [first, count, to] : ranges) {
    check(first >= 0 && count >= 0 && first + count <= rows_, "internal: rows ", first, " to ",
          first + count, " of array '", name_, "', which has ", rows_);
    for (std::size_t part = count > 0 ? part_of(first) : 0; count > 0; ++part) {
      const ArrayRows& rows = parts_[part];
      const int64_t begin = first - starts_[part], now = std::min(count, rows.rows - begin);
      const std::span bytes(to, static_cast<std::size_t>(now * each));
      places.push_back({part, {rows.offset + begin * each, bytes}});
      to += now * each;
      first += now;
      count -= now;
    }
  }
  std::ranges::stable_sort(places, {}, &Place::part);
  std::vector<StoredBytes::Piece> pieces;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const StoredBytes::Piece& piece = places[i].piece;
    StoredBytes::Piece* const last = pieces.empty() ? nullptr : &pieces.back();
    if (last && last->offset + std::ssize(last->to) == piece.offset &&
        last->to.data() + last->to.size() == piece.to.data())
      last->to = {last->to.data(), last->to.size() + piece.to.size()};
    else
      pieces.push_back(piece);
    if (i + 1 < places.size() && places[i + 1].part == places[i].part) continue;
    parts_[places[i].part].bytes->read(pieces);
    pieces.clear();
  }
}

void StoredArray::read(int64_t first, int64_t count, std::byte* to) const {
  const RowRange range{first, count, to};
  read(std::span(&range, 1));
}

void StoredArray::hold() {
  const int64_t each = row_bytes();
  for (ArrayRows& part : parts_) {
    if (part.bytes->is_memory()) continue;
    std::vector<std::byte> bytes(part.rows * each);
    part.bytes->read(part.offset, bytes);
    part.bytes = bytes_in_memory(std::move(bytes));
    part.offset = 0;
  }
}

}  // namespace lockstep
