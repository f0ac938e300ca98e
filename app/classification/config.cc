// SPDX-License-Identifier: Apache-2.0
#include "app/classification/config.h"

#include <filesystem>

#include "app/classification/network.h"
#include "app/config/read.h"
#include "app/train/read_settings.h"
#include "builders/all_reduce/all_reduce.h"
#include "lockstep/data_parallel.h"
#include "lockstep/graph.h"

namespace lockstep {
namespace {

// Throws naming the key that requires equal shares.
void check_shares(const ClassificationConfig& config, int processes) {
  const BatchShares shares = shares_of(config, config.replicas() * processes);
  const Phrase of_parts =
      shares.parts > 1 ? phrase(" and their ", Key{"TRAIN.MICRO_BATCHES"}) : Phrase{};
  const Phrase of_all = phrase(shares.replicas, " replicas of ",
                               processes == 1 ? "" : join(processes, " processes with "),
                               Key{"DEVICES"}, " ", config.run.devices.text, of_parts);
  const Key batch{"TRAIN.BATCH_SIZE"};
  check(!shares.leave_nothing(), batch, " ", shares.batch,
        " is too small: there are no images for some of the ", of_all);
  const auto needs_equal = [&](const Phrase& what) {
    check(shares.equal(), what, " needs equal shares, but ", batch, " ", shares.batch,
          " cannot be split equally over the ", of_all);
  };
  const DataParallelOptions& options = config.step.options;
  if (options.all_reduce.spec.reduction == Reduction::mean)
    needs_equal(phrase(Key{"ALL_REDUCE"}, " ", text_of(options.all_reduce.spec)));
  if (options.synchronised_batch_norm) needs_equal(phrase(Key{"TRAIN.SYNC_BATCH_NORM"}));
}

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

void check_together(const ClassificationConfig& config, int processes) {
  check_shares(config, processes);
  check_fits(config.step, config.run, processes);
  check(config.crop_scale.size() == 2 && config.crop_scale[0] > 0 &&
            config.crop_scale[0] <= config.crop_scale[1] && config.crop_scale[1] <= 1,
        Key{"DATA.CROP_SCALE"}, " should be two numbers, 0 < least <= most <= 1");
  check(!config.bytes || has_bytes(dataset_of(config, false)), Key{"DATA.BYTES"},
        ": the images of ", Key{"DATA.NAME"}, " ", config.dataset,
        " are made of floats; use DATA.BYTES false");
  check_augmentation(config);
  const int64_t threads = config.run.threads * config.replicas();
  check(threads <= kMostThreadsOfAll, Key{"THREADS"}, " ", config.run.threads, " for each of ",
        Key{"DEVICES"}, " ", config.run.devices.text, " makes ", threads,
        " threads; a process may have at most ", kMostThreadsOfAll);
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
