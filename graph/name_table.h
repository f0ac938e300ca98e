// SPDX-License-Identifier: Apache-2.0
// Finds ids by name: a hash table with linear probing. The table does not store names; the caller
// passes a function from id to name. One allocation holds all slots, so large graphs are quick to
// build, search and free.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

namespace lockstep {

class NameTable {
 public:
  static constexpr int kNone = -1;

  void reserve(std::size_t names) {
    std::size_t size = places_.size();
    while (size < 2 * names || size < 16) size = size == 0 ? 16 : 2 * size;
    if (size > places_.size()) spread_over(size);
  }

  // Returns the id of `name`, or kNone. `name_of(id)` returns the name of an id of the table.
  template <class NameOf>
  int find(std::string_view name, const NameOf& name_of) const {
    return places_.empty() ? kNone : places_[place_of(name, hash_of(name), name_of)].id;
  }

  // Returns false if the name is taken.
  template <class NameOf>
  bool insert(std::string_view name, int id, const NameOf& name_of) {
    reserve(count_ + 1);
    const uint32_t hash = hash_of(name);
    Place& place = places_[place_of(name, hash, name_of)];
    if (place.id != kNone) return false;
    place = {hash, id};
    ++count_;
    return true;
  }

  template <class NameOf>
  void erase(std::string_view name, const NameOf& name_of) {
    if (places_.empty()) return;
    std::size_t hole = place_of(name, hash_of(name), name_of);
    if (places_[hole].id == kNone) return;
    // Moves later entries of the probe sequence into the hole, but never before the slot of their
    // hash.
    for (std::size_t next = after(hole); places_[next].id != kNone; next = after(next)) {
      const std::size_t wanted = places_[next].hash & mask();
      if (((next - wanted) & mask()) < ((next - hole) & mask())) continue;
      places_[hole] = places_[next];
      hole = next;
    }
    places_[hole] = {};
    --count_;
  }

 private:
  struct Place {
    uint32_t hash = 0;
    int id = kNone;
  };

  static uint32_t hash_of(std::string_view name) {
    return static_cast<uint32_t>(std::hash<std::string_view>{}(name));
  }
  std::size_t mask() const { return places_.size() - 1; }  // the size is a power of two
  std::size_t after(std::size_t place) const { return (place + 1) & mask(); }

  // Returns the slot of `name`, or the free slot to insert it into.
  template <class NameOf>
  std::size_t place_of(std::string_view name, uint32_t hash, const NameOf& name_of) const {
    std::size_t place = hash & mask();
    while (places_[place].id != kNone &&
           (places_[place].hash != hash || std::string_view(name_of(places_[place].id)) != name))
      place = after(place);
    return place;
  }

  void spread_over(std::size_t size) {
    std::vector<Place> before(size);
    before.swap(places_);
    for (const Place& moved : before) {
      if (moved.id == kNone) continue;
      std::size_t place = moved.hash & mask();
      while (places_[place].id != kNone) place = after(place);
      places_[place] = moved;
    }
  }

  std::vector<Place> places_;  // slots; at most half are in use
  std::size_t count_ = 0;
};

}  // namespace lockstep
