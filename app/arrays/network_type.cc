// SPDX-License-Identifier: Apache-2.0
#include "app/arrays/network_type.h"

#include "app/arrays/example_source.h"
#include "app/onnx/network_file.h"
#include "graph/listed.h"
#include "lockstep/error.h"
#include "models/unet.h"

namespace lockstep {
namespace {

void check_file(const ArraysConfig& config) {
  check(!config.onnx.empty(), Key{"MODEL.ONNX"}, " names no network to train");
}

std::string title_of_file(const ArraysConfig& config) { return config.onnx; }

LoadedModel load_file(const ArraysConfig& config) { return load_network(config.onnx); }

void check_unet(const ArraysConfig& config) {
  const ExampleSource* source = find_example_source(config.dataset);
  check(source && source->has_pictures, Key{"MODEL.TYPE"}, " unet reads pictures of one size, but ",
        Key{"DATA.NAME"}, " is ", config.dataset,
        "; set DATA.NAME image_masks or drawn_shapes, or give the network as MODEL.ONNX");
  check(config.classes > 1, Key{"MODEL.NUM_CLASSES"}, " is ", config.classes,
        "; unet needs the number of classes, two or more");
  const int64_t divisor = int64_t{1} << config.depth;
  check(config.image_size % divisor == 0, Key{"DATA.IMAGE_SIZE"}, " ", config.image_size,
        " cannot be halved ", config.depth, " times (", Key{"MODEL.DEPTH"},
        "); choose a multiple of ", divisor);
}

std::string title_of_unet(const ArraysConfig&) { return "unet"; }

LoadedModel load_unet(const ArraysConfig& config) {
  return unet({.side = config.image_size,
               .classes = config.classes,
               .width = config.width,
               .depth = config.depth,
               .seed = static_cast<uint64_t>(config.seed)});
}

}  // namespace

const std::vector<NetworkType>& network_types() {
  static const std::vector<NetworkType> types{
      {kArrays, "the network of MODEL.ONNX", {"MODEL.ONNX"}, check_file, title_of_file, load_file},
      {"unet",
       "U-Net, which takes `image` and gives `scores`, a score of each class for each pixel",
       {"MODEL.NUM_CLASSES", "MODEL.WIDTH", "MODEL.DEPTH"},
       check_unet,
       title_of_unet,
       load_unet}};
  return types;
}

std::vector<std::string> network_type_names() { return names_of_rows(network_types()); }

const NetworkType* find_network_type(const std::string& name) {
  return row_named(network_types(), name);
}

const NetworkType& network_type(const ArraysConfig& config) {
  const NetworkType* type = find_network_type(config.model);
  check(type != nullptr, "internal: MODEL.TYPE '", config.model, "' was not checked");
  return *type;
}

}  // namespace lockstep
