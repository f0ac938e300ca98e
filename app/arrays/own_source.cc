// SPDX-License-Identifier: Apache-2.0
#include "app/arrays/own_source.h"

#include <algorithm>
#include <cctype>

#include "app/arrays/fed_names.h"
#include "app/arrays/named_values.h"
#include "app/arrays/prediction.h"
#include "graph/listed.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

struct OwnSources {
  std::vector<OwnDataSource> sources;
  std::vector<ExampleSource> records;
};

OwnSources& own_sources() {
  static OwnSources all;
  return all;
}

const OwnDataSource& own_source_of(const ArraysConfig& config) {
  for (const OwnDataSource& source : own_sources().sources)
    if (source.name == config.dataset) return source;
  fail("internal: the program has no data set '", config.dataset, "'");
}

std::string text_of_part(const ArraysConfig& config, bool held_out) {
  return held_out ? config.test : config.train;
}

std::unique_ptr<ExampleSet> open_own(const ArraysConfig& config, bool held_out,
                                     const std::vector<FedArray>& fed) {
  OwnDataRequest request{.held_out = held_out,
                         .text = text_of_part(config, held_out),
                         .tensors = {},
                         .seed = static_cast<uint64_t>(config.seed)};
  const auto sources = texts_of(config.sources);
  std::vector<std::string> names;
  for (const FedArray& array : fed) {
    names.push_back(array.name);
    const std::string source = value_or(sources, array.name, array.name);
    for (const AskedTensor& other : request.tensors)
      check(other.name != source, Key{"DATA.SOURCES"}, " gives '", source, "' to two of ",
            listed(names), "; name a tensor of the data set for each");
    request.tensors.push_back({.name = source,
                               .dtype = array.casts ? DType::undefined : array.dtype,
                               .dims = array.dims});
  }
  return own_examples(own_source_of(config), held_out ? "DATA.TEST" : "DATA.TRAIN", request, names);
}

// The texts of DATA.TRAIN and DATA.TEST may be empty: their meaning is the source's.
void check_nothing(const ArraysConfig&) {}

bool is_word(const std::string& name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](unsigned char letter) {
    return letter == '_' || (letter < 128 && std::isalnum(letter) != 0);
  });
}

}  // namespace

void set_own_sources(const std::vector<OwnDataSource>& sources) {
  OwnSources all;
  for (const OwnDataSource& source : sources) {
    check(is_word(source.name), "a data source is named '", source.name,
          "'; a name has letters, digits and _");
    check(source.open != nullptr, "the data source '", source.name, "' has no function `open`");
    for (const ExampleSource& other : built_in_example_sources())
      check(other.name != source.name, "the data source '", source.name,
            "' has the name of a data set of Lockstep");
    for (const OwnDataSource& other : all.sources)
      check(other.name != source.name, "two data sources are named '", source.name, "'");
    all.sources.push_back(source);
    all.records.push_back({.name = source.name,
                           .meaning = source.meaning,
                           .keys = {"DATA.TRAIN", "DATA.TEST", "DATA.WHOLE"},
                           .train = {"DATA.TRAIN", "the examples of DATA.TRAIN"},
                           .test = {"DATA.TEST", "the examples of DATA.TEST"},
                           .has_pictures = false,
                           .check = check_nothing,
                           .place = text_of_part,
                           .open = open_own,
                           .infer = predict_arrays});
  }
  own_sources() = std::move(all);
  for (const OwnDataSource& source : sources)
    check(find_example_source(source.name) != nullptr,
          "internal: the data sources are set after the first command");
}

const std::vector<ExampleSource>& own_example_sources() { return own_sources().records; }

}  // namespace lockstep
