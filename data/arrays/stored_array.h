// SPDX-License-Identifier: Apache-2.0
// An array whose rows are in one or more files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/arrays/stored_bytes.h"
#include "lockstep/types.h"

namespace lockstep {

// Consecutive rows of an array, and the place for their bytes.
struct RowRange {
  int64_t first = 0, count = 0;
  std::byte* to = nullptr;
};

// The rows of an array in one file.
struct ArrayRows {
  std::shared_ptr<const StoredBytes> bytes =
      nullptr;         // null: decoded bytes that are not finished yet
  int64_t offset = 0;  // of the first row
  int64_t rows = 0;
  std::string path = "";
};

class StoredArray {
 public:
  StoredArray(std::string name, DType dtype, Dims row)
      : name_(std::move(name)), dtype_(dtype), row_(std::move(row)) {}

  // Appends the rows of a file. Throws, naming both files, if type or dimensions differ.
  void add(DType dtype, const Dims& row, ArrayRows rows);
  // Gives the bytes to the rows that have none.
  void finish(const std::shared_ptr<const StoredBytes>& decoded);

  const std::string& name() const { return name_; }
  DType dtype() const { return dtype_; }
  const Dims& row() const { return row_; }  // the dimensions of a row
  int64_t row_values() const { return element_count(row_); }
  int64_t row_bytes() const { return row_values() * static_cast<int64_t>(size_of(dtype_)); }
  int64_t rows() const { return rows_; }
  int64_t bytes() const { return rows_ * row_bytes(); }
  const std::vector<ArrayRows>& parts() const { return parts_; }
  bool is_memory() const;
  const std::string& file() const { return parts_.front().path; }
  // "x-00002.npy, row 17".
  std::string where(int64_t row) const;

  void read(std::span<const RowRange> ranges) const;
  void read(int64_t first, int64_t count, std::byte* to) const;
  // Moves rows in files into memory.
  void hold();

 private:
  std::size_t part_of(int64_t row) const;

  std::string name_;
  DType dtype_;
  Dims row_;
  int64_t rows_ = 0;
  std::vector<ArrayRows> parts_;
  std::vector<int64_t> starts_;  // the first row of each part
};

}  // namespace lockstep
