// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "app/diff/change_groups.h"
#include "app/diff/diff_text.h"
#include "app/record/json_text.h"

namespace lockstep {

std::string json_of(const DiffResult& result) {
  nlohmann::ordered_json differences = nlohmann::ordered_json::array();
  for (const ChangedItem& item : changed_items(result.changes)) {
    const Change& change = *item.change;
    nlohmann::ordered_json entry{{"part", name_of(change.part)},
                                 {"kind", name_of(change.kind)},
                                 {change.is_node ? "operator" : "of", change.of},
                                 {"name", change.name}};
    if (!change.what.empty()) entry["what"] = change.what;
    if (!change.a.empty() || !change.b.empty()) entry["a"] = change.a, entry["b"] = change.b;
    if (!change.note.empty()) entry["note"] = change.note;
    if (!item.replicas.empty()) entry["replicas"] = item.replicas;
    differences.push_back(std::move(entry));
  }
  return json_text({{"schema", "lockstep.diff/1"},
                    {"a", result.a},
                    {"b", result.b},
                    {"equal", result.changes.empty()},
                    {"compared", result.compared},
                    {"notes", result.notes},
                    {"differences", std::move(differences)}});
}

}  // namespace lockstep
