// SPDX-License-Identifier: Apache-2.0
#include "data/arrays/collection.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "graph/listed.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

constexpr std::size_t kMostOpenFiles = 256;  // of the 1024 that a process usually may open

using CollectArrays = void (*)(const ArrayFiles& files, ArrayCollection& all);

CollectArrays reader_of(const std::string& extension) {
  if (extension == ".npy") return collect_npy;
  if (extension == ".npz") return collect_npz;
  if (extension == ".safetensors") return collect_safetensors;
  return collect_csv;
}

}  // namespace

void ArrayCollection::read(const std::string& path) {
  const std::vector<ArrayFiles> groups = array_files(path);
  std::size_t count = 0;
  for (const ArrayFiles& group : groups) count += group.paths.size();
  is_of_many_ = count > kMostOpenFiles;
  for (const ArrayFiles& group : groups) read(group);
}

void ArrayCollection::read(const ArrayFiles& files) {
  reader_of(files.extension)(files, *this);
  finish_group(files);
}

void ArrayCollection::finish_group(const ArrayFiles& files) {
  for (auto& [name, bytes] : decoded_) arrays_.at(name).finish(bytes->finish());
  decoded_.clear();
  for (const std::string& name : of_group_) {
    const auto array = arrays_.find(name);
    if (array == arrays_.end()) continue;  // not wanted
    const std::vector<ArrayRows>& parts = array->second.parts();
    for (std::size_t i = 0; i < files.paths.size(); ++i)
      check(i < parts.size() && parts[i].path.starts_with(files.paths[i]), files.paths[i],
            ": lacks the array '", name, "', which other shards have");
  }
  of_group_.clear();
}

std::string ArrayCollection::names() const {
  constexpr std::size_t kMostNames = 30;
  std::vector<std::string> names;
  for (const auto& [name, path] : known_) names.push_back("'" + name + "'");
  return first_listed(std::move(names), kMostNames);
}

bool ArrayCollection::is_memory() const {
  return std::ranges::all_of(arrays_, [](const auto& entry) { return entry.second.is_memory(); });
}

void ArrayCollection::hold() {
  std::vector<StoredArray*> arrays;
  for (auto& [name, array] : arrays_) arrays.push_back(&array);
  std::ranges::stable_sort(arrays, {}, &StoredArray::bytes);
  for (StoredArray* const array : arrays) {
    if (array->is_memory()) continue;
    if (array->bytes() > room.memory) return;
    array->hold();
    room.memory -= array->bytes();
  }
}

std::shared_ptr<const StoredBytes> ArrayCollection::open(const std::string& path) {
  auto bytes = open_bytes(path, is_of_many_);
  files_.push_back({std::filesystem::path(path).filename().string(), bytes});
  return bytes;
}

bool ArrayCollection::wants(const std::string& name, const std::string& path) {
  if (of_group_.insert(name).second) {
    const auto [entry, is_new] = known_.emplace(name, path);
    // Tables of one folder may share a column that no feed needs.
    check(is_new || (wanted && !wanted->contains(name)), "the array '", name, "' is in ",
          entry->second, " and in ", path, "; one of them is left over");
  }
  return !wanted || wanted->contains(name);
}

void ArrayCollection::add(const std::string& name, DType dtype, const Dims& dims, ArrayRows rows) {
  check(!dims.empty(), rows.path, ": array '", name,
        "' is a single number; the first dimension of an array counts its examples");
  rows.rows = dims[0];
  const Dims row(dims.begin() + 1, dims.end());
  arrays_.try_emplace(name, name, dtype, row).first->second.add(dtype, row, std::move(rows));
}

DecodedBytes& ArrayCollection::decoded(const std::string& name) {
  std::unique_ptr<DecodedBytes>& bytes = decoded_[name];
  if (!bytes) bytes = std::make_unique<DecodedBytes>(room);
  return *bytes;
}

}  // namespace lockstep
