// SPDX-License-Identifier: Apache-2.0
#include "app/diff/diff_side.h"

#include <filesystem>

#include "app/train/chosen_run.h"
#include "app/train/run_folder.h"
#include "graph/printable.h"
#include "runtime/state/safetensors.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

bool exists(const std::string& path) {
  std::error_code trouble;
  return fs::exists(path, trouble);
}

bool is_folder(const std::string& source) {
  std::error_code trouble;
  return fs::is_directory(source, trouble);
}
bool is_weights(const std::string& source) {
  return fs::path(source).extension() == ".safetensors";
}
bool is_any(const std::string&) { return true; }

KeyTexts settings_in(const std::string& config, const std::vector<std::string>& words) {
  const ConfigFiles files = config_files(config);
  return explaining_unknown(files, words, [&] {
    return task_kind_of(files, words).entries({files, words});
  });
}

void refuse_settings(const SideRequest& request, const std::string& what) {
  check(request.settings.empty(), request.source, ": ", what, ", to which the key ",
        request.settings.empty() ? "" : request.settings[0], " does not apply");
}

// The values of a step's states under the names that a checkpoint has: a state that differs by
// replica is name, name@1, ..
StateValues values_by_state(LoadedModel& loaded) {
  StateValues values;
  for (const State& state : loaded.model.states) {
    const std::size_t kept = differs_by_replica(state.kind) ? state.values.size() : 1;
    for (std::size_t k = 0; k < std::min(kept, state.values.size()); ++k)
      if (const auto found = loaded.values.find(state.values[k]); found != loaded.values.end())
        values.emplace(k == 0 ? state.name : join(state.name, "@", k), std::move(found->second));
  }
  return values;
}

// A network's parameters are constants of its graph.
StateValues values_of_network(const Graph& network) {
  StateValues values;
  for (int id = 0; id < network.value_count(); ++id)
    if (const Literal* literal = network.literal({id}))
      values.emplace(network.name({id}), *literal);
  return values;
}

void take_weights(DiffSide& side) {
  if (side.model->model.step.node_count() == 0)
    side.weights = values_of_network(side.model->model.inference);
  else if (side.model->initialised)
    side.weights = values_by_state(*side.model);
  else
    side.why_no_weights = "its step is not initialised";
}

DiffSide open_file(const SideRequest& request) {
  DiffSide side{request.source, ""};
  side.model = model_from({request.source, request.settings});
  side.has_weights = side.model->initialised;
  if (request.weights) take_weights(side);
  return side;
}

DiffSide open_model(const SideRequest& request) {
  DiffSide side{request.source, ""};
  side.model = model_from({request.source, request.settings});
  side.why_no_weights = "the values of a step that is built here are unknown before it runs";
  return side;
}

DiffSide open_configuration(const SideRequest& request) {
  DiffSide side = open_model(request);
  side.settings = settings_in(request.source, request.settings);
  return side;
}

DiffSide open_weights(const SideRequest& request) {
  refuse_settings(request, "is a file of weights");
  DiffSide side{request.source, ""};
  side.has_weights = true;
  if (request.weights) side.weights = read_safetensors(request.source).tensors;
  return side;
}

DiffSide open_run(const SideRequest& request) {
  refuse_settings(request, "is the folder of a run");
  StoredRun run = stored_run(request.source);
  DiffSide side{request.source, ""};
  side.settings = std::move(run.settings);
  side.results = std::move(run.results);
  const std::string step = step_in(run.folder), checkpoint = checkpoint_in(run.folder);
  if (exists(step)) side.model = model_from({step});
  side.has_weights = exists(checkpoint);
  if (!side.has_weights)
    side.why_no_weights = "it contains no checkpoint.safetensors";
  else if (request.weights)
    side.weights = read_safetensors(checkpoint).tensors;
  return side;
}

// The sorts of sources, in the order in which they are recognised.
struct SideSort {
  const char* name;
  bool (*is)(const std::string& source);
  DiffSide (*open)(const SideRequest& request);
  bool is_stored;
};
constexpr SideSort kSorts[] = {{"a run", is_folder, open_run, true},
                               {"a file of weights", is_weights, open_weights, true},
                               {"a model in a file", is_onnx, open_file, true},
                               {"a configuration", is_yaml, open_configuration, false},
                               {"a model", is_any, open_model, false}};

const SideSort& sort_of(const std::string& source) {
  for (const SideSort& sort : kSorts)
    if (sort.is(source)) return sort;
  fail("'", printable(source), "' cannot be compared");
}

}  // namespace

StoredRun stored_run(const std::string& source) {
  check(is_folder(source), "'", printable(source), "' is not the folder of a run");
  StoredRun run{run_meant_by(source, say_on_terminal)};
  const std::string config = run.folder + "/config.yaml", metrics = run.folder + "/metrics.jsonl";
  check(exists(config) || exists(metrics) || exists(step_in(run.folder)) ||
            exists(checkpoint_in(run.folder)),
        "'", printable(source),
        "' is the folder of no run: it contains neither config.yaml nor metrics.jsonl, step.onnx "
        "or checkpoint.safetensors");
  if (exists(config)) run.settings = settings_in(config, {});
  if (exists(metrics)) run.results = read_metrics(metrics);
  return run;
}

DiffSide open_side(const SideRequest& request) {
  const SideSort& sort = sort_of(request.source);
  DiffSide side = sort.open(request);
  side.sort = sort.name;
  return side;
}

bool is_stored(const std::string& source) { return sort_of(source).is_stored; }

}  // namespace lockstep
