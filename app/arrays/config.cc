// SPDX-License-Identifier: Apache-2.0
#include "app/arrays/config.h"

#include <algorithm>

#include "app/arrays/example_source.h"
#include "app/arrays/fed_names.h"
#include "app/arrays/masked_source.h"
#include "app/arrays/named_values.h"
#include "app/arrays/network_type.h"
#include "app/config/read.h"
#include "app/train/read_settings.h"
#include "app/train/resident_set.h"
#include "data/masked_images.h"
#include "graph/listed.h"

namespace lockstep {
namespace {

bool lists(const std::vector<std::string>& keys, const std::string& key) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

// The names of networks and data sets that read the key; empty: it is a key of all.
std::vector<std::string> readers_of(const std::string& key) {
  std::vector<std::string> readers;
  for (const NetworkType& type : network_types())
    if (lists(type.keys, key)) readers.push_back("MODEL.TYPE " + type.name);
  for (const ExampleSource& source : example_sources())
    if (lists(source.keys, key)) readers.push_back("DATA.NAME " + source.name);
  return readers;
}

// Throws for a key of another network or data set: the value would have no effect.
void check_keys_are_read(const ArraysConfig& given) {
  ArraysConfig config = given, defaults;
  for (const auto& [key, value] : changed_settings(keys_of(config), keys_of(defaults))) {
    const std::vector<std::string> readers = readers_of(key);
    check(readers.empty() || lists(network_type(config).keys, key) ||
              lists(example_source(config).keys, key),
          Key{key}, " is a key of ", listed(readers), ", but MODEL.TYPE is ", config.model,
          " and DATA.NAME is ", config.dataset);
  }
}

void check_names(const ArraysConfig& config) {
  check(find_network_type(config.model) != nullptr, Key{"MODEL.TYPE"}, " should be one of ",
        listed(network_type_names()), ", is ", config.model);
  check(find_example_source(config.dataset) != nullptr, Key{"DATA.NAME"}, " should be one of ",
        listed(example_source_names()), ", is ", config.dataset);
}

// Examples that stay on the devices are read once.
void check_read_once(const ArraysConfig& config) {
  if (!config.resident) return;
  check(!config.whole, Key{"TRAIN.RESIDENT"},
        " divides examples over replicas by their first dimension, which ", Key{"DATA.WHOLE"},
        " says they do not have");
  const bool crops = config.dataset == "image_masks";
  check_drawn_once(
      config,
      {{crops && config.flip, phrase(Key{"DATA.FLIP"}, " mirrors pictures"), "set DATA.FLIP false"},
       {crops && config.crop_scale[0] < 1,
        phrase(Key{"DATA.CROP_SCALE"}, " ", config.crop_scale[0], " crops pictures"),
        "set DATA.CROP_SCALE [1, 1]"}});
}

void check_data(const ArraysConfig& config) {
  check_keys_are_read(config);
  network_type(config).check(config);
  example_source(config).check(config);
  check_read_once(config);
  if (config.whole)
    check(config.batch_size == 1, Key{"DATA.WHOLE"}, " needs ", Key{"TRAIN.BATCH_SIZE"}, " 1, is ",
          config.batch_size, "; TRAIN.MICRO_BATCHES does not apply, either");
  naming("DATA.SOURCES", [&] { texts_of(config.sources); });
  naming("MODEL.LOSS", [&] { config.loss_terms(); });
  naming("TEST.METRICS", [&] { config.test_metrics(); });
}

// True for a target that is the mask of a picture.
bool is_mask(const ArraysConfig& config, const std::string& target) {
  const ExampleSource* source = find_example_source(config.dataset);
  if (!source || !source->has_pictures || target.empty()) return false;
  const auto names = texts_of(config.sources);
  return value_or(names, target, target) == kMaskTensor;
}

// Pixels without a class do not count, unless the configuration names another label.
template <class Options>
void leave_out_pixels(Options& options) {
  options.ignores_numbers = true;
  if (options.ignore == Options{}.ignore) options.ignore = kIgnoredPixel;
}

void check_together(const ArraysConfig& config, int processes) {
  check_names(config);
  check_shares(shares_of(config, config.replicas() * processes), config, processes, "examples");
  check_fits(config.step, config.run, processes);
  check_data(config);
  check_solver(config.optimizer);
  check_rates(config.schedule);
}

}  // namespace

std::vector<LossTerm> ArraysConfig::loss_terms() const {
  std::vector<LossTerm> terms = parse_loss_terms(loss);
  for (LossTerm& term : terms)
    if (is_mask(*this, term.target)) leave_out_pixels(term.options);
  return terms;
}

std::vector<Metric> ArraysConfig::test_metrics() const {
  std::vector<Metric> all = parse_metrics(metrics);
  for (Metric& metric : all)
    if (is_mask(*this, metric.target)) leave_out_pixels(metric.options);
  return all;
}

ArraysConfig read_arrays_config(const ConfigFiles& files, const std::vector<std::string>& words,
                                int processes, Origins& origins) {
  return read_settings<ArraysConfig>(
      files, words, origins, [&](ArraysConfig& config) { check_together(config, processes); });
}

BatchShares shares_of(const ArraysConfig& config, int64_t replicas) {
  return {config.batch_size, replicas, config.step.options.micro_batches};
}

}  // namespace lockstep
