// SPDX-License-Identifier: Apache-2.0
#include <onnx/onnx_pb.h>

#include <sstream>

#include "app/classification/trained_classifier.h"
#include "lockstep/data_parallel.h"
#include "lockstep/models.h"
#include "lockstep/operators.h"
#include "lockstep/optimizers.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/model_use.h"
#include "tests/fuzz/readers.h"

namespace lockstep::fuzz {
namespace {

onnx::ModelProto proto_of(const TrainingModel& model) {
  onnx::ModelProto proto;
  proto.ParseFromString(written([&](const std::string& path) { save_model(model, path); }));
  return proto;
}

// Replaces `\` and `n` by a line feed within a value.
std::string unescaped(std::string text) {
  for (std::size_t at = 0; (at = text.find("\\n", at)) != text.npos; ++at)
    text.replace(at, 2, "\n");
  return text;
}

std::string with_metadata(onnx::ModelProto proto, const std::string& text) {
  proto.clear_metadata_props();
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    const auto space = line.find(' ');
    auto* entry = proto.add_metadata_props();
    entry->set_key(line.substr(0, space));
    entry->set_value(space == line.npos ? "" : unescaped(line.substr(space + 1)));
  }
  return proto.SerializeAsString();
}

std::string metadata_of(const onnx::ModelProto& proto) {
  std::string text;
  for (const auto& entry : proto.metadata_props()) {
    std::string value = entry.value();
    for (std::size_t at = 0; (at = value.find('\n', at)) != value.npos; ++at)
      value.replace(at, 1, "\\n");
    text += entry.key() + " " + value + "\n";
  }
  return text;
}

// A classifier of pictures of 2 x 2 with one layer. Only the rest of the file matters.
TrainingModel small_model(int replicas) {
  return build_data_parallel_model(all_ops(), mlp({.image = {1, 2, 2}, .classes = 2, .hidden = {}}),
                                   MomentumSgd{}, {.replicas = replicas, .scope = "cpu"});
}

const onnx::ModelProto& step() {
  static const onnx::ModelProto proto = proto_of(small_model(2));
  return proto;
}

// The model that `lockstep export` writes.
const onnx::ModelProto& classifier() {
  static const onnx::ModelProto proto = [] {
    TrainingModel model = small_model(1);
    model.metadata = {
        {"picture",
         R"({"channels":1,"height":2,"width":2,"resize":3,"mean":[0.5],"deviation":[0.25]})"},
        {"classes", R"(["a","b"])"}};
    const StateValues values{{"pred_w", Literal(DType::float32, {2, 4})},
                             {"pred_b", Literal(DType::float32, {2})}};
    onnx::ModelProto trained;
    trained.ParseFromString(written([&](const std::string& path) {
      save_trained(model, values, R"({"iterations":1})", path);
    }));
    return trained;
  }();
  return proto;
}

}  // namespace

void read_metadata(const std::string& text) {
  accepts([&] {
    const MemoryFile file(with_metadata(step(), text));
    const SourcedModel loaded = with_two_rows(load_model(all_ops(), file.path()));
    accepts([&] { print_and_verify(loaded); });
    accepts([&] { plan_and_run(loaded.model); });
  });
  const MemoryFile file(with_metadata(classifier(), text));
  classifier_of(load_model(all_ops(), file.path()).model, file.path());
}

Seeds metadata_seeds() {
  return {metadata_of(step()), metadata_of(classifier()), metadata_of(proto_of(small_model(1)))};
}

}  // namespace lockstep::fuzz
