// SPDX-License-Identifier: Apache-2.0
#include "app/arrays/trained_data.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "app/arrays/example_source.h"
#include "app/arrays/masked_source.h"
#include "app/arrays/own_source.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

using nlohmann::json;

// The keys of DATA that the trained network remembers.
constexpr const char *kColumns = "columns", *kSources = "sources", *kPadding = "padding",
                     *kBuckets = "buckets", *kWhole = "whole", *kSource = "source",
                     *kPictureFact = "picture", *kMaskScores = "mask_scores";

json json_of(const Preparation& made) {
  return {{"height", made.height},
          {"width", made.width},
          {"resize", made.resize},
          {"mean", made.mean},
          {"deviation", made.deviation}};
}

Preparation preparation_in(const json& said) {
  Preparation made{3,
                   said.at("height").get<int64_t>(),
                   said.at("width").get<int64_t>(),
                   said.at("resize").get<int64_t>(),
                   said.at("mean").get<std::vector<float>>(),
                   said.at("deviation").get<std::vector<float>>()};
  bool fits = made.mean.size() == 3 && made.deviation.size() == 3;
  for (const int64_t side : {made.height, made.width, made.resize})
    fits = fits && side > 0 && side <= 1 << 16;
  for (const float value : made.deviation) fits = fits && value > 0 && std::isfinite(value);
  for (const float value : made.mean) fits = fits && std::isfinite(value);
  check(fits, "'", kPictureFact, "' does not describe a picture: ", said.dump());
  return made;
}

// Networks of version 0.2 and before say no source: they were trained on arrays.
TrainedData data_in(const json& said) {
  TrainedData data;
  ArraysConfig& config = data.config;
  config.columns = said.at(kColumns).get<std::string>();
  config.sources = said.at(kSources).get<std::string>();
  config.padding = said.at(kPadding).get<std::string>();
  config.buckets = said.at(kBuckets).get<std::vector<int64_t>>();
  config.whole = said.at(kWhole).get<bool>();
  config.dataset = said.value(kSource, std::string(kArrays));
  const ExampleSource* source = find_example_source(config.dataset);
  check(source != nullptr, "the data set '", config.dataset, "' is not known");
  if (said.contains(kPictureFact)) data.preparation = preparation_in(said.at(kPictureFact));
  check(!source->has_pictures || data.preparation, "'", kPictureFact, "' is missing");
  if (said.contains(kMaskScores))
    data.mask_limits = said.at(kMaskScores).get<std::map<std::string, double>>();
  return data;
}

// A network that was trained on a program's own data predicts from arrays, in any program.
std::string source_of_predictions(const ArraysConfig& config) {
  for (const ExampleSource& own : own_example_sources())
    if (own.name == config.dataset) return kArrays;
  return config.dataset;
}

}  // namespace

std::map<std::string, std::string> arrays_metadata(const ArraysConfig& config,
                                                   const ExampleSet& set) {
  json said{{kColumns, config.columns}, {kSources, config.sources},
            {kPadding, config.padding}, {kBuckets, config.buckets},
            {kWhole, config.whole},     {kSource, source_of_predictions(config)}};
  if (const auto made = set.preparation()) {
    said[kPictureFact] = json_of(*made);
    said[kMaskScores] = mask_limits_of(config);
  }
  return {{kArraysMark, said.dump()}};
}

TrainedData trained_data_in(const TrainingModel& network, const std::string& path) {
  try {
    return data_in(json::parse(network.metadata.at(kArraysMark)));
  } catch (const std::exception& error) {
    fail(path, ": the metadata 'lockstep.", kArraysMark, "' is damaged: ", error.what());
  }
}

}  // namespace lockstep
