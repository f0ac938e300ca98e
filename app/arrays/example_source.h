// SPDX-License-Identifier: Apache-2.0
// The records of the task's data sets. A new data set is a function that returns its record, and a
// line in built_in_example_sources().
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/arrays/config.h"
#include "app/arrays/example_set.h"
#include "app/arrays/trained_data.h"
#include "app/predict/infer.h"
#include "lockstep/training_model.h"

namespace lockstep {

// One of the two sets of a run.
struct ExamplePart {
  std::string key;      // that names the examples: DATA.TRAIN
  std::string content;  // "the arrays of DATA.TRAIN", which a resumed run must find unchanged
};

struct ExampleSource {
  std::string name;               // DATA.NAME
  std::string meaning;            // of the name, for the page of keys
  std::vector<std::string> keys;  // the keys that this source reads, and not every source
  ExamplePart train, test;
  bool has_pictures = false;  // of one size, DATA.IMAGE_SIZE

  void (*check)(const ArraysConfig& config);  // throws for values that do not fit
  // The examples' place, for people and errors.
  std::string (*place)(const ArraysConfig& config, bool held_out);
  // Throws if the examples do not fit the tensors that a network is fed.
  std::unique_ptr<ExampleSet> (*open)(const ArraysConfig& config, bool held_out,
                                      const std::vector<FedArray>& fed);
  // `lockstep infer` for a network that was trained on the source. `path`: of the network, for
  // errors.
  int (*infer)(const TrainingModel& network, const std::string& path, const TrainedData& data,
               const InferOptions& options);

  const ExamplePart& part(bool held_out) const { return held_out ? test : train; }
};

ExampleSource array_source();         // arrays
ExampleSource image_masks_source();   // image_masks
ExampleSource drawn_shapes_source();  // drawn_shapes

std::vector<ExampleSource> built_in_example_sources();
// These, and the sources of the program that calls run_command().
const std::vector<ExampleSource>& example_sources();
std::vector<std::string> example_source_names();
// The source of this DATA.NAME; null if there is none.
const ExampleSource* find_example_source(const std::string& name);
// The source of a checked configuration.
const ExampleSource& example_source(const ArraysConfig& config);

// Opens a set of the configuration's source. A set has at least one example.
std::unique_ptr<ExampleSet> open_examples(const ArraysConfig& config, bool held_out,
                                          const std::vector<FedArray>& fed);

// Opens the arrays in `path`, a file or a folder. Errors name `key`.
std::unique_ptr<ExampleSet> open_arrays(const ArraysConfig& config, const std::string& key,
                                        const std::string& path, const std::vector<FedArray>& fed);

}  // namespace lockstep
