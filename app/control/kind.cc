// SPDX-License-Identifier: Apache-2.0
#include "app/control/control_task.h"
#include "app/control/scorer.h"
#include "app/task_kind.h"
#include "lockstep/error.h"

namespace lockstep::control_task {
namespace {

constexpr const char* kPage =
    "# Keys for control\n\n"
    "A CONFIG.yaml with `MODEL.TYPE: actor_critic` has these keys; [control](control.md) says what "
    "such a run does. `train`, `test`, `build`,\n"
    "`plan` and `inspect` read the file, and `KEY VALUE` pairs on the command line override it. "
    "The last column gives Detectron's name\n"
    "of a key where it differs. `lockstep keys --task control` prints this list, and with "
    "`--markdown` it writes this page.\n";

using Read = ReadBy<ControlConfig, read_control_config>;

std::unique_ptr<Task> task(const ConfigRequest& config) {
  return std::make_unique<ControlTask>(Read::config(config));
}

SourcedModel step(const ConfigRequest& request, const ModelRequest& wish) {
  std::vector<std::string> words = request.words;
  if (wish.batch > 0) words.insert(words.end(), {"TRAIN.BATCH_SIZE", std::to_string(wish.batch)});
  ControlConfig config = Read::config({request.files, words});
  choose_passes(wish, config.step);
  return {{build_control_model(config)}, config.run, {config.batch_size, config.replicas(), 1}};
}

std::unique_ptr<Scorer> scorer(const ConfigRequest& config) {
  return policy_scorer(Read::config(config));
}

constexpr const char* kNoInfer =
    "chooses actions and classifies no pictures; `lockstep test` lets it act";

int infer(InferSource source, const InferOptions& /*options*/) {
  fail(source.weights, ": the network ", kNoInfer);
}

std::string describe(TrainingModel& /*network*/, const RunFiles& files) {
  fail(files.weights, ": the network ", kNoInfer);
}

}  // namespace
}  // namespace lockstep::control_task

namespace lockstep {

TaskKind control_kind() {
  using namespace control_task;
  return {.name = "control",
          .network = "a policy",
          .mark = "environment",
          .types = {kActorCritic},
          .datasets = {},
          .page = kPage,
          .keys = Read::keys,
          .yaml = Read::yaml,
          .entries = Read::entries,
          .task = task,
          .step = step,
          .scorer = scorer,
          .infer_options = {},
          .no_infer = kNoInfer,
          .infer = infer,
          .describe = describe};
}

}  // namespace lockstep
