// SPDX-License-Identifier: Apache-2.0
// The record of a task: how each command treats the task's configurations and networks. A new task
// is a folder with a kind.cc, and a line in task_kinds().
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "app/config/files.h"
#include "app/config/unknown_key.h"
#include "app/model_source.h"
#include "app/predict/infer_source.h"
#include "app/predict/scorer.h"
#include "app/train/task.h"
#include "app/train/trained_network.h"

namespace lockstep {

// A CONFIG.yaml, and the settings of a command line.
struct ConfigRequest {
  const ConfigFiles& files;
  const std::vector<std::string>& words;  // KEY VALUE ..
  int processes = 1;                      // each with its own DEVICES
};

// Keys with the configuration that they refer to.
struct OwnedKeys {
  std::shared_ptr<void> config;
  ConfigKeys keys;
};

template <class Config>
OwnedKeys owned_keys() {
  const auto config = std::make_shared<Config>();
  return {config, keys_of(*config)};
}

// Every key of a configuration with its value.
using KeyTexts = std::vector<std::pair<std::string, std::string>>;

// The functions of a task with one function that reads its configuration.
template <class Config,
          Config (*read)(const ConfigFiles& files, const std::vector<std::string>& words,
                         int processes, Origins& origins)>
struct ReadBy {
  static OwnedKeys keys() { return owned_keys<Config>(); }
  static Config config(const ConfigRequest& request) {
    Origins unasked;
    return read(request.files, request.words, request.processes, unasked);
  }
  static std::string yaml(const ConfigRequest& request) {
    Origins origins;
    Config config = read(request.files, request.words, request.processes, origins);
    return yaml_with_origins(keys_of(config), origins);
  }
  static KeyTexts entries(const ConfigRequest& request) {
    Config config = ReadBy::config(request);
    return entries_of(keys_of(config));
  }
};

struct TaskKind {
  std::string name;     // of `lockstep keys --task`
  std::string network;  // "a detector", for people
  std::string mark;     // metadata that only this task's trained networks have; "": the first kind
  std::vector<std::string> types;     // values of MODEL.TYPE
  std::vector<std::string> datasets;  // values of DATA.NAME that select the task by themselves
  std::string page;                   // the beginning of its page of keys
  OwnedKeys (*keys)();                // with default values

  // These functions read the configuration, and throw with file:line and key.
  std::string (*yaml)(const ConfigRequest& config);  // with the origin of every value
  KeyTexts (*entries)(const ConfigRequest& config);
  std::unique_ptr<Task> (*task)(const ConfigRequest& config);
  SourcedModel (*step)(const ConfigRequest& config, const ModelRequest& wish);
  std::unique_ptr<Scorer> (*scorer)(const ConfigRequest& config);

  std::vector<std::string> infer_options;  // the options of `infer` that only some tasks have
  std::string no_infer;  // the reason why `infer` refuses the task's networks; "": accepts them
  int (*infer)(InferSource source, const InferOptions& options);
  // Describes a network for people before its export. Throws for a network that `infer` could not
  // use.
  std::string (*describe)(TrainingModel& network, const RunFiles& files);
  // How training would start from the weights in `path`; null: by names alone.
  WeightsOptions (*first_weights)(const ConfigRequest& config, const std::string& path) = nullptr;
  // Fits a network with values to `export`, by its configuration; `image` is the option's text.
  // Null if the network of a step is exported as it is, and --image does not apply.
  void (*fit)(TrainingModel& network, const ConfigFiles& config,
              const std::string& image) = nullptr;
};

// Defined in the tasks' folders.
TaskKind classification_kind();
TaskKind detection_kind();
TaskKind text_kind();
TaskKind control_kind();
TaskKind arrays_kind();

// The first kind is the kind of a configuration without MODEL.TYPE, and of a network without a
// mark.
const std::vector<TaskKind>& task_kinds();

// Throws for an unknown MODEL.TYPE, and suggests the nearest type.
const TaskKind& task_kind_of(const ConfigFiles& files, const std::vector<std::string>& words);
const TaskKind& task_kind_of(const TrainingModel& network);

// The task of a configuration. Explains an unknown key that another task has.
std::unique_ptr<Task> task_of(const ConfigRequest& config);

// True for a key of any task, or its flag.
bool is_key_of_a_task(const std::string& word);

// A key for completion by shells, with the words that may follow. Each key of all tasks is listed
// once.
struct CompletedKey {
  std::string key, flag;
  std::vector<std::string> words;
};
std::vector<CompletedKey> keys_to_complete();

// Throws the error again. If another task has the key, the error says why the key is unknown here.
[[noreturn]] void explain_unknown(const UnknownKey& unknown, const ConfigFiles& files,
                                  const std::vector<std::string>& words);

// Runs `act`, which reads the configuration, and explains unknown keys.
template <class Act>
auto explaining_unknown(const ConfigFiles& files, const std::vector<std::string>& words,
                        const Act& act) {
  try {
    return act();
  } catch (const UnknownKey& unknown) {
    explain_unknown(unknown, files, words);
  }
}

}  // namespace lockstep
