// SPDX-License-Identifier: Apache-2.0
#include "lockstep/episodes.h"

#include "data/episodes/cart_pole.h"
#include "graph/listed.h"
#include "graph/nearest.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

const std::vector<EnvironmentKind>& kinds() {
  static const std::vector<EnvironmentKind> all{cart_pole()};
  return all;
}

}  // namespace

std::vector<std::string> environment_names() {
  std::vector<std::string> names;
  for (const EnvironmentKind& kind : kinds()) names.push_back(kind.name);
  return names;
}

const EnvironmentKind& environment_named(const std::string& name) {
  for (const EnvironmentKind& kind : kinds())
    if (kind.name == name) return kind;
  const std::string near = nearest(name, environment_names());
  fail("there is no environment '", name, "'; ",
       near.empty() ? "known: " : "did you mean '" + near + "'? Known: ",
       listed(environment_names()));
}

}  // namespace lockstep
