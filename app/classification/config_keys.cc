// SPDX-License-Identifier: Apache-2.0
// The keys for training classifiers, besides the keys of the step: a table for each subject.
#include "app/classification/config.h"
#include "app/train/resident_set.h"
#include "data/dataset.h"
#include "graph/listed.h"
#include "lockstep/models.h"

namespace lockstep {
namespace {

// Larger numbers overflow when multiplied; memory runs out long before.
constexpr double kMostOfMany = 1 << 24, kMostPixels = 1 << 16, kMostImages = 0x7FFFFFFF;
constexpr double kMostSmoothing = 0.999, kMostAlpha = 1e6;
constexpr double kMostOperations = 100, kMostJitter = 1000;

ConfigKeys keys_of_network(ClassificationConfig& c) {
  return {{"MODEL.TYPE",
           &c.model,
           "built-in model: " + listed(model_names()),
           {.remembered = true, .words = model_names()}},
          {"MODEL.NUM_CLASSES",
           &c.classes,
           "number of classes",
           {.least = 2, .most = kMostOfMany, .remembered = true}},
          {"MODEL.HIDDEN",
           &c.hidden,
           "mlp: width of each hidden layer",
           {.least = 1, .most = kMostOfMany, .remembered = true}},
          {"MODEL.ONNX",
           &c.onnx,
           "an ONNX network to train instead of MODEL.TYPE: docs/bring_your_own.md",
           {.remembered = true}},
          {"MODEL.NEW_CLASSIFIER", &c.new_classifier,
           "replace the last layer by a new one with MODEL.NUM_CLASSES outputs"},
          {"MODEL.WEIGHTS",
           &c.weights,
           "safetensors file to start from; tensors are matched by name",
           {.detectron = "TRAIN.WEIGHTS"}},
          {"RESNETS.STRIDE_1X1",
           &c.stride_in_1x1,
           "bottleneck blocks have their stride in the first 1x1 convolution instead of the 3x3",
           {.remembered = true}},
          {"RESNETS.ZERO_INIT_GAMMA", &c.zero_init_gamma,
           "initialise residual blocks as the identity: the scale of their last batch norm is 0"}};
}

ConfigKeys keys_of_data(ClassificationConfig& c) {
  return {
      {"DATA.NAME",
       &c.dataset,
       "data set: digits, synthetic, image_folder, cifar10 or mnist",
       {.detectron = "TRAIN.DATASETS", .remembered = true, .words = dataset_names()}},
      {"DATA.ROOT", &c.data_root, "folder of the data set's files", {.own = true}},
      {"DATA.TRAIN_SIZE",
       &c.train_size,
       "number of training images of a generated data set",
       {.least = 1, .most = kMostImages, .remembered = true}},
      {"DATA.TEST_SIZE",
       &c.test_size,
       "number of held-out images of a generated data set",
       {.least = 1, .most = kMostImages}},
      {"DATA.IMAGE_SIZE",
       &c.image_size,
       "height and width of the network's input",
       {.least = 1, .most = kMostPixels, .detectron = "TRAIN.SCALES", .remembered = true}},
      {"DATA.RESIZE",
       &c.resize,
       "shorter side of a held-out picture before the centre crop",
       {.least = 1, .most = kMostPixels, .detectron = "TEST.SCALE", .remembered = true}},
      {"DATA.CROP_SCALE",
       &c.crop_scale,
       "smallest and largest fraction of a picture's area in a training crop",
       {.least = 0, .remembered = true}},
      {"DATA.FLIP",
       &c.flip,
       "mirror half of the training images",
       {.detectron = "TRAIN.USE_FLIPPED", .remembered = true}},
      {"DATA.RAND_AUGMENT",
       &c.rand_augment,
       "[operations, magnitude]: change each training picture by this number of torchvision's "
       "RandAugment operations, of a magnitude from 0 to 30; []: none",
       {.least = 0, .most = kMostOperations, .remembered = true}},
      {"DATA.COLOUR_JITTER",
       &c.colour_jitter,
       "[brightness, contrast, saturation, hue]: the largest random change of each for training "
       "pictures, as torchvision's ColorJitter has it; []: none",
       {.least = 0, .most = kMostJitter, .remembered = true}},
      {"DATA.BYTES",
       &c.bytes,
       "feed images as bytes, which the step normalises: a quarter of the memory and of the "
       "copies to a GPU; resampled pixels of an image_folder are rounded",
       {.remembered = true}},
      {"DATA.THREADS",
       &c.data_threads,
       "threads that read images; 0: one for each core",
       {.least = 0, .most = kMostThreads, .detectron = "DATA_LOADER.NUM_THREADS", .own = true}}};
}

ConfigKeys keys_of_loop(ClassificationConfig& c) {
  return {{"TRAIN.BATCH_SIZE",
           &c.batch_size,
           "number of images of a step, over all replicas and processes",
           {.least = 1,
            .most = kMostOfMany,
            .detectron = "TRAIN.IMS_PER_BATCH, of one GPU",
            .remembered = true}},
          {"TRAIN.SKIP_BAD_IMAGES",
           &c.skip_bad_images,
           "if a picture cannot be read, train on another or leave it out of a test, and name it; "
           "false: stop the run",
           {.decides_bits = true}},
          {"TRAIN.LABEL_SMOOTHING",
           &c.label_smoothing,
           "share of a label's weight that the training loss spreads evenly over all classes",
           {.least = 0, .most = kMostSmoothing, .decides_bits = true}},
          {"TRAIN.MIXUP",
           &c.mixup,
           "alpha: mix each training picture with its neighbour in the batch, by a share that a "
           "step draws from Beta(alpha, alpha); 0: no mixing",
           {.least = 0, .most = kMostAlpha, .decides_bits = true}},
          {"TRAIN.SNAPSHOT_ITERS",
           &c.snapshot_iters,
           "iterations between two checkpoints",
           {.least = 1}}};
}

}  // namespace

ConfigKeys keys_of(ClassificationConfig& c) {
  return joined({run_keys(c, "the initial weights, the order of data and random draws"),
                 keys_of(c.run), keys_of_network(c), keys_of(c.trained), keys_of_data(c),
                 keys_of_loop(c), resident_keys(c), loop_keys(c), solver_keys(c), keys_of(c.step)});
}

}  // namespace lockstep
