// SPDX-License-Identifier: Apache-2.0
// The keys for training any network on arrays, besides the keys of the step: a table for each
// subject.
#include "app/arrays/config.h"

namespace lockstep {
namespace {

constexpr double kMostRowsOfStep = 1 << 24, kMostPlaces = 1 << 24;

std::string kinds_of_loss() {
  std::string text;
  for (const OutputLoss& loss : output_losses())
    text += (text.empty() ? "" : "; ") + loss.name + ", " + loss.meaning;
  return text;
}

std::string kinds_of_metric() {
  std::string text;
  for (const MetricKind& kind : metric_kinds())
    text += (text.empty() ? "" : "; ") + kind.name + ", " + kind.meaning;
  return text;
}

ConfigKeys keys_of_network(ArraysConfig& c) {
  return {
      {"MODEL.TYPE",
       &c.model,
       "arrays: the network of MODEL.ONNX",
       {.remembered = true, .words = {kArrays}}},
      {"MODEL.ONNX", &c.onnx, "the ONNX network to train", {.remembered = true}},
      {"MODEL.LOSS",
       &c.loss,
       "what a step minimises: an output; outputs with weights, {loss: 1, auxiliary: 0.4}; or "
       "{KIND: [OUTPUT, TARGET]}. Kinds: " +
           kinds_of_loss(),
       {.remembered = true, .nested = true}},
      {"MODEL.WEIGHTS", &c.weights, "safetensors file to start from; tensors are matched by name"}};
}

ConfigKeys keys_of_data(ArraysConfig& c) {
  return {
      {"DATA.NAME",
       &c.dataset,
       "arrays: files of numbers, one array for each input of the network",
       {.remembered = true, .words = {kArrays}}},
      {"DATA.TRAIN",
       &c.train,
       "arrays to train on: a folder of NAME.npy, .npz or .safetensors, or one .npz, "
       ".safetensors or .csv file",
       {.own = true}},
      {"DATA.TEST", &c.test, "arrays to test on", {.own = true}},
      {"DATA.COLUMNS",
       &c.columns,
       "columns of a .csv file for each input: {x: [age, height], y: price}; without it, column x "
       "or columns x.0, x.1, ..",
       {.remembered = true, .nested = true}},
      {"DATA.SOURCES",
       &c.sources,
       "the array of an input, if it has another name: {attention_mask: tokens.mask}; an array of "
       "uneven examples has a .mask, 1 where an example has elements",
       {.remembered = true, .nested = true}},
      {"DATA.WHOLE",
       &c.whole,
       "each example is all that a step takes, as a graph is: the network's inputs have no "
       "dimension for the batch",
       {.remembered = true}},
      {"DATA.SHUFFLE",
       &c.shuffle,
       "train on the examples in a random order, another in each epoch; false: in the order of the "
       "files",
       {.remembered = true}},
      {"DATA.BUCKETS",
       &c.buckets,
       "lengths to which uneven examples are padded; empty: the longest example's",
       {.least = 1, .most = kMostPlaces, .remembered = true}},
      {"DATA.PADDING",
       &c.padding,
       "the number that pads uneven examples of an input, if not 0: {labels: -100}",
       {.remembered = true, .nested = true}},
      {"DATA.THREADS",
       &c.data_threads,
       "threads that read examples",
       {.least = 1, .most = kMostThreads, .own = true}}};
}

ConfigKeys keys_of_loop(ArraysConfig& c) {
  return {{"TRAIN.BATCH_SIZE",
           &c.batch_size,
           "number of examples of a step, over all replicas and processes",
           {.least = 1, .most = kMostRowsOfStep, .remembered = true}},
          {"TRAIN.SNAPSHOT_ITERS",
           &c.snapshot_iters,
           "iterations between two checkpoints",
           {.least = 1}}};
}

ConfigKeys keys_of_test(ArraysConfig& c) {
  return {{"TEST.METRICS",
           &c.metrics,
           "numbers that a test computes, the first of which says which weights are best: {KIND: "
           "[OUTPUT, TARGET]}; without them the loss does. Kinds: " +
               kinds_of_metric(),
           {.nested = true}}};
}

}  // namespace

ConfigKeys keys_of(ArraysConfig& c) {
  return joined({run_keys(c, "the order of examples and random draws"), keys_of(c.run),
                 keys_of_network(c), keys_of(c.trained), keys_of_data(c), keys_of_loop(c),
                 keys_of_test(c), loop_keys(c), solver_keys(c), keys_of(c.step)});
}

}  // namespace lockstep
