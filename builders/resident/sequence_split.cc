// SPDX-License-Identifier: Apache-2.0
#include "builders/resident/sequence_split.h"

#include <algorithm>
#include <cstring>

#include "lockstep/error.h"

namespace lockstep {
namespace {

void check_rows(const Chopped& chopped, const Tensor& tensor) {
  check(!tensor.desc.dims.empty() && tensor.desc.dims[0] == chopped.rows, "a tensor of ",
        text_of(tensor.desc), " does not have the ", chopped.rows, " rows of the episodes");
}

// Copies `count` rows of `source`, from row `from` on, to `target`, from row `to` on.
void copy_rows(const Tensor& source, int64_t from, int64_t count, Literal& target, int64_t to) {
  const std::size_t row = source.desc.bytes() / source.desc.dims[0];
  std::memcpy(target.bytes().data() + to * row, source.as<std::byte>() + from * row, count * row);
}

Literal of_rows(const Tensor& like, int64_t rows) {
  Dims dims = like.desc.dims;
  dims[0] = rows;
  return {like.desc.dtype, std::move(dims)};
}

}  // namespace

Chopped chop(int64_t rows, std::span<const int64_t> ends, int64_t length) {
  check(rows >= 1 && length >= 1, rows, " rows cannot be cut into sequences of ", length);
  Chopped chopped{.length = length, .rows = rows};
  int64_t first = 0;
  const auto cut = [&](int64_t end) {
    check(end > first && end <= rows, "an episode ends before row ", end, ", should be from ",
          first + 1, " to ", rows);
    for (; first < end; first += chopped.lengths.back()) {
      chopped.firsts.push_back(first);
      chopped.lengths.push_back(std::min(length, end - first));
    }
  };
  for (int64_t end : ends) cut(end);
  if (first < rows) cut(rows);
  return chopped;
}

Literal padded_rows(const Chopped& chopped, const Tensor& rows) {
  check_rows(chopped, rows);
  Literal padded = of_rows(rows, chopped.sequences() * chopped.length);  // of zeros
  for (std::size_t i = 0; i < chopped.firsts.size(); ++i)
    copy_rows(rows, chopped.firsts[i], chopped.lengths[i], padded,
              static_cast<int64_t>(i) * chopped.length);
  return padded;
}

Literal first_states(const Chopped& chopped, const Tensor& states) {
  check_rows(chopped, states);
  Literal firsts = of_rows(states, chopped.sequences());
  for (std::size_t i = 0; i < chopped.firsts.size(); ++i)
    copy_rows(states, chopped.firsts[i], 1, firsts, static_cast<int64_t>(i));
  return firsts;
}

}  // namespace lockstep
