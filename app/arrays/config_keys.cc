// SPDX-License-Identifier: Apache-2.0
// The keys for training any network on arrays, besides the keys of the step: a table for each
// subject.
#include "app/arrays/config.h"
#include "app/arrays/example_source.h"
#include "app/arrays/network_type.h"
#include "app/train/resident_set.h"
#include "graph/listed.h"

namespace lockstep {
namespace {

constexpr double kMostRowsOfStep = 1 << 24, kMostPlaces = 1 << 24, kMostOfSide = 1 << 14,
                 kMostExamples = 1 << 30, kMostClasses = 255, kMostWidth = 1 << 10;

ConfigKeys keys_of_network(ArraysConfig& c) {
  return {
      {"MODEL.TYPE",
       &c.model,
       meanings_of_rows(network_types(), ": "),
       {.remembered = true, .words = network_type_names()}},
      {"MODEL.ONNX", &c.onnx, "the ONNX network to train", {.remembered = true}},
      {"MODEL.NUM_CLASSES",
       &c.classes,
       "number of classes of a pixel; 0: not said, which unet does not accept",
       {.least = 0, .most = kMostClasses, .remembered = true}},
      {"MODEL.WIDTH",
       &c.width,
       "unet: channels of the first level; each level below has twice as many",
       {.least = 1, .most = kMostWidth, .remembered = true}},
      {"MODEL.DEPTH",
       &c.depth,
       "unet: the number of times that the picture is halved",
       {.least = 1, .most = 8, .remembered = true}},
      {"MODEL.LOSS",
       &c.loss,
       "what a step minimises: an output; outputs with weights, {loss: 1, auxiliary: 0.4}; or "
       "{KIND: [OUTPUT, TARGET]}. Kinds: " +
           meanings_of_rows(output_losses(), ", "),
       {.remembered = true, .nested = true}},
      {"MODEL.WEIGHTS", &c.weights, "safetensors file to start from; tensors are matched by name"}};
}

ConfigKeys keys_of_data(ArraysConfig& c) {
  return {
      {"DATA.NAME",
       &c.dataset,
       meanings_of_rows(example_sources(), ": "),
       {.remembered = true, .words = example_source_names()}},
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
       "uneven examples has a .mask, 1 where an example has elements; the arrays of pictures with "
       "masks are `image` and `mask`",
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
       "the number behind the end of uneven examples: {x: -1}; without it, labels that do not "
       "count (ignore) for labels, 0 for others",
       {.remembered = true, .nested = true}},
      {"DATA.THREADS",
       &c.data_threads,
       "threads that read examples",
       {.least = 1, .most = kMostThreads, .own = true}}};
}

ConfigKeys keys_of_pictures(ArraysConfig& c) {
  return {{"DATA.ROOT",
           &c.data_root,
           "image_masks: the folder that holds train/ and val/ or test/",
           {.own = true}},
          {"DATA.IMAGE_SIZE",
           &c.image_size,
           "height and width of pictures with masks, as the network takes them",
           {.least = 1, .most = kMostOfSide, .remembered = true}},
          {"DATA.RESIZE",
           &c.resize,
           "image_masks: shorter side of a held-out picture before the centre crop",
           {.least = 1, .most = kMostOfSide, .remembered = true}},
          {"DATA.CROP_SCALE",
           &c.crop_scale,
           "image_masks: smallest and largest fraction of a picture's area in a training crop",
           {.least = 0, .remembered = true}},
          {"DATA.FLIP",
           &c.flip,
           "image_masks: mirror half of the training pictures",
           {.remembered = true}},
          {"DATA.TRAIN_SIZE",
           &c.train_size,
           "drawn_shapes: number of training pictures",
           {.least = 1, .most = kMostExamples, .remembered = true}},
          {"DATA.TEST_SIZE",
           &c.test_size,
           "drawn_shapes: number of held-out pictures",
           {.least = 1, .most = kMostExamples}}};
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
               meanings_of_rows(metric_kinds(), ", "),
           {.nested = true}}};
}

// The keys of the step that apply where one rule updates all parameters.
ConfigKeys keys_of_step(ArraysConfig& c) {
  ConfigKeys keys = keys_of(c.step);
  std::erase_if(keys, [](const ConfigKey& key) {
    return key.key == "SOLVER.WEIGHT_DECAY_GN" || key.key == "SOLVER.BIAS_LR_FACTOR";
  });
  for (ConfigKey& key : keys)
    if (key.key == "SOLVER.WEIGHT_DECAY")
      key.meaning =
          "weight decay of all parameters, biases too, unless SOLVER.DECAYS says otherwise; AdamW, "
          "LAMB and Lion decay apart from the gradient";
  return keys;
}

}  // namespace

ConfigKeys keys_of(ArraysConfig& c) {
  return joined({run_keys(c, "the order of examples and random draws"), keys_of(c.run),
                 keys_of_network(c), keys_of(c.trained), keys_of_data(c), keys_of_pictures(c),
                 keys_of_loop(c), resident_keys(c), keys_of_test(c), loop_keys(c), solver_keys(c),
                 keys_of_step(c)});
}

}  // namespace lockstep
