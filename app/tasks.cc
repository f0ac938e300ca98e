// SPDX-License-Identifier: Apache-2.0
#include "app/tasks.h"

#include <algorithm>

#include "app/classification/task.h"
#include "app/config/not_done.h"
#include "app/config/read.h"
#include "app/control/control_task.h"
#include "app/detection/functions.h"
#include "app/detection/task.h"
#include "app/detection/types.h"
#include "app/text/task.h"
#include "app/text/types.h"
#include "graph/error.h"

namespace lockstep {
namespace {

// As `lockstep keys --task` calls it.
const char* name_of_task(const ConfigFiles& files, const std::vector<std::string>& words) {
  return is_detector(files, words)         ? "detection"
         : is_language_model(files, words) ? "text"
         : is_control(files, words)        ? "control"
                                           : "classification";
}

std::unique_ptr<Task> read_task(const ConfigFiles& files, const std::vector<std::string>& words,
                                int processes) {
  if (is_detector(files, words)) {
    DetectorConfig config = read_detector_config(files, words, processes);
    refuse_not_done(keys_of(config), "train", config.origins, config.path);
    check(config.misfit.empty(), config.misfit);
    return std::make_unique<DetectionTask>(std::move(config));
  }
  Origins origins;
  if (is_language_model(files, words))
    return std::make_unique<TextTask>(read_text_config(files, words, processes, origins));
  if (is_control(files, words))
    return std::make_unique<ControlTask>(read_control_config(files, words, processes, origins));
  return std::make_unique<ClassificationTask>(read_config(files, words, processes, origins));
}

// Calls `act` with the table of each task.
template <class Act>
void with_all_tables(const Act& act) {
  ClassificationConfig of_classes;
  DetectorConfig of_boxes;
  TextConfig of_text;
  ControlConfig of_actions;
  for (ConfigKeys keys :
       {keys_of(of_classes), keys_of(of_boxes), keys_of(of_text), keys_of(of_actions)})
    act(keys);
}

}  // namespace

std::unique_ptr<Task> task_of(const ConfigFiles& files, const std::vector<std::string>& words,
                              int processes) {
  return explaining_unknown(files, words, [&] { return read_task(files, words, processes); });
}

bool is_key_of_a_task(const std::string& word) {
  bool found = false;
  with_all_tables([&](ConfigKeys& keys) { found = found || find_key(keys, word); });
  return found;
}

std::vector<CompletedKey> keys_to_complete() {
  std::vector<CompletedKey> all;
  with_all_tables([&](ConfigKeys& keys) {
    for (const ConfigKey& key : keys) {
      const auto same = [&](const CompletedKey& other) { return other.key == key.key; };
      auto known = std::find_if(all.begin(), all.end(), same);
      if (known == all.end()) known = all.insert(all.end(), {key.key, key.facts.flag, {}});
      for (const std::string& word : words_of(key)) known->words.push_back(word);
    }
  });
  for (const FunctionKey& key : function_keys())
    for (CompletedKey& known : all)
      if (known.key == key.key) known.words = key.names;
  for (CompletedKey& key : all) {
    std::sort(key.words.begin(), key.words.end());
    key.words.erase(std::unique(key.words.begin(), key.words.end()), key.words.end());
  }
  return all;
}

void explain_unknown(const UnknownKey& unknown, const ConfigFiles& files,
                     const std::vector<std::string>& words) {
  const auto type = said_of("MODEL.TYPE", files, words);
  if (!type || !is_key_of_a_task(unknown.key())) throw unknown;
  const std::string what = unknown.what();
  fail(what, what.ends_with("?") ? "" : ";", " MODEL.TYPE ", type->text, " (", type->at,
       ") selects the keys of `lockstep keys --task ", name_of_task(files, words),
       "`, which this is not one of");
}

}  // namespace lockstep
