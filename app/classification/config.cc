// SPDX-License-Identifier: Apache-2.0
#include "app/classification/config.h"

#include <filesystem>

#include "app/classification/network.h"
#include "app/config/read.h"
#include "app/train/read_settings.h"
#include "app/train/resident_set.h"
#include "lockstep/graph.h"

namespace lockstep {
namespace {

// The changes of training pictures.
void check_augmentation(const ClassificationConfig& config) {
  const std::vector<int64_t>& changes = config.rand_augment;
  check(changes.empty() || (changes.size() == 2 && changes[1] <= kMostMagnitude),
        Key{"DATA.RAND_AUGMENT"}, " should be [operations, magnitude], with a magnitude from 0 to ",
        kMostMagnitude);
  const std::vector<double>& jitter = config.colour_jitter;
  check(jitter.empty() || (jitter.size() == 4 && jitter[3] <= 0.5), Key{"DATA.COLOUR_JITTER"},
        " should be [brightness, contrast, saturation, hue], with a hue from 0 to 0.5");
  const DatasetOptions data = dataset_of(config, false);
  if (!data.augmentation.active() || has_bytes(data)) return;
  const Key key{changes.empty() || changes[0] == 0 ? "DATA.COLOUR_JITTER" : "DATA.RAND_AUGMENT"};
  fail(key, ": the images of ", Key{"DATA.NAME"}, " ", config.dataset,
       " are made of floats, which are not augmented; leave the key out");
}

// Pictures that stay on the devices are read once. A crop of the whole picture still draws its
// shape: the picture keeps the crop of its first reading.
void check_read_once(const ClassificationConfig& config) {
  const Augmentation changes = dataset_of(config, false).augmentation;
  const bool crops = config.dataset == "image_folder";
  check_drawn_once(
      config,
      {{changes.rand_augment.operations > 0, phrase(Key{"DATA.RAND_AUGMENT"}, " changes pictures"),
        "leave DATA.RAND_AUGMENT out"},
       {changes.jitter.active(), phrase(Key{"DATA.COLOUR_JITTER"}, " changes pictures"),
        "leave DATA.COLOUR_JITTER out"},
       {config.mixup > 0, phrase(Key{"TRAIN.MIXUP"}, " mixes pictures"), "set TRAIN.MIXUP 0"},
       {config.dataset == "cifar10",
        phrase(Key{"DATA.NAME"}, " cifar10 shifts and mirrors training pictures"), ""},
       {crops && config.flip, phrase(Key{"DATA.FLIP"}, " mirrors pictures"), "set DATA.FLIP false"},
       {crops && config.crop_scale[0] < 1,
        phrase(Key{"DATA.CROP_SCALE"}, " ", config.crop_scale[0], " crops pictures"),
        "set DATA.CROP_SCALE [1, 1]"}});
}

void check_together(const ClassificationConfig& config, int processes) {
  check_shares(shares_of(config, config.replicas() * processes), config, processes, "images");
  check_fits(config.step, config.run, processes);
  check(config.crop_scale.size() == 2 && config.crop_scale[0] > 0 &&
            config.crop_scale[0] <= config.crop_scale[1] && config.crop_scale[1] <= 1,
        Key{"DATA.CROP_SCALE"}, " should be two numbers, 0 < least <= most <= 1");
  check(!config.bytes || has_bytes(dataset_of(config, false)), Key{"DATA.BYTES"},
        ": the images of ", Key{"DATA.NAME"}, " ", config.dataset,
        " are made of floats; use DATA.BYTES false");
  check_augmentation(config);
  check_read_once(config);
  check_solver(config.optimizer);
  check_rates(config.schedule);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> ClassificationConfig::entries() const {
  ClassificationConfig copy = *this;
  return entries_of(keys_of(copy));
}

std::string ClassificationConfig::yaml() const {
  ClassificationConfig copy = *this;
  return yaml_of(keys_of(copy));
}

ClassificationConfig read_config(const std::string& path, const std::vector<std::string>& overrides,
                                 int processes) {
  Origins origins;
  return read_config(config_files(path), overrides, processes, origins);
}

ClassificationConfig read_config(const ConfigFiles& files,
                                 const std::vector<std::string>& overrides, int processes,
                                 Origins& origins) {
  return read_settings<ClassificationConfig>(
      files, overrides, origins,
      [&](ClassificationConfig& config) { check_together(config, processes); });
}

}  // namespace lockstep
