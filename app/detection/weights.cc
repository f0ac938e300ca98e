// SPDX-License-Identifier: Apache-2.0
#include "app/detection/weights.h"

#include <cstring>
#include <filesystem>
#include <optional>

#include "app/weights/agreement.h"
#include "app/weights/parts.h"
#include "graph/printable.h"
#include "lockstep/error.h"
#include "runtime/dist/agree.h"
#include "runtime/state/safetensors.h"

namespace lockstep {
namespace {

constexpr const char* kMeans = "PIXEL_MEANS";
constexpr const char* kInferred = "inferred from ";

bool is_inferred(const DetectorConfig& config) {
  return config.origins.is_set(kMeans) && config.origins.of(kMeans).starts_with(kInferred);
}

void set_means(DetectorConfig& config, const std::vector<double>& means, const std::string& of) {
  config.pixel_means = means;
  config.origins.places[kMeans] = kInferred + of;
  config.notes.push_back({DetectorNoteKind::weights,
                          join(kMeans, " is ", text_of_means(means), ", the means of ", of)});
}

// The source of a file on this machine. Loading reports a file that is missing or damaged.
std::optional<WeightsSource> source_in(const std::string& file) {
  if (file.empty() || !std::filesystem::is_regular_file(file)) return {};
  try {
    return source_of(contents_of(read_safetensors_header(file)));
  } catch (const Error&) {
    return {};
  }
}

std::vector<ComparedKey> compared_keys(const DetectorConfig& config) {
  DetectorConfig values = config;  // a table of keys refers to a configuration that may change
  std::vector<std::string> names{kMeans};
  for (const SourceFact& fact : facts_in_checkpoints()) names.push_back(fact.key);
  for (const NormPair& pair : kNormPairs) names.push_back(pair.key);
  std::vector<ComparedKey> compared;
  for (const ConfigKey& key : keys_of(values))
    for (const std::string& name : names)
      if (key.key == name)
        compared.push_back({name, text_of(key), config.origins.blame({name}, config.path)});
  return compared;
}

WeightsOptions options_for(const DetectorConfig& config, const std::string& path) {
  WeightsOptions options;
  options.path = path;
  options.cache = config.download_cache;
  options.for_detector = true;
  options.whole_body = true;
  options.must_agree = config.train.weights_must_agree;
  options.keys = compared_keys(config);
  return options;
}

}  // namespace

std::vector<double> means_of_weights(const std::string& file) {
  const auto source = source_in(file);
  return source ? source->pixel_means : std::vector<double>{};
}

void take_means(DetectorConfig& config, const std::vector<double>& means, const std::string& of) {
  if (config.origins.is_set(kMeans) || means.size() != config.pixel_means.size() ||
      means == config.pixel_means)
    return;
  set_means(config, means, of);
}

void infer_means(DetectorConfig& config) {
  const std::string& weights = config.train.data.weights;
  if (weights.empty()) return;
  take_means(config, means_of_weights(local_file({weights, config.download_cache})),
             join("TRAIN.WEIGHTS ", printable(weights)));
}

std::vector<double> shared_means(Comm& comm, const std::vector<double>& means) {
  std::string bytes(reinterpret_cast<const char*>(means.data()), means.size() * sizeof(double));
  bytes = share_text(comm, bytes, "the means of the weights");
  std::vector<double> shared(bytes.size() / sizeof(double));
  if (!shared.empty()) std::memcpy(shared.data(), bytes.data(), bytes.size());
  return shared;
}

void share_inferred_means(DetectorConfig& config, Comm& comm) {
  const std::vector<double> means =
      shared_means(comm, is_inferred(config) ? config.pixel_means : std::vector<double>{});
  if (!means.empty())
    take_means(config, means, join("TRAIN.WEIGHTS ", printable(config.train.data.weights)));
}

std::vector<double> means_to_continue_with(const DetectorConfig& config, const Metadata& saved) {
  if (config.origins.is_set(kMeans) && !is_inferred(config)) return {};
  return source_of({{}, saved}).pixel_means;
}

void continue_with_means(DetectorConfig& config, const Metadata& saved) {
  const std::vector<double> means = means_to_continue_with(config, saved);
  if (means.size() != config.pixel_means.size() || means == config.pixel_means) return;
  std::erase_if(config.notes,
                [](const DetectorNote& note) { return note.kind == DetectorNoteKind::weights; });
  set_means(config, means, "the checkpoint");
}

WeightsOptions weights_to_start_from(const DetectorConfig& config) {
  WeightsOptions options = options_for(config, config.train.data.weights);
  options.momentum = config.train.weights_momentum;
  options.random_may_freeze = config.train.freeze_random;
  return options;
}

WeightsOptions trained_weights(const DetectorConfig& config, const std::string& path) {
  WeightsOptions options = options_for(config, path);
  options.whole = true;
  options.raw = !config.step.options.average.predicts;
  return options;
}

void check_no_random_frozen(const DetectorConfig& config) {
  const DetectionTrainOptions& train = config.network.train;
  const bool freezes = train.freeze_at > 0 || train.freeze_conv_body;
  check(!freezes || config.train.freeze_random || !config.train.data.weights.empty(), config.path,
        ": ", Key{"TRAIN.WEIGHTS"}, " is empty, and ",
        Key{train.freeze_conv_body ? "TRAIN.FREEZE_CONV_BODY" : "TRAIN.FREEZE_AT"}, " ",
        train.freeze_conv_body ? "true" : std::to_string(train.freeze_at),
        " would keep random values in ", train.freeze_conv_body ? "the body" : "its first stages",
        " for ever; give weights, set TRAIN.FREEZE_AT to 0 to train everything, or ",
        Key{"TRAIN.FREEZE_RANDOM"}, " to true if this is meant");
}

}  // namespace lockstep
