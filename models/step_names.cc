// SPDX-License-Identifier: Apache-2.0
#include "models/step_names.h"

#include "graph/nearest.h"

namespace lockstep {
namespace {

struct NameSet {
  const char* set;
  const char* network;
  TrainingModel (*rename)(TrainingModel);
};

constexpr NameSet kSets[] = {{"keras", "resnet50_keras", with_keras_names}};

}  // namespace

std::vector<std::string> step_name_sets() {
  std::vector<std::string> sets;
  for (const NameSet& entry : kSets)
    if (sets.empty() || sets.back() != entry.set) sets.emplace_back(entry.set);
  return sets;
}

TrainingModel with_step_names(const std::string& set, const std::string& network,
                              const std::string& source, TrainingModel model) {
  std::string have, known;
  for (const NameSet& entry : kSets) {
    if (set != entry.set) continue;
    if (network == entry.network) return entry.rename(std::move(model));
    have += join(" ", entry.network);
  }
  for (const std::string& one : step_name_sets()) known += " " + one;
  const std::string near = nearest(set, step_name_sets());
  check(!have.empty(), "--names '", set, "': there is no such set of names",
        near.empty() ? "; known:" : "; did you mean '" + near + "'? Known:", known);
  fail("--names ", set, ": '", source,
       "' has no names of this set; models with names of this set:", have);
}

}  // namespace lockstep
