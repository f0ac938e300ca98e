// SPDX-License-Identifier: Apache-2.0
// The keys for training language models, besides the keys of the step: a table for each subject.
#include "app/text/config.h"
#include "app/train/resident_set.h"
#include "graph/listed.h"

namespace lockstep {
namespace {

constexpr double kMostRowsOfStep = 1 << 24, kMostUnits = 1 << 16, kMostLayers = 64;

ConfigKeys keys_of_network(TextConfig& c) {
  LanguageOptions& net = c.network;
  return {
      {"MODEL.TYPE",
       &c.model,
       "language model: " + listed(language_model_names()),
       {.remembered = true, .words = language_model_names()}},
      {"MODEL.EMBEDDING",
       &net.embedding,
       "width of a character's embedding",
       {.least = 1, .most = kMostUnits, .remembered = true}},
      {"MODEL.HIDDEN",
       &net.hidden,
       "hidden units of each recurrent layer",
       {.least = 1, .most = kMostUnits, .remembered = true}},
      {"MODEL.LAYERS",
       &net.layers,
       "number of recurrent layers",
       {.least = 1, .most = kMostLayers, .remembered = true}},
      {"MODEL.DROPOUT",
       &net.dropout,
       "fraction of each recurrent layer's outputs that a training step drops",
       {.least = 0, .most = 0.99, .remembered = true}},
      {"MODEL.WEIGHTS", &c.weights, "safetensors file to start from; tensors are matched by name"}};
}

ConfigKeys keys_of_data(TextConfig& c) {
  return {{"DATA.FILES", &c.files,
           "text to train on: files, folders, or patterns such as 'docs/**/*.md'; without "
           "TEST.FILES every tenth 1,000 characters are held out"},
          {"DATA.ROOT", &c.root, "folder that relative names of files start from", {.own = true}},
          {"DATA.LENGTH",
           &c.network.length,
           "characters of a row",
           {.least = 2, .most = kMostUnits, .remembered = true}},
          {"DATA.THREADS",
           &c.data_threads,
           "threads that copy rows of text",
           {.least = 1, .most = kMostThreads, .own = true}}};
}

ConfigKeys keys_of_loop(TextConfig& c) {
  return {{"TRAIN.BATCH_SIZE",
           &c.batch_size,
           "number of rows of a step, over all replicas and processes",
           {.least = 1, .most = kMostRowsOfStep, .remembered = true}},
          {"TRAIN.SNAPSHOT_ITERS",
           &c.snapshot_iters,
           "iterations between two checkpoints",
           {.least = 1}}};
}

ConfigKeys keys_of_test(TextConfig& c) {
  return {{"TEST.FILES", &c.test_files, "text to test on; all of DATA.FILES is then trained on"},
          {"TEST.SAMPLE_LENGTH",
           &c.sample_length,
           "characters of the text that a test samples for the report; 0: none",
           {.least = 0, .most = 1 << 20}},
          {"TEST.SAMPLE_TEMPERATURE",
           &c.temperature,
           "divides the logarithms of probabilities before a character is drawn: below 1, likely "
           "characters become likelier; 0: always the likeliest",
           {.least = 0, .most = 100}}};
}

}  // namespace

ConfigKeys keys_of(TextConfig& c) {
  return joined({run_keys(c, "the initial weights, the order of rows, dropout and sampled text"),
                 keys_of(c.run), keys_of_network(c), keys_of_data(c), keys_of_loop(c),
                 resident_keys(c), keys_of_test(c), loop_keys(c), solver_keys(c), keys_of(c.step)});
}

}  // namespace lockstep
