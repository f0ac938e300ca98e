// The keys for training classifiers, besides those of the step: a table for each subject.
#include "models/models.h"
#include "tools/train/config.h"

namespace lockstep {
namespace {

// Larger numbers overflow when multiplied; memory runs out long before.
constexpr double kMostOfMany = 1 << 24, kMostPixels = 1 << 16, kMostImages = 0x7FFFFFFF;
constexpr double kMostRate = 3.4e38;  // a float

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

ConfigKeys keys_of_run(TrainConfig& c) {
  return {{"OUTPUT_DIR",
           &c.output_dir,
           "folder of this configuration's runs; default: runs/ and the file's name",
           {.own = true}},
          {"RNG_SEED",
           &c.seed,
           "seed of the initial weights, the order of data and random draws",
           {.least = 0, .remembered = true}}};
}

ConfigKeys keys_of_network(TrainConfig& c) {
  return {
      {"MODEL.TYPE", &c.model, "built-in model: " + listed(model_names()), {.remembered = true}},
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
      {"MODEL.TRAIN_BATCH_NORM",
       &c.train_batch_norm,
       "MODEL.ONNX: train batch norms even where the file says training_mode 0",
       {.remembered = true}},
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

ConfigKeys keys_of_data(TrainConfig& c) {
  return {
      {"DATA.NAME",
       &c.dataset,
       "data set: digits, synthetic, image_folder, cifar10 or mnist",
       {.detectron = "TRAIN.DATASETS", .remembered = true}},
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
       {.least = 1, .most = kMostPixels, .detectron = "TEST.SCALE"}},
      {"DATA.CROP_SCALE",
       &c.crop_scale,
       "smallest and largest fraction of a picture's area in a training crop",
       {.least = 0, .remembered = true}},
      {"DATA.FLIP",
       &c.flip,
       "mirror half of the training images",
       {.detectron = "TRAIN.USE_FLIPPED", .remembered = true}},
      {"DATA.THREADS",
       &c.data_threads,
       "threads that read images; 0: one for each core",
       {.least = 0, .most = kMostThreads, .detectron = "DATA_LOADER.NUM_THREADS", .own = true}}};
}

ConfigKeys keys_of_loop(TrainConfig& c) {
  return {{"TRAIN.BATCH_SIZE",
           &c.batch_size,
           "number of images of a step, over all replicas and processes",
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
           "iterations between two lines of output, and between two rows of metrics.jsonl",
           {.least = 1}},
          {"TRAIN.DRIFT_ITERS",
           &c.drift_iters,
           "iterations between two bit-for-bit comparisons of all replicas",
           {.least = 1}},
          {"TEST.ITERS",
           &c.test_iters,
           "iterations between two tests on the held-out images",
           {.least = 1}}};
}

}  // namespace

ConfigKeys keys_of(const SolverSettings& c) {
  return {
      {"SOLVER.BASE_LR",
       &c.schedule.base_lr,
       "initial learning rate",
       {.least = 0, .most = kMostRate}},
      {"SOLVER.LR_POLICY", &c.schedule.policy,
       "learning rate schedule: step, steps_with_decay, steps_with_lrs, cosine_decay or exp_decay"},
      {"SOLVER.GAMMA",
       &c.schedule.gamma,
       "factor of each drop of the learning rate; exp_decay: factor over the whole run",
       {.least = 0}},
      {"SOLVER.STEP_SIZE",
       &c.schedule.step_size,
       "step: iterations between two drops of the learning rate",
       {.least = 1}},
      {"SOLVER.STEPS",
       &c.schedule.steps,
       "steps_with_*: first iteration of each interval; the first one is 0",
       {.least = 0}},
      {"SOLVER.LRS",
       &c.schedule.lrs,
       "steps_with_lrs: learning rate of each interval",
       {.least = 0, .most = kMostRate}},
      {"SOLVER.MAX_ITER", &c.schedule.max_iter, "number of iterations of the run", {.least = 1}},
      {"SOLVER.WARM_UP_ITERS",
       &c.schedule.warm_up_iters,
       "number of warm-up iterations",
       {.least = 0}},
      {"SOLVER.WARM_UP_FACTOR",
       &c.schedule.warm_up_factor,
       "fraction of the learning rate at the start of the warm-up",
       {.least = 0}},
      {"SOLVER.WARM_UP_METHOD", &c.schedule.warm_up_method,
       "warm-up factor over time: linear or constant"},
      {"SOLVER.TYPE", &c.optimizer.type, "the optimiser: " + solver_types()},
      {"SOLVER.MOMENTUM", &c.optimizer.momentum, "momentum of SGD and Nesterov", {.least = 0}},
      {"SOLVER.NESTEROV", &c.optimizer.nesterov, "true: an old spelling of SOLVER.TYPE: Nesterov"},
      {"SOLVER.BETA1", &c.optimizer.beta1, "Adam: decay rate of the first moment", {.least = 0}},
      {"SOLVER.BETA2", &c.optimizer.beta2, "Adam: decay rate of the second moment", {.least = 0}},
      {"SOLVER.EPSILON", &c.optimizer.epsilon, "Adam: added to the denominator", {.least = 0}},
      {"SOLVER.SCALE_MOMENTUM", &c.schedule.scale_momentum,
       "SGD and Nesterov: rescale the momentum when the learning rate jumps"},
      {"SOLVER.SCALE_MOMENTUM_THRESHOLD",
       &c.schedule.scale_momentum_threshold,
       "a change of the learning rate by more than this factor is a jump",
       {.least = 1}},
      {"SOLVER.LOG_LR_CHANGE_THRESHOLD",
       &c.log_lr_change_threshold,
       "a change of the learning rate by more than this factor is logged",
       {.least = 1}}};
}

ConfigKeys keys_of(TrainConfig& c) {
  return joined({keys_of_run(c), keys_of(c.run), keys_of_network(c), keys_of_data(c),
                 keys_of_loop(c),
                 keys_of(SolverSettings{c.schedule, c.optimizer, c.log_lr_change_threshold}),
                 keys_of(c.step)});
}

}  // namespace lockstep
