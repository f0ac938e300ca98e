// SPDX-License-Identifier: Apache-2.0
#include "app/classification/trained_classifier.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "lockstep/error.h"
#include "lockstep/graph.h"

namespace lockstep {
namespace {

using nlohmann::json;

constexpr const char* kPicture = "picture";
constexpr const char* kClassNames = "classes";

json parsed(const TrainingModel& model, const char* key, const std::string& path) {
  const auto found = model.metadata.find(key);
  check(found != model.metadata.end(), path, ": the metadata lacks 'lockstep.", key,
        "', which describes how to prepare pictures for this network; `lockstep export` and "
        "`lockstep train` write it");
  try {
    return json::parse(found->second);
  } catch (const json::exception&) {
    fail(path, ": the metadata 'lockstep.", key, "' is not JSON: ", found->second);
  }
}

// Rejects fractions and booleans, which would be converted.
int64_t whole(const json& said, const char* key) {
  const json& number = said.at(key);
  if (!number.is_number_integer()) fail("'", key, "' should be an integer");
  return number.get<int64_t>();
}

Preparation preparation_of(const TrainingModel& model, const std::string& path) {
  const json said = parsed(model, kPicture, path);
  Preparation preparation;
  try {
    preparation = {whole(said, "channels"), whole(said, "height"), whole(said, "width"),
                   whole(said, "resize"),   said.at("mean"),       said.at("deviation")};
  } catch (const std::exception& error) {
    fail(path, ": the metadata 'lockstep.", kPicture, "' is ", said.dump(), ": ", error.what());
  }
  const std::size_t channels = preparation.channels;
  bool fits = (channels == 1 || channels == 3) && preparation.mean.size() == channels &&
              preparation.deviation.size() == channels;
  for (int64_t size : {preparation.height, preparation.width, preparation.resize})
    fits = fits && size > 0 && size <= 1 << 16;
  for (float deviation : preparation.deviation)
    fits = fits && deviation > 0 && std::isfinite(deviation);
  for (float mean : preparation.mean) fits = fits && std::isfinite(mean);
  check(fits, path, ": the metadata 'lockstep.", kPicture,
        "' does not describe a picture: ", said.dump());
  return preparation;
}

std::vector<std::string> classes_of(const TrainingModel& model, const std::string& path) {
  const json said = parsed(model, kClassNames, path);
  try {
    return said.get<std::vector<std::string>>();
  } catch (const json::exception&) {
    fail(path, ": the metadata 'lockstep.", kClassNames, "' is not a list of names: ", said.dump());
  }
}

void check_shapes(const TrainedClassifier& network, const std::string& path) {
  const Graph& graph = network.model.inference;
  std::vector<Value> inputs;
  for (Value input : graph.inputs())
    if (!graph.literal(input)) inputs.push_back(input);
  check(inputs.size() == 1 && graph.outputs().size() == 1, path, ": has ", inputs.size(),
        " inputs and ", graph.outputs().size(), " outputs; a classifier has one of each");
  const Preparation& p = network.preparation;
  const TensorType& taken = graph.type(inputs[0]);
  const TensorType fed{taken.dtype == DType::uint8 ? DType::uint8 : DType::float32,
                       {"N", p.channels, p.height, p.width}};
  bool fits = taken.dtype == fed.dtype && taken.shape.size() == 4;
  for (std::size_t i = 1; fits && i < 4; ++i)
    fits = !taken.shape[i].known() || taken.shape[i] == fed.shape[i];
  check(fits, path, ": its input is ", taken, ", but its metadata prepares pictures as ", fed);
  const Shape& scores = graph.shape(graph.outputs()[0]);
  check(scores.size() == 2 && scores[1].known() &&
            scores[1].size() >= static_cast<int64_t>(network.classes.size()),
        path, ": outputs ", graph.type(graph.outputs()[0]), ", but its metadata names ",
        network.classes.size(), " classes");
}

}  // namespace

std::map<std::string, std::string> picture_metadata(const Dataset& data) {
  const Preparation& p = data.preparation();
  json names = json::array();
  for (int64_t label = 0; label < data.classes(); ++label) names.push_back(data.class_name(label));
  // A folder's name may be any bytes; JSON is UTF-8.
  const auto replace = json::error_handler_t::replace;
  // Writes floats in short form: 0.485, not its expansion as a double.
  const auto written = [](const std::vector<float>& values) {
    json list = json::array();
    for (float value : values) list.push_back(std::stod(join(value)));
    return list;
  };
  return {{kPicture, json{{"channels", p.channels},
                          {"height", p.height},
                          {"width", p.width},
                          {"resize", p.resize},
                          {"mean", written(p.mean)},
                          {"deviation", written(p.deviation)}}
                         .dump()},
          {kClassNames, names.dump(-1, ' ', false, replace)}};
}

TrainedClassifier classifier_of(TrainingModel network, const std::string& path) {
  Preparation preparation = preparation_of(network, path);
  std::vector<std::string> classes = classes_of(network, path);
  TrainedClassifier classifier{std::move(network), std::move(preparation), std::move(classes)};
  check_shapes(classifier, path);
  return classifier;
}

TrainedClassifier classifier_of(TrainingModel network, const RunFiles& files) {
  try {
    return classifier_of(std::move(network), files.step);
  } catch (const Error& error) {
    fail(files.weights, " and ", files.step, ": ", error.what());
  }
}

}  // namespace lockstep
