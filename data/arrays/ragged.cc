// SPDX-License-Identifier: Apache-2.0
#include "data/arrays/ragged.h"

#include <algorithm>

#include "data/arrays/convert.h"
#include "graph/limits.h"
#include "lockstep/error.h"

namespace lockstep {

RaggedLengths::RaggedLengths(const StoredArray& lengths) {
  const ConvertElements convert = array_conversion(lengths.dtype(), DType::int64);
  check(convert && lengths.row_values() == 1, lengths.file(), ": array '", lengths.name(),
        "' has rows of ", lengths.dtype(), lengths.row(),
        ", but lengths are one integer for each example");
  const int64_t count = lengths.rows();
  check_memory(count * sizeof(int64_t), join("the lengths in ", lengths.file()));
  starts_.reserve(count + 1);
  starts_.push_back(0);
  constexpr int64_t kRows = 65536;
  std::vector<std::byte> stored(kRows * lengths.row_bytes());
  std::vector<int64_t> values(kRows);
  for (int64_t first = 0; first < count; first += kRows) {
    const int64_t now = std::min(kRows, count - first);
    lengths.read(first, now, stored.data());
    const int64_t bad = convert(stored.data(), reinterpret_cast<std::byte*>(values.data()), now);
    if (bad >= 0) fail(lengths.where(first + bad), ": a length beyond int64");
    for (int64_t i = 0; i < now; ++i) {
      int64_t end = 0;
      if (values[i] < 0 || __builtin_add_overflow(starts_.back(), values[i], &end))
        fail(lengths.where(first + i), ": a length of ", values[i]);
      if (values[i] > longest_) {
        longest_ = values[i];
        longest_example_ = first + i;
      }
      starts_.push_back(end);
    }
  }
}

bool are_joined(const StoredArray& array, const StoredArray& stored_lengths,
                const RaggedLengths& lengths) {
  if (array.rows() == lengths.sum()) return true;
  const bool is_padded = array.rows() == lengths.examples() && !array.row().empty() &&
                         array.row()[0] >= lengths.longest();
  check(is_padded, array.file(), ": array '", array.name(), "' has ", array.rows(), " rows of ",
        array.dtype(), array.row(), ", but the ", lengths.examples(), " lengths in ",
        stored_lengths.file(), " add up to ", lengths.sum(), " rows, and the longest is ",
        lengths.longest());
  return false;
}

}  // namespace lockstep
