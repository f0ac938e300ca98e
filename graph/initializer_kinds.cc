// SPDX-License-Identifier: Apache-2.0
#include "graph/initializer_kinds.h"

#include <set>
#include <sstream>
#include <utility>

#include "graph/printable.h"

namespace lockstep {
namespace {

constexpr std::pair<InitializerKind, const char*> kKeys[] = {
    {InitializerKind::parameter, "initializers.parameter"},
    {InitializerKind::buffer, "initializers.buffer"},
    {InitializerKind::constant, "initializers.constant"}};

}  // namespace

void write_kinds(const InitializerKinds& kinds, std::map<std::string, std::string>& metadata) {
  for (const auto& [kind, key] : kKeys) {
    std::string names;
    for (const auto& [name, its_kind] : kinds)
      if (its_kind == kind && first_control(name).empty())
        names += (names.empty() ? "" : "\n") + name;
    if (!names.empty()) metadata[key] = names;
  }
}

void read_kinds(const std::map<std::string, std::string>& metadata,
                const std::vector<std::string>& initializers, InitializerKinds& kinds) {
  const std::set<std::string> known(initializers.begin(), initializers.end());
  for (const auto& [kind, key] : kKeys) {
    const auto entry = metadata.find(key);
    if (entry == metadata.end()) continue;
    std::istringstream lines(entry->second);
    for (std::string name; std::getline(lines, name);)
      if (known.contains(name)) kinds.emplace(name, kind);
  }
}

}  // namespace lockstep
