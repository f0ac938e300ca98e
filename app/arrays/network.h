// SPDX-License-Identifier: Apache-2.0
// The steps of a network on arrays: the network of MODEL.TYPE with MODEL.LOSS.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/arrays/config.h"
#include "app/arrays/example_set.h"
#include "builders/net/trained_initializers.h"
#include "lockstep/data_parallel.h"
#include "lockstep/model_files.h"
#include "lockstep/net.h"
#include "lockstep/training_model.h"

namespace lockstep {

// One example of an array.
struct ExampleType {
  DType dtype = DType::undefined;
  Dims dims;
};
using ExampleTypes = std::map<std::string, ExampleType>;  // by array

class ArraysNetwork {
 public:
  // Loads the network. Throws if a loss or a metric names no value of the network.
  explicit ArraysNetwork(const ArraysConfig& config);

  // The arrays of a training step, and of a test, which has the training's, too.
  std::vector<FedArray> fed_in_training() const;
  std::vector<FedArray> fed_in_test() const;
  // The number of examples that the network takes at a time; 0: any number.
  int64_t fixed_rows() const;

  // The training steps for examples of these types, for the replicas of all processes. With
  // `resident` a step takes its examples from its devices.
  std::vector<TrainingModel> steps(const std::vector<ExampleTypes>& forms, int processes,
                                   const ResidentInputs& resident = {}) const;
  // The forward pass of a test. Its outputs, for each replica: the mean of each term of the loss,
  // the number of elements of each mean that counts elements, and the outputs of the metrics.
  TrainingModel test_step(const ExampleTypes& examples, int processes) const;
  // Lines about the initializers, for people.
  std::vector<std::string> notes(const ExampleTypes& examples) const;
  // Outputs of the test's step, by their names in the step's graph without the replica.
  static std::string mean_named(std::size_t term);
  static std::string count_named(std::size_t term);
  static std::string metric_named(std::size_t metric);

 private:
  struct Parts;
  Parts parts(const ExampleTypes& examples) const;
  InitializerChoices choices_of(const LoadedModel& training) const;
  TrainingModel step(const Parts& parts, int processes, const ResidentInputs& resident) const;
  std::vector<std::string> losses_in_network() const;
  std::vector<std::string> predictions() const;
  std::vector<FedArray> fed_for(const std::vector<std::string>& outputs,
                                const std::vector<FedArray>& beside) const;
  std::optional<Dims> example_of(const TensorType& declared) const;
  TensorType batch_type(const ExampleType& example) const;
  std::map<std::string, TensorType> types_of(const ExampleTypes& examples) const;

  const ArraysConfig& config_;
  std::vector<LossTerm> terms_;
  std::vector<Metric> metrics_;
  std::shared_ptr<const LoadedModel> file_;
};

}  // namespace lockstep
