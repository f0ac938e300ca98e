// SPDX-License-Identifier: Apache-2.0
#include "app/task_kind.h"

#include <algorithm>

#include "app/config/read.h"
#include "graph/listed.h"
#include "graph/nearest.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

bool has(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

const TaskKind* kind_with_type(const std::string& type) {
  for (const TaskKind& kind : task_kinds())
    if (has(kind.types, type)) return &kind;
  return nullptr;
}

// The kind that the data set selects; null if another key selects the kind.
const TaskKind* kind_with_dataset(const ConfigFiles& files, const std::vector<std::string>& words) {
  const auto said = said_of("DATA.NAME", files, words);
  for (const TaskKind& kind : task_kinds())
    if (said && has(kind.datasets, said->text)) return &kind;
  return nullptr;
}

std::vector<std::string> model_types() {
  std::vector<std::string> types;
  for (const TaskKind& kind : task_kinds())
    types.insert(types.end(), kind.types.begin(), kind.types.end());
  return types;
}

}  // namespace

const std::vector<TaskKind>& task_kinds() {
  static const std::vector<TaskKind> kinds{classification_kind(), detection_kind(), text_kind(),
                                           control_kind(), arrays_kind()};
  return kinds;
}

const TaskKind& task_kind_of(const ConfigFiles& files, const std::vector<std::string>& words) {
  const TaskKind& usual = task_kinds().front();
  const auto said = said_of("MODEL.TYPE", files, words);
  if (!said) {
    const TaskKind* by_data = kind_with_dataset(files, words);
    return by_data ? *by_data : usual;
  }
  if (const TaskKind* kind = kind_with_type(said->text)) return *kind;
  const std::string near = nearest(said->text, model_types());
  fail(said->at, ": MODEL.TYPE '", said->text, "' is not known; ",
       near.empty() ? "known: " + listed(model_types()) : "did you mean " + near + "?");
}

const TaskKind& task_kind_of(const TrainingModel& network) {
  for (const TaskKind& kind : task_kinds())
    if (!kind.mark.empty() && network.metadata.count(kind.mark) > 0) return kind;
  return task_kinds().front();
}

std::unique_ptr<Task> task_of(const ConfigRequest& config) {
  return explaining_unknown(config.files, config.words,
                            [&] { return task_kind_of(config.files, config.words).task(config); });
}

bool is_key_of_a_task(const std::string& word) {
  return std::any_of(task_kinds().begin(), task_kinds().end(), [&](const TaskKind& kind) {
    OwnedKeys of_kind = kind.keys();
    return find_key(of_kind.keys, word) != nullptr;
  });
}

std::vector<CompletedKey> keys_to_complete() {
  std::vector<CompletedKey> all;
  for (const TaskKind& kind : task_kinds())
    for (const ConfigKey& key : kind.keys().keys) {
      const auto same = [&](const CompletedKey& other) { return other.key == key.key; };
      auto known = std::find_if(all.begin(), all.end(), same);
      if (known == all.end()) known = all.insert(all.end(), {key.key, key.facts.flag, {}});
      for (const std::string& word : words_of(key)) known->words.push_back(word);
    }
  for (CompletedKey& key : all) {
    std::sort(key.words.begin(), key.words.end());
    key.words.erase(std::unique(key.words.begin(), key.words.end()), key.words.end());
  }
  return all;
}

void explain_unknown(const UnknownKey& unknown, const ConfigFiles& files,
                     const std::vector<std::string>& words) {
  const auto type = said_of("MODEL.TYPE", files, words);
  if (!type || !is_key_of_a_task(unknown.subject().keys.at(0))) throw unknown;
  const std::string what = unknown.what();
  fail(what, what.ends_with("?") ? "" : ";", " MODEL.TYPE ", type->text, " (", type->at,
       ") selects the keys of `lockstep keys --task ", task_kind_of(files, words).name,
       "`, and this key is not among them");
}

}  // namespace lockstep
