// SPDX-License-Identifier: Apache-2.0
#include "app/config/origin.h"

#include <algorithm>

#include "lockstep/error.h"

namespace lockstep {
namespace {

// True if a file or the command line set the key.
bool is_said(const Origins& origins, const std::string& key) {
  return origins.is_set(key) && !origins.of(key).starts_with("inferred");
}

}  // namespace

std::string Origins::of(const std::string& key) const {
  const auto found = places.find(key);
  return found == places.end() ? "default" : found->second;
}

std::string Origins::blame(const std::vector<std::string>& keys, const std::string& path) const {
  for (const std::string& key : keys)
    if (is_said(*this, key)) return join(of(key), ": ", key);
  return join(path, ": ", keys.at(0));
}

std::string Origins::place_of(const std::vector<std::string>& keys, const std::string& path) const {
  for (const std::string& key : keys)
    if (is_said(*this, key)) return of(key);
  return path;
}

std::string yaml_with_origins(const ConfigKeys& keys, const Origins& origins) {
  constexpr std::size_t kColumn = 56;  // of the origins, unless a value is longer
  std::string text, section;
  for (const ConfigKey& key : keys) {
    const std::string in = section_of(key.key);
    if (in != section) text += in + ":\n";
    section = in;
    std::string line = join(in.empty() ? "" : "  ", key.key.substr(in.empty() ? 0 : in.size() + 1),
                            ": ", yaml_of(key));
    line.resize(std::max(line.size() + 2, kColumn), ' ');
    text += line + "# " + origins.of(key.key) + "\n";
  }
  return text;
}

}  // namespace lockstep
