// SPDX-License-Identifier: Apache-2.0
#include "lockstep/models.h"

#include "builders/net/bytes.h"
#include "graph/nearest.h"
#include "models/image_input.h"

namespace lockstep {
namespace {

constexpr ImageShape kDigit{1, 28, 28}, kImageNet{3, 224, 224};

struct Entry {
  const char* name;
  ModelFn (*make)(const ClassifierOptions&);
  ImageShape image;
  int64_t classes;
};

constexpr Entry kModels[] = {
    {"lenet", lenet, kDigit, 10},
    {"mlp", mlp, kDigit, 10},
    {"resnet18", resnet18, kImageNet, 1000},
    {"resnet34", resnet34, kImageNet, 1000},
    {"resnet50", resnet50, kImageNet, 1000},
    {"resnet101", resnet101, kImageNet, 1000},
    {"resnet152", resnet152, kImageNet, 1000},
    {"resnext50_32x4d", resnext50_32x4d, kImageNet, 1000},
    {"resnet50_keras", resnet50_keras, kImageNet, 1000},
    {"vgg16", vgg16, kImageNet, 1000},
    {"mobilenet_v2", mobilenet_v2, kImageNet, 1000},
};

const Entry& entry_named(const std::string& name) {
  for (const Entry& entry : kModels)
    if (name == entry.name) return entry;
  std::string known;
  for (const std::string& one : model_names()) known += " " + one;
  std::string near = nearest(name, model_names());
  fail("there is no model '", name, "'",
       near.empty() ? "; known:" : "; did you mean '" + near + "'? Known:", known);
}

}  // namespace

Value image_input(Net& net, const ClassifierOptions& options, const Where& where) {
  const ImageShape& image = options.image;
  const Shape shape{"N", image.channels, image.height, image.width};
  if (options.bytes) return byte_input(net, "data", shape, *options.bytes, where);
  return net.input("data", {DType::float32, shape}, where);
}

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const Entry& entry : kModels) names.emplace_back(entry.name);
  return names;
}

ModelFn model_named(const std::string& name, const ClassifierOptions& options) {
  return entry_named(name).make(options);
}

ClassifierOptions published_options(const std::string& name) {
  const Entry& entry = entry_named(name);
  ClassifierOptions options;
  options.image = entry.image;
  options.classes = entry.classes;
  return options;
}

}  // namespace lockstep
