// The keys of a training of classifiers, beside those of the step: a table for each thing that they
// are about.
#include "tools/train/config.h"

namespace lockstep {
namespace {

// Beyond these numbers do not stay numbers when they are multiplied; memory ends long before.
constexpr double kMostOfMany = 1 << 24, kMostPixels = 1 << 16, kMostImages = 0x7FFFFFFF;
constexpr double kMostRate = 3.4e38;  // a float

ConfigKeys keys_of_run(TrainConfig& c) {
  return {{"OUTPUT_DIR",
           &c.output_dir,
           "series of folders that runs of this file lie in; by default runs/ and the file's name",
           {.own = true}},
          {"RNG_SEED",
           &c.seed,
           "decides every bit of a run: first weights, order of data, what is drawn",
           {.least = 0, .remembered = true}}};
}

ConfigKeys keys_of_network(TrainConfig& c) {
  return {
      {"MODEL.TYPE",
       &c.model,
       "lenet, mlp, resnet18 .. resnet152, resnext50_32x4d, resnet50_keras, vgg16, mobilenet_v2",
       {.remembered = true}},
      {"MODEL.NUM_CLASSES",
       &c.classes,
       "how many classes the network tells apart",
       {.least = 2, .most = kMostOfMany, .remembered = true}},
      {"MODEL.HIDDEN",
       &c.hidden,
       "mlp: width of each hidden layer",
       {.least = 1, .most = kMostOfMany, .remembered = true}},
      {"MODEL.ONNX",
       &c.onnx,
       "a network brought along, in place of MODEL.TYPE: docs/bring_your_own.md",
       {.remembered = true}},
      {"MODEL.NEW_CLASSIFIER", &c.new_classifier,
       "the layer that makes the scores is new, for another number of classes"},
      {"MODEL.TRAIN_BATCH_NORM",
       &c.train_batch_norm,
       "MODEL.ONNX: batch norms train, also where the file says training_mode 0",
       {.remembered = true}},
      {"MODEL.WEIGHTS",
       &c.weights,
       "a safetensors file to start from, tensors by name",
       {.detectron = "TRAIN.WEIGHTS"}},
      {"RESNETS.STRIDE_1X1",
       &c.stride_in_1x1,
       "a bottleneck halves the image in its first 1x1 convolution, not in its 3x3",
       {.remembered = true}},
      {"RESNETS.ZERO_INIT_GAMMA", &c.zero_init_gamma, "residual blocks start as the identity"}};
}

ConfigKeys keys_of_data(TrainConfig& c) {
  return {
      {"DATA.NAME",
       &c.dataset,
       "digits, synthetic, image_folder, cifar10 or mnist",
       {.detectron = "TRAIN.DATASETS", .remembered = true}},
      {"DATA.ROOT", &c.data_root, "folder of the data set's files", {.own = true}},
      {"DATA.TRAIN_SIZE",
       &c.train_size,
       "images of generated sets",
       {.least = 1, .most = kMostImages, .remembered = true}},
      {"DATA.TEST_SIZE",
       &c.test_size,
       "held-out images of generated sets",
       {.least = 1, .most = kMostImages}},
      {"DATA.IMAGE_SIZE",
       &c.image_size,
       "height and width that the network sees",
       {.least = 1, .most = kMostPixels, .detectron = "TRAIN.SCALES", .remembered = true}},
      {"DATA.RESIZE",
       &c.resize,
       "what the shorter side of a held-out picture measures before its middle is cut out",
       {.least = 1, .most = kMostPixels, .detectron = "TEST.SCALE"}},
      {"DATA.CROP_SCALE",
       &c.crop_scale,
       "least and most share of a picture's area in training",
       {.least = 0, .remembered = true}},
      {"DATA.FLIP",
       &c.flip,
       "half of the training images are mirrored",
       {.detectron = "TRAIN.USE_FLIPPED", .remembered = true}},
      {"DATA.THREADS",
       &c.data_threads,
       "threads that read images; 0: one for each core",
       {.least = 0, .most = kMostThreads, .detectron = "DATA_LOADER.NUM_THREADS", .own = true}}};
}

ConfigKeys keys_of_loop(TrainConfig& c) {
  return {{"TRAIN.BATCH_SIZE",
           &c.batch_size,
           "images of a step, over all replicas and processes",
           {.least = 1,
            .most = kMostOfMany,
            .detectron = "TRAIN.IMS_PER_BATCH, of one GPU",
            .remembered = true}},
          {"TRAIN.SNAPSHOT_ITERS",
           &c.snapshot_iters,
           "iterations between two checkpoints",
           {.least = 1}},
          {"TRAIN.LOG_ITERS",
           &c.log_iters,
           "iterations between two lines and rows of metrics",
           {.least = 1}},
          {"TRAIN.DRIFT_ITERS",
           &c.drift_iters,
           "iterations between two comparisons of all replicas, bit for bit",
           {.least = 1}},
          {"TEST.ITERS",
           &c.test_iters,
           "iterations between two tests on the held-out images",
           {.least = 1}}};
}

ConfigKeys keys_of_solver(TrainConfig& c) {
  return {
      {"SOLVER.BASE_LR",
       &c.schedule.base_lr,
       "the learning rate that the policy starts from",
       {.least = 0, .most = kMostRate}},
      {"SOLVER.LR_POLICY", &c.schedule.policy,
       "step, steps_with_decay, steps_with_lrs, cosine_decay or exp_decay"},
      {"SOLVER.GAMMA",
       &c.schedule.gamma,
       "what a step, or the whole of exp_decay, multiplies by",
       {.least = 0}},
      {"SOLVER.STEP_SIZE",
       &c.schedule.step_size,
       "step: iterations from one drop of the rate to the next",
       {.least = 1}},
      {"SOLVER.STEPS",
       &c.schedule.steps,
       "steps_with_*: the first iterations of the intervals, from 0",
       {.least = 0}},
      {"SOLVER.LRS",
       &c.schedule.lrs,
       "steps_with_lrs: a rate for each interval",
       {.least = 0, .most = kMostRate}},
      {"SOLVER.MAX_ITER", &c.schedule.max_iter, "iterations of the whole run", {.least = 1}},
      {"SOLVER.WARM_UP_ITERS", &c.schedule.warm_up_iters, "iterations of warm-up", {.least = 0}},
      {"SOLVER.WARM_UP_FACTOR",
       &c.schedule.warm_up_factor,
       "share of the rate that it starts from",
       {.least = 0}},
      {"SOLVER.WARM_UP_METHOD", &c.schedule.warm_up_method, "linear or constant"},
      {"SOLVER.TYPE", &c.optimizer.type, "the optimiser: " + solver_types()},
      {"SOLVER.MOMENTUM", &c.optimizer.momentum, "momentum of SGD and Nesterov", {.least = 0}},
      {"SOLVER.NESTEROV", &c.optimizer.nesterov, "an older spelling of SOLVER.TYPE: Nesterov"},
      {"SOLVER.BETA1",
       &c.optimizer.beta1,
       "Adam: how much of the first moment a step keeps",
       {.least = 0}},
      {"SOLVER.BETA2",
       &c.optimizer.beta2,
       "Adam: how much of the second moment a step keeps",
       {.least = 0}},
      {"SOLVER.EPSILON",
       &c.optimizer.epsilon,
       "Adam: what is added to what it divides by",
       {.least = 0}},
      {"SOLVER.SCALE_MOMENTUM", &c.schedule.scale_momentum,
       "SGD and Nesterov: where the rate jumps, the momentum is scaled alike"},
      {"SOLVER.SCALE_MOMENTUM_THRESHOLD",
       &c.schedule.scale_momentum_threshold,
       "by more than this factor is a jump",
       {.least = 1}},
      {"SOLVER.LOG_LR_CHANGE_THRESHOLD",
       &c.log_lr_change_threshold,
       "a change of the rate by more than this factor is logged",
       {.least = 1}}};
}

}  // namespace

ConfigKeys keys_of(TrainConfig& c) {
  return joined({keys_of_run(c), keys_of(c.run), keys_of_network(c), keys_of_data(c),
                 keys_of_loop(c), keys_of_solver(c), keys_of(c.step)});
}

}  // namespace lockstep
