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

void StoredArray::read(int64_t first, int64_t count, std::byte* to) const {
  check(first >= 0 && count >= 0 && first + count <= rows_, "internal: rows ", first, " to ",
        first + count, " of array '", name_, "', which has ", rows_);
  const int64_t each = row_bytes();
  for (std::size_t part = count > 0 ? part_of(first) : 0; count > 0; ++part) {
    const ArrayRows& rows = parts_[part];
    const int64_t begin = first - starts_[part], now = std::min(count, rows.rows - begin);
    rows.bytes->read(rows.offset + begin * each, {to, static_cast<std::size_t>(now * each)});
    to += now * each;
    first += now;
    count -= now;
  }
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
