// SPDX-License-Identifier: Apache-2.0
// A detector on one CPU replica, for check_detector.py, check_predictions.py and check_portable.py:
//   detector_step init CONFIG FOLDER [KEY VALUE]..            writes params/
//   detector_step step CONFIG FOLDER [KEY VALUE].. --fetch VALUE..
//     reads feeds/ and params/, writes losses/, gradients/ and fetched/
//   detector_step save CONFIG FOLDER [KEY VALUE]..            reads params/, writes step.onnx
// Each folder holds one NAME.npy for a tensor.
#include <cstring>
#include <iostream>

#include "app/detection/config/detector_config.h"
#include "app/onnx/tensor_files.h"
#include "lockstep/data_parallel.h"
#include "lockstep/model_files.h"
#include "lockstep/operators.h"
#include "lockstep/optimizers.h"
#include "lockstep/session.h"
#include "models/detection/detector.h"

namespace lockstep::testing {
namespace {

struct StepRequest {
  std::string act, config, folder;
  std::vector<std::string> words, fetches;
};

StepRequest request_of(int argc, char** argv) {
  check(argc >= 4, "detector_step init|step|save CONFIG FOLDER [KEY VALUE].. [--fetch VALUE..]");
  StepRequest request{argv[1], argv[2], argv[3], {}, {}};
  std::vector<std::string>* list = &request.words;
  for (int i = 4; i < argc; ++i) {
    if (std::string(argv[i]) == "--fetch")
      list = &request.fetches;
    else
      list->push_back(argv[i]);
  }
  return request;
}

Literal literal_of(const Tensor& tensor) {
  Literal literal(tensor.desc.dtype, tensor.desc.dims);
  std::memcpy(literal.bytes().data(), tensor.data, literal.bytes().size());
  return literal;
}

// Reads the tensors of a folder by the names of `items`, and requires their types.
template <class Item>
std::map<std::string, Literal> read_named(const TrainingModel& model,
                                          const std::vector<Item>& items,
                                          const std::string& folder) {
  Graph inputs(model.step.ops());
  for (const Item& item : items)
    inputs.input(item.name, model.step.type(model.step.at(item.values[0])));
  return read_inputs(inputs, folder);
}

std::vector<State> parameters_of(const TrainingModel& model) {
  std::vector<State> parameters;
  for (const State& state : model.states)
    if (is_parameter(state.kind)) parameters.push_back(state);
  return parameters;
}

void write_parameters(const Session& session, const std::string& folder) {
  const StateValues values = session.save();
  for (const State& parameter : parameters_of(session.model()))
    write_tensor(folder + "/params", parameter.name, values.at(parameter.values[0]));
}

void load_parameters(Session& session, const std::string& folder) {
  const std::vector<State> parameters = parameters_of(session.model());
  const auto read = read_named(session.model(), parameters, folder + "/params");
  StateValues values;
  for (const State& parameter : parameters) values[parameter.values[0]] = read.at(parameter.name);
  session.load(values);
}

void run_step(Session& session, const StepRequest& request) {
  const TrainingModel& model = session.model();
  std::vector<StepInput> data;
  for (const StepInput& input : model.inputs)
    if (input.role == Role::data) data.push_back(input);
  const auto fed = read_named(model, data, request.folder + "/feeds");
  Feeds feeds(model);
  for (const auto& [name, literal] : fed) feeds.set(name, view_of(literal));
  feeds.set(Role::rate, 0.0F);

  struct Wanted {
    std::string folder, name, value;
  };
  std::vector<Wanted> wanted;
  for (const Replicated& loss : model.losses)
    wanted.push_back({"losses", loss.name, loss.values[0]});
  for (const Replicated& gradient : model.gradients)
    wanted.push_back({"gradients", gradient.name, gradient.values[0]});
  for (const std::string& name : request.fetches)
    wanted.push_back({"fetched", name, "cpu_0/" + name});
  std::vector<std::string> fetches;
  for (const Wanted& item : wanted) fetches.push_back(item.value);
  const auto program = session.program(model.step, model.feed_values(), fetches, {});
  const std::span<const Tensor> results = program->run(feeds.tensors(), session.run_options(1));
  for (std::size_t i = 0; i < wanted.size(); ++i)
    write_tensor(request.folder + "/" + wanted[i].folder, wanted[i].name, literal_of(results[i]));
}

void run(const StepRequest& request) {
  const DetectorConfig config = read_detector_config(config_files(request.config), request.words);
  const TrainingModel model = build_data_parallel_model(all_ops(), detector(config.network),
                                                        MomentumSgd{}, {.scope = "cpu"});
  Session session(model, cpu_devices(1), all_kernels());
  session.initialise();
  if (request.act == "init") return write_parameters(session, request.folder);
  load_parameters(session, request.folder);
  if (request.act == "step") return run_step(session, request);
  check(request.act == "save", "no act '", request.act, "'");
  const StateValues values = session.save();
  save_model(model, request.folder + "/step.onnx", {.values = &values});
}

}  // namespace
}  // namespace lockstep::testing

int main(int argc, char** argv) {
  try {
    lockstep::testing::run(lockstep::testing::request_of(argc, argv));
  } catch (const lockstep::Error& error) {
    std::cerr << "detector_step: " << error.what() << "\n";
    return 1;
  }
}
