// SPDX-License-Identifier: Apache-2.0
#include "app/classification/config.h"

#include <cstdlib>

#include "app/arrays/config.h"
#include "app/control/control_config.h"
#include "app/detection/config/detector_config.h"
#include "app/task_kind.h"
#include "app/text/config.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/readers.h"
#include "tests/support/training_command.h"

namespace lockstep::fuzz {

namespace {

// An accepted configuration is written in a form that reads back as the same configuration.
void read_detector(const ConfigFiles& files) {
  DetectorConfig config = read_detector_config(files, {});
  const MemoryFile again(yaml_of(keys_of(config)));
  if (!accepts([&] {
        DetectorConfig other = read_detector_config(config_files(again.path()), {});
        if (entries_of(keys_of(other)) != entries_of(keys_of(config))) std::abort();
      }))
    std::abort();
}

// The configuration as written reads back as the same.
template <class Config>
void expect_read_again(Config& config,
                       Config (*read)(const ConfigFiles&, const std::vector<std::string>&, int,
                                      Origins&)) {
  Origins origins;
  const MemoryFile again(yaml_of(keys_of(config)));
  expect(accepts([&] {
    Config other = read(config_files(again.path()), {}, 1, origins);
    expect(entries_of(keys_of(other)) == entries_of(keys_of(config)));
  }));
}

void read_language_model(const ConfigFiles& files) {
  Origins origins;
  TextConfig config = read_text_config(files, {}, 1, origins);
  expect_read_again(config, read_text_config);
}

void read_control(const ConfigFiles& files) {
  Origins origins;
  ControlConfig config = read_control_config(files, {}, 1, origins);
  expect_read_again(config, read_control_config);
}

void read_arrays(const ConfigFiles& files) {
  Origins origins;
  ArraysConfig config = read_arrays_config(files, {}, 1, origins);
  expect_read_again(config, read_arrays_config);
}

}  // namespace

void read_configuration(const std::string& text) {
  const MemoryFile file(text);
  const ConfigFiles files = config_files(file.path());
  const std::string task = task_kind_of(files, {}).name;
  if (task == "detection") return read_detector(files);
  if (task == "arrays") return read_arrays(files);
  if (task == "text") return read_language_model(files);
  if (task == "control") return read_control(files);
  const ClassificationConfig config = read_config(file.path(), {});
  // An accepted configuration is written in a form that reads back as the same configuration.
  const MemoryFile again(config.yaml());
  if (!accepts([&] {
        if (read_config(again.path(), {}).entries() != config.entries()) std::abort();
      }))
    std::abort();
}

Seeds config_seeds() {
  Seeds seeds{
      testing::kTrainingConfig,
      ClassificationConfig().yaml(),
      "TRAIN: {BATCH_SIZE: 64}\nSOLVER:\n  STEPS: [0, 2]\n  LR_POLICY: step\n",
      "DEVICES: 'cpu*4'\nALL_REDUCE: xring#2:32k:rechd\nRING_ORDER: [0, 2, 1, 3]\n",
      "MODEL: {TYPE: char_gru, LAYERS: 2}\nDATA: {FILES: ['*.md', docs], LENGTH: 64}\n",
      "DATA: &d {NAME: digits}\nTEST: {ITERS: 1}\n",
      "MODEL: {TYPE: actor_critic, HIDDEN: [8]}\nCONTROL: {LAMBDA: 0.9, STEPS: 16}\n",
      "MODEL: {TYPE: rpn, CONV_BODY: add_ResNet50_conv4_body, RPN_ONLY: True}\n"
      "TRAIN.SCALES: (800, 900)\nTRAIN.DATASETS: ('a', 'b')\nMEMONGER: False\n",
      "MODEL: {TYPE: rpn, CONV_BODY: add_ResNet50_conv4_body, RPN_ONLY: True}\nDATASETS:\n"
      "  a: {IMAGES: i, ANNOTATIONS: j, KEYPOINT_SIGMAS: [0.1, 1], KEYPOINT_FLIPS: [[l, r]]}\n"};
  return seeds;
}

}  // namespace lockstep::fuzz
