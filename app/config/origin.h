// SPDX-License-Identifier: Apache-2.0
// Where the values of keys came from, and what is to be said about them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "app/config/key.h"

namespace lockstep {

// A name that keys had once.
struct FormerKey {
  std::string name;
  std::string now;  // its name today; empty: of no use any more, accepted and ignored
  std::string how;  // how to convert its value, if that changed, too
};

struct Origins {
  std::vector<FormerKey> former;              // of the table that is read
  std::map<std::string, std::string> places;  // "x.yaml:12", "command line"; none: the default
  std::vector<std::string> notes;             // one line each, for the user

  // "default" where nobody set it.
  std::string of(const std::string& key) const;
  bool is_set(const std::string& key) const { return places.count(key) > 0; }
  // The beginning of an error about these keys, "x.yaml:12: FPN.DIM": names the first one that is
  // not the default, or the first one with `path`.
  std::string blame(const std::vector<std::string>& keys, const std::string& path) const;
  // Where the first of these keys that somebody set comes from, or `path`.
  std::string place_of(const std::vector<std::string>& keys, const std::string& path) const;
};

// A file that parses to the same values; behind each stands where it came from.
std::string yaml_with_origins(const ConfigKeys& keys, const Origins& origins);

}  // namespace lockstep
