// SPDX-License-Identifier: Apache-2.0
// The keys that all processes must agree on, and the keys that a checkpoint remembers.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "app/classification/config.h"
#include "app/train/checkpoint_keys.h"
#include "app/train/config_agreement.h"
#include "tests/support/expect_error.h"

namespace lockstep::testing {
namespace {

TEST(Agreement, IsAboutEverythingButAProcessesOwnKeys) {
  ClassificationConfig config;
  config.run.devices = devices_named("gpu:3,cpu,gpu:1");
  std::map<std::string, std::string> agreed;
  for (const auto& [key, value] : to_be_agreed_on(keys_of(config))) agreed.emplace(key, value);
  EXPECT_EQ(agreed.at("DEVICES"), "1 x cpu, 2 x gpu");
  for (const char* own : {"THREADS", "DATA.THREADS", "DATA.ROOT", "OUTPUT_DIR"})
    EXPECT_EQ(agreed.count(own), 0u) << own;
  EXPECT_EQ(agreed.size() + 4, config.entries().size());
}

TEST(Remembered, IsWhatDecidesWhatNumbersMean) {
  ClassificationConfig config;
  const Metadata plain = remembered(keys_of(config), config);
  EXPECT_EQ(plain.size(), 23u);
  for (const char* key : {"MODEL.TYPE",
                          "MODEL.NUM_CLASSES",
                          "MODEL.HIDDEN",
                          "MODEL.ONNX",
                          "MODEL.FREEZE",
                          "MODEL.TRAIN",
                          "DATA.NAME",
                          "DATA.TRAIN_SIZE",
                          "DATA.IMAGE_SIZE",
                          "DATA.CROP_SCALE",
                          "DATA.FLIP",
                          "DATA.BYTES",
                          "DATA.RESIZE",
                          "RNG_SEED",
                          "TRAIN.BATCH_SIZE",
                          "PRECISION",
                          "SOLVER.DEFERRED",
                          "RESNETS.STRIDE_1X1",
                          "MODEL.TRAIN_BATCH_NORM",
                          "TRAIN.SYNC_BATCH_NORM",
                          "SOLVER.TYPE"})
    EXPECT_EQ(plain.count(key), 1u) << key;
  config.step.options.all_reduce.spec = parse_all_reduce("mean:xring");
  EXPECT_EQ(remembered(keys_of(config), config), plain) << "no deferred gradients";
  config.step.options.deferred = true;
  EXPECT_EQ(remembered(keys_of(config), config).at("ALL_REDUCE for"), "a mean");
  expect_error([&] { check_remembered(remembered(keys_of(config), config), plain, "here", 2); },
               "here: was saved with SOLVER.DEFERRED false, but now it is true");
}

}  // namespace
}  // namespace lockstep::testing
