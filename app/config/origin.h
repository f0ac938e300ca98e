// SPDX-License-Identifier: Apache-2.0
// The origins of keys' values, and notes about them for the user.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "app/config/key.h"

namespace lockstep {

// A former name of a key.
struct FormerKey {
  std::string name;
  std::string now;  // its present name; empty: the key is obsolete, accepted and ignored
  std::string how;  // how to convert its value, if the value changed, too
};

struct Origins {
  std::vector<FormerKey> former;              // former names of the keys being read
  std::map<std::string, std::string> places;  // "x.yaml:12", "command line"; missing: the default
  std::vector<std::string> notes;             // one line each, for the user

  // Returns "default" if nothing set the key.
  std::string of(const std::string& key) const;
  bool is_set(const std::string& key) const { return places.count(key) > 0; }
  // The beginning of an error about these keys, "x.yaml:12: FPN.DIM". Names the first key that a
  // file or the command line set, otherwise the first key with `path`.
  std::string blame(const std::vector<std::string>& keys, const std::string& path) const;
  // The origin of the first of these keys that a file or the command line set, otherwise `path`.
  std::string place_of(const std::vector<std::string>& keys, const std::string& path) const;
};

// A YAML file that parses to equal values. A comment behind each value gives its origin.
std::string yaml_with_origins(const ConfigKeys& keys, const Origins& origins);

}  // namespace lockstep
