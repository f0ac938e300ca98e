// SPDX-License-Identifier: Apache-2.0
#include "app/classification/network.h"

#include <iostream>
#include <set>

#include "app/format.h"
#include "app/onnx/initializer_notes.h"
#include "app/onnx/network_file.h"
#include "builders/net/imported.h"
#include "builders/net/regularisers.h"
#include "builders/net/soft_labels.h"
#include "builders/net/trained_initializers.h"
#include "graph/initializer_kinds.h"
#include "graph/listed.h"
#include "graph/printable.h"
#include "lockstep/data_parallel.h"
#include "lockstep/imported.h"
#include "lockstep/losses.h"
#include "lockstep/models.h"
#include "lockstep/operators.h"
#include "runtime/threads/cores.h"

namespace lockstep {
namespace {

Preparation image_of(const ClassificationConfig& config) {
  return preparation_of(dataset_of(config, false));
}

ModelFn named_model(const ClassificationConfig& config) {
  check(config.trained.train.empty(), Key{"MODEL.TRAIN"},
        " chooses among the initializers of a network in MODEL.ONNX; ", config.model,
        " is built in, and MODEL.FREEZE alone chooses among its parameters");
  const Preparation image = image_of(config);
  const std::optional bytes = config.bytes ? std::optional(byte_scale_of(image)) : std::nullopt;
  return model_named(config.model, {.image = {image.channels, image.height, image.width},
                                    .bytes = bytes,
                                    .classes = config.classes,
                                    .hidden = config.hidden,
                                    .stride_in_1x1 = config.stride_in_1x1,
                                    .zero_init_gamma = config.zero_init_gamma});
}

// The name of the loss's operand: the network's output, or the input of the softmax that computes
// the output.
std::string scores_of(const Graph& graph, const std::string& path) {
  check(graph.outputs().size() == 1, path, ": has ", graph.outputs().size(),
        " outputs; fine-tuning needs a network with one, the scores");
  Value scores = graph.outputs()[0];
  auto maker = graph.producer(scores);
  if (maker && (maker->type() == "Softmax" || maker->type() == "LogSoftmax"))
    scores = maker->inputs()[0];
  check(graph.shape(scores).size() == 2, path, ": the scores '", graph.name(scores), "' are ",
        graph.type(scores), ", should be [batch, classes]");
  return graph.name(scores);
}

// The type of the network's input. A uint8 input gets bytes unchanged. A float32 input gets bytes
// through nodes that normalise them.
TensorType data_type(const Graph& graph, const std::string& path, const Preparation& image,
                     bool bytes) {
  check(graph.inputs().size() == 1, path, ": has ", graph.inputs().size(),
        " inputs; fine-tuning needs a network with one, the images");
  const TensorType& declared = graph.type(graph.inputs()[0]);
  const bool of_bytes = declared.dtype == DType::uint8;
  check(bytes || !of_bytes, path, ": its input is ", declared,
        ", but DATA.BYTES is false; set DATA.BYTES true");
  const TensorType fed{of_bytes ? DType::uint8 : DType::float32,
                       {"N", image.channels, image.height, image.width}};
  bool fits = declared.dtype == fed.dtype && declared.shape.size() == 4;
  for (std::size_t i = 1; fits && i < 4; ++i)
    fits = !declared.shape[i].known() || declared.shape[i] == fed.shape[i];
  check(fits, path, ": its input is ", declared, ", but the data set gives ", fed,
        "; change DATA.NAME, DATA.IMAGE_SIZE or the network");
  return fed;
}

void renew_classifier(const Classifier& classifier, const LoadedModel& file, int64_t classes,
                      const InitializerChoices& choices, ImportedOptions& options) {
  const Graph& graph = file.model.inference;
  Dims dims = graph.literal(graph.at(classifier.weight))->dims();
  dims[classifier.class_axis] = classes;
  options.renewed[classifier.weight] = {dims, gaussian(0.01F)};
  if (!classifier.bias.empty()) options.renewed[classifier.bias] = {{classes}, constant(0)};
  for (const auto& [name, unused] : options.renewed) {
    const InitializerChoice* choice = choices.find(name);
    check(options.trainable.count(name), "MODEL.NEW_CLASSIFIER: '", printable(name),
          "' is a weight of the last layer, but stays constant: ",
          choice ? choice->reason() : "no initializer of the file");
  }
}

// Tells once that predictions draw random numbers.
void tell_of_draws(const Graph& graph, const std::string& path) {
  static std::set<std::string> told;
  const std::vector<std::string> nodes = drawing_nodes(graph);
  if (nodes.empty() || !told.insert(path).second) return;
  std::cerr << "note: " << path << ": the network draws random numbers in prediction, too, the "
            << "same in each prediction; " << count_of(std::ssize(nodes), "node: ", "nodes: ")
            << first_listed(nodes, 5) << "\n";
}

// The network of MODEL.ONNX.
struct BroughtModel {
  ModelFn model;
  InitializerKinds kinds;
  std::vector<std::string> notes;
};

BroughtModel brought_model(const ClassificationConfig& config) {
  LoadedModel network = load_network(config.onnx);
  const Preparation preparation = image_of(config);
  const TensorType images =
      data_type(network.model.inference, config.onnx, preparation, config.bytes);
  const std::string data = network.model.inference.name(network.model.inference.inputs()[0]);
  auto file = specialised(std::move(network), {{data, images}});
  const Graph& graph = file->model.inference;
  const std::string scores = scores_of(graph, config.onnx);
  tell_of_draws(graph, config.onnx);
  ImportedOptions options;
  options.train_batch_norm = config.trained.batch_norms;
  if (config.bytes && images.dtype == DType::float32)
    options.bytes[data] = byte_scale_of(preparation);
  const auto choose = config.new_classifier ? choose_initializers : choose_some_initializers;
  const InitializerChoices choices =
      choose(*file, scores,
             {config.step.options.frozen, config.trained.train, config.trained.batch_norms});
  options.trainable = choices.trained();
  if (config.new_classifier) {
    renew_classifier(find_classifier(*file, scores), *file, config.classes, choices, options);
  } else {
    const Dim& classes = graph.shape(graph.at(scores))[1];
    check(!classes.known() || classes.size() == config.classes, config.onnx, ": has ",
          classes.size(), " classes, but MODEL.NUM_CLASSES is ", config.classes,
          "; MODEL.NEW_CLASSIFIER true makes a new last layer");
  }
  return {[file, scores, options](Net& net) {
            classify(net, add_imported(net, *file, options)(scores));
          },
          file->kinds, notes_on(*file, choices)};
}

}  // namespace

ByteScale byte_scale_of(const Preparation& preparation) {
  ByteScale bytes;
  for (int64_t channel = 0; channel < preparation.channels; ++channel) {
    bytes.scale.push_back(preparation.scale(channel));
    bytes.shift.push_back(preparation.shift(channel));
  }
  return bytes;
}

ClassifierOptions published_for_bytes(const std::string& model) {
  ClassifierOptions options = published_options(model);
  const bool grey = options.image.channels == 1;
  options.bytes = byte_scale_of(preparation_of({.name = grey ? "digits" : "image_folder"}));
  return options;
}

namespace {

Augmentation augmentation_of(const ClassificationConfig& config) {
  Augmentation augmentation;
  if (const std::vector<int64_t>& changes = config.rand_augment; changes.size() == 2)
    augmentation.rand_augment = {changes[0], changes[1]};
  if (const std::vector<double>& by = config.colour_jitter; by.size() == 4)
    augmentation.jitter = {by[0], by[1], by[2], by[3]};
  return augmentation;
}

}  // namespace

DatasetOptions dataset_of(const ClassificationConfig& config, bool held_out) {
  return {.name = config.dataset,
          .root = config.data_root,
          .size = held_out ? config.test_size : config.train_size,
          .seed = static_cast<uint64_t>(config.seed),
          .held_out = held_out,
          .classes = config.classes,
          .image_size = config.image_size,
          .resize = config.resize,
          .scale = {config.crop_scale[0], config.crop_scale[1]},
          .flip = config.flip,
          .augmentation = augmentation_of(config)};
}

int reading_threads(const ClassificationConfig& config) {
  return config.data_threads > 0 ? static_cast<int>(config.data_threads) : cpu_cores();
}

BatchShares shares_of(const ClassificationConfig& config, int64_t replicas) {
  return {config.batch_size, replicas, config.step.options.micro_batches};
}

// A network of MODEL.ONNX has its own strides and blocks.
WeightsOptions weights_to_start_from(const ClassificationConfig& config) {
  WeightsOptions options{config.weights, config.new_classifier, config.classes};
  constexpr const char* kStride = "RESNETS.STRIDE_1X1";
  if (config.onnx.empty())
    options.keys.push_back(
        {kStride, config.stride_in_1x1 ? "true" : "false", join(config.path, ": ", kStride)});
  options.whole_body = config.onnx.empty();
  return options;
}

std::string name_of_pictures(const ClassificationConfig& config) {
  if (config.onnx.empty()) return "data";
  const Graph graph = load_network(config.onnx).model.inference;
  check(graph.inputs().size() == 1, config.onnx, ": has ", graph.inputs().size(),
        " inputs; fine-tuning needs a network with one, the images");
  return graph.name(graph.inputs()[0]);
}

TrainingModel build_configured_model(const ClassificationConfig& config, int processes,
                                     std::vector<std::string>* notes,
                                     const ResidentInputs& resident) {
  DataParallelOptions options = options_of(config.step, config.run, processes);
  options.resident = resident;
  options.weighted = !shares_of(config, options.replicas).equal();
  options.share = config.batch_size / options.replicas;
  const Optimizer optimizer = optimizer_of(config.optimizer, config.schedule.scale_momentum);
  const SoftLabels soft{.smoothing = static_cast<float>(config.label_smoothing),
                        .mixed = config.mixup > 0};
  if (config.onnx.empty())
    return build_data_parallel_model(all_ops(), with_soft_labels(named_model(config), soft),
                                     optimizer, options);
  options.frozen.clear();  // frozen initializers are not parameters
  const BroughtModel brought = brought_model(config);
  if (notes) *notes = brought.notes;
  TrainingModel model = build_data_parallel_model(all_ops(), with_soft_labels(brought.model, soft),
                                                  optimizer, options);
  write_kinds(brought.kinds, model.metadata);
  return model;
}

}  // namespace lockstep
