// SPDX-License-Identifier: Apache-2.0
#include "app/simulate/found_command.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "app/config/read.h"
#include "app/task_kind.h"
#include "graph/printable.h"
#include "lockstep/error.h"
#include "operators/collective/collective.h"

namespace lockstep {
namespace {

using Words = std::vector<std::string>;

// Keys that the command sets itself.
constexpr std::array<std::string_view, 6> kReplaced{
    "ALL_REDUCE", "PACKING", "BUCKETS", "WIRE", "RING_ORDER", "TRAIN.MICRO_BATCHES"};
constexpr std::array<std::string_view, 4> kOfDevices{"DEVICES", "NUM_GPUS", "TRAIN.BATCH_SIZE",
                                                     "TRAIN.IMS_PER_BATCH"};

std::string joined_words(const Words& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + shell_word(word);
  return text;
}

// The found options. Empty values undo options of the configuration.
Words options_of(const Simulation& made, const std::string& buckets) {
  const ReduceChoice& best = made.found->best.choice;
  Words words{"--all-reduce", text_of(best.spec)};
  if (best.wire != made.choice.wire) words.insert(words.end(), {"--wire", text_of_wire(best.wire)});
  if (made.has_ring_order) words.insert(words.end(), {"--ring-order", ""});
  words.insert(words.end(), {"--buckets", buckets});
  if (best.micro_batches > 1)
    words.insert(words.end(), {"TRAIN.MICRO_BATCHES", join(best.micro_batches)});
  return words;
}

// The devices of each process, and the batch of all.
Words devices_of_cluster(const Simulation& made, ConfigKeys& keys) {
  const Cluster& cluster = made.cluster;
  const auto examples = [](double count) { return join(std::llround(count)); };
  Words words{"--devices", join(made.device, "*", cluster.per_process())};
  if (find_key(keys, "NUM_GPUS"))
    words.insert(words.end(), {"NUM_GPUS", join(cluster.all_devices())});
  if (find_key(keys, "TRAIN.IMS_PER_BATCH"))
    words.insert(words.end(), {"TRAIN.IMS_PER_BATCH", examples(made.replica.examples)});
  else
    words.insert(words.end(), {"TRAIN.BATCH_SIZE", examples(made.examples())});
  return words;
}

// The settings of the simulation that the command does not set itself, as KEY VALUE.
Words kept_settings(const Words& settings, ConfigKeys& keys, bool sets_devices) {
  Words kept;
  for (std::size_t i = 0; i + 1 < settings.size(); i += 2) {
    const ConfigKey* const key = find_key(keys, settings[i]);
    const std::string name = key ? key->key : settings[i];
    if (std::ranges::find(kReplaced, name) != kReplaced.end()) continue;
    if (sets_devices && std::ranges::find(kOfDevices, name) != kOfDevices.end()) continue;
    kept.insert(kept.end(), {name, settings[i + 1]});
  }
  return kept;
}

}  // namespace

std::vector<std::string> found_command(const ModelRequest& request, const Simulation& made,
                                       const std::string& buckets) {
  check(made.found.has_value(), "internal: a command without a search");
  const Words options = options_of(made, buckets);
  if (!is_yaml(request.source))
    return {
        join("options of the step's CONFIG.yaml or of lockstep build: ", joined_words(options))};
  ConfigKeys keys = task_kind_of(config_files(request.source), request.settings).keys().keys;
  const Cluster& cluster = made.cluster;
  const int processes = cluster.all_processes();
  const bool sets_devices =
      processes > 1 || request.batch > 0 || made.replicas != cluster.all_devices();

  std::vector<std::string> lines;
  Words words{"lockstep", "train", request.source};
  if (cluster.hosts > 1)
    lines.push_back(join("on each of ", cluster.hosts, " hosts ", cluster.processes,
                         cluster.processes == 1 ? " process" : " processes",
                         ", by torchrun, mpirun or srun (docs/processes.md):"));
  else if (processes > 1)
    words = {"lockstep", "launch",   "-n",    join(processes),
             "--",       "lockstep", "train", request.source};
  for (const Words& more : {kept_settings(request.settings, keys, sets_devices),
                            sets_devices ? devices_of_cluster(made, keys) : Words{}, options})
    words.insert(words.end(), more.begin(), more.end());
  lines.push_back(joined_words(words));
  return lines;
}

}  // namespace lockstep
