// SPDX-License-Identifier: Apache-2.0
// The arrays that the files of a set contain.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "data/arrays/array_files.h"
#include "data/arrays/stored_array.h"

namespace lockstep {

class ArrayCollection {
 public:
  // The arrays to collect; nothing: all.
  std::optional<std::set<std::string>> wanted;
  // The columns of arrays in CSV files, and the types that feeds ask for.
  std::map<std::string, std::vector<std::string>> columns;
  std::map<std::string, DType> asked;
  DecodingRoom room;

  // Collects the arrays of all files of the set at `path`.
  void read(const std::string& path);
  // Collects the arrays of the files of one name.
  void read(const ArrayFiles& files);

  const std::map<std::string, StoredArray>& arrays() const { return arrays_; }
  bool has(const std::string& name) const { return arrays_.contains(name); }
  // The names of all arrays and columns in the files, wanted or not.
  std::string names() const;
  bool is_memory() const;
  // Moves all arrays into memory if the room is large enough.
  void hold();

  struct File {
    std::string name;
    std::shared_ptr<const StoredBytes> bytes;
  };
  const std::vector<File>& files() const { return files_; }

  // The rest is for the readers of files.
  // Opens a file of the group that is being read.
  std::shared_ptr<const StoredBytes> open(const std::string& path);
  // True if the array is wanted. Throws if another group of files has a wanted array, too.
  bool wants(const std::string& name, const std::string& path);
  // Adds rows of an array. `dims` begin with the number of rows.
  void add(const std::string& name, DType dtype, const Dims& dims, ArrayRows rows);
  // The decoded bytes of the array in all files of the group.
  DecodedBytes& decoded(const std::string& name);

 private:
  void finish_group(const ArrayFiles& files);

  std::map<std::string, StoredArray> arrays_;
  std::map<std::string, std::string> known_;  // the first file of each array
  std::set<std::string> of_group_;            // names that the group has
  std::map<std::string, std::unique_ptr<DecodedBytes>> decoded_;
  std::vector<File> files_;
  bool is_of_many_ = false;
};

// The readers of a group of files of one name.
void collect_npy(const ArrayFiles& files, ArrayCollection& all);
void collect_npz(const ArrayFiles& files, ArrayCollection& all);
void collect_safetensors(const ArrayFiles& files, ArrayCollection& all);
void collect_csv(const ArrayFiles& files, ArrayCollection& all);

}  // namespace lockstep
