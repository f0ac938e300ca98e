// SPDX-License-Identifier: Apache-2.0
#include "app/arrays/example_source.h"

#include "app/arrays/own_source.h"
#include "graph/listed.h"
#include "lockstep/error.h"

namespace lockstep {

std::vector<ExampleSource> built_in_example_sources() {
  return {array_source(), image_masks_source(), drawn_shapes_source()};
}

const std::vector<ExampleSource>& example_sources() {
  static const std::vector<ExampleSource> sources = [] {
    std::vector<ExampleSource> all = built_in_example_sources();
    all.insert(all.end(), own_example_sources().begin(), own_example_sources().end());
    return all;
  }();
  return sources;
}

std::vector<std::string> example_source_names() { return names_of_rows(example_sources()); }

const ExampleSource* find_example_source(const std::string& name) {
  return row_named(example_sources(), name);
}

const ExampleSource& example_source(const ArraysConfig& config) {
  const ExampleSource* source = find_example_source(config.dataset);
  check(source != nullptr, "internal: the data set '", config.dataset, "' was not checked");
  return *source;
}

std::unique_ptr<ExampleSet> open_examples(const ArraysConfig& config, bool held_out,
                                          const std::vector<FedArray>& fed) {
  return example_source(config).open(config, held_out, fed);
}

}  // namespace lockstep
