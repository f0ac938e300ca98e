// SPDX-License-Identifier: Apache-2.0
#include "app/diff/diff_text.h"
#include "app/diff/model_changes.h"
#include "app/onnx/network_file.h"
#include "lockstep/data_parallel.h"
#include "lockstep/imported.h"
#include "lockstep/operators.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/model_use.h"
#include "tests/fuzz/readers.h"
#include "tests/support/case_run.h"
#include "tests/support/networks.h"
#include "tests/support/own_operators.h"
#include "tests/support/step_feeds.h"

namespace lockstep::fuzz {
namespace {

// lockstep step, or build --loss: a training step of a network that minimises its first output.
void train_on(const std::string& path) {
  LoadedModel file = load_network(path);
  if (file.model.inference.node_count() > 100 || file.model.inference.outputs().empty()) return;
  const std::string loss = file.model.inference.name(file.model.inference.outputs()[0]);
  const auto network = specialised(std::move(file), {});
  ImportedOptions options;
  options.trainable = trainable_initializers(*network, loss, {});
  plan_and_run(build_data_parallel_model(all_ops(), imported_model(network, loss, options),
                                         MomentumSgd{}, {}));
}

std::string saved(const TrainingModel& model) {
  return written([&](const std::string& path) { save_model(model, path); });
}

// lockstep diff: a model equals itself. Texts about its differences from another have no control
// characters.
void compare(const TrainingModel& model) {
  expect(differences_of(model, model).changes.empty());
  static const TrainingModel other = testing::small_lenet(2);
  for (const bool first : {true, false}) {
    DiffResult result{"a", "b"};
    result.changes =
        first ? differences_of(model, other).changes : differences_of(other, model).changes;
    for (const std::string& text : {text_of(result), text_of(result, {.all = true})})
      for (const char byte : text) expect(byte == '\n' || static_cast<unsigned char>(byte) >= 32);
    json_of(result);
  }
}

// One model for each operator of Lockstep's domain, so that damage reaches each operator.
Seeds own_operators() {
  Seeds seeds;
  for (const testing::OpCase& c : testing::own_operator_cases()) {
    testing::Built built = testing::build(c);
    for (Value output : built.outputs) built.graph.output(output);
    TrainingModel model(all_ops());
    model.inference = std::move(built.graph);
    seeds.push_back(saved(model));
  }
  return seeds;
}

}  // namespace

void read_onnx(const std::string& bytes) {
  const MemoryFile file(bytes);
  const SourcedModel loaded = with_two_rows(read_model(file.path()));
  accepts([&] { print_and_verify(loaded); });
  compare(loaded.model);
  accepts([&] { plan_and_run(loaded.model); });
  accepts([&] { train_on(file.path()); });
}

Seeds onnx_seeds() {
  Seeds seeds = own_operators();
  seeds.insert(seeds.end(), {saved(testing::small_mlp(1)), saved(testing::small_mlp(2)),
                             saved(testing::small_lenet(1))});
  for (const testing::SmallNetwork& network : testing::small_networks()) {
    TrainingModel model =
        build_data_parallel_model(all_ops(), network.model, MomentumSgd{}, network.options);
    // A prediction with given weights, as users bring.
    seeds.push_back(saved(model));
    TrainingModel inference(all_ops());
    inference.inference = std::move(model.inference);
    seeds.push_back(saved(inference));
  }
  return seeds;
}

}  // namespace lockstep::fuzz
