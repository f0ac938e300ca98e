// SPDX-License-Identifier: Apache-2.0
// Model files that are written and files that are refused. These sources use protobuf to build
// broken models.
#include "lockstep/model_files.h"

#include <gtest/gtest.h>

#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>

#include "graph/export.h"
#include "graph/file.h"
#include "graph/onnx.h"
#include "graph/print.h"
#include "graph/schema.h"
#include "graph/verify.h"
#include "lockstep/operators.h"
#include "lockstep/random.h"
#include "tests/support/expect_error.h"
#include "tests/support/step_feeds.h"
#include "tests/support/temporary_folder.h"

namespace lockstep::testing {
namespace {

onnx::ModelProto read_proto(const std::string& path) {
  onnx::ModelProto proto;
  EXPECT_TRUE(proto.ParseFromString(read_file(path)));
  return proto;
}

// Writes y = Relu(x) to a file after `change`.
std::string write_relu(const TemporaryFolder& folder, void (*change)(onnx::ModelProto&)) {
  onnx::ModelProto proto;
  proto.set_ir_version(kIrVersion);
  proto.add_opset_import()->set_version(kOpset);
  auto* graph = proto.mutable_graph();
  graph->set_name("g");
  auto* input = graph->add_input();
  input->set_name("x");
  to_proto(TensorType{DType::float32, {2, 3}}, *input->mutable_type());
  auto* node = graph->add_node();
  node->set_op_type("Relu");
  node->set_name("act");
  node->add_input("x");
  node->add_output("y");
  auto* output = graph->add_output();
  *output = *input;
  output->set_name("y");
  change(proto);
  std::string path = folder / "model.onnx";
  write_file(path, proto.SerializeAsString());
  return path;
}

TEST(ModelFile, KeepsEverything) {
  TemporaryFolder folder;
  TrainingModel model = small_mlp(2);
  save_model(model, folder / "step.onnx");
  LoadedModel loaded = load_model(all_ops(), folder / "step.onnx");
  EXPECT_EQ(text_of(loaded.model, {.where = true}), text_of(model, {.where = true}));
  EXPECT_EQ(loaded.model.all_reduce, "collective");
  EXPECT_EQ(loaded.model.wire, "");
  EXPECT_FALSE(loaded.initialised);
  verify(loaded.model);
}

std::vector<std::string> inputs_of(const TrainingModel& model) {
  std::vector<std::string> texts;
  for (const StepInput& input : model.inputs)
    texts.push_back(join(input.name, ": ", input.feed(), " ", name_of(input.role), " ", input.part,
                         " ", input.values.at(1)));
  return texts;
}

TEST(ModelFile, SaysWhatEachInputIsFor) {
  const TrainingModel model =
      small_mlp(2, MomentumSgd{.correct_momentum = true}, {.weighted = true, .micro_batches = 3});
  const std::vector<std::string> expected = inputs_of(model);
  EXPECT_EQ(expected[2], "loss_weight: loss_weight weight 0 cpu_1/loss_weight");
  EXPECT_EQ(expected[7], "micro_2/label: label data 2 cpu_1/micro_2/label");
  EXPECT_EQ(expected[9], "lr: lr rate 0 cpu_1/lr");
  EXPECT_EQ(expected[10],
            "momentum_correction: momentum_correction correction 0 "
            "cpu_1/momentum_correction");
  TemporaryFolder folder;
  save_model(model, folder / "step.onnx");
  EXPECT_EQ(inputs_of(load_model(all_ops(), folder / "step.onnx").model), expected);

  // Older files have names without roles.
  const onnx::ModelProto with_roles = read_proto(folder / "step.onnx");
  onnx::ModelProto proto = with_roles;
  std::size_t next = 0;
  for (auto& entry : *proto.mutable_metadata_props())
    if (entry.key().starts_with("lockstep.input."))
      entry.set_key("lockstep.input." + model.inputs.at(next++).name);
  write_file(folder / "old.onnx", proto.SerializeAsString());
  EXPECT_EQ(inputs_of(load_model(all_ops(), folder / "old.onnx").model), expected);
  for (auto& entry : *proto.mutable_metadata_props())  // a name that looks like a role and a part
    if (entry.key() == "lockstep.input.data") entry.set_key("lockstep.input.layer.0.x");
  write_file(folder / "dots.onnx", proto.SerializeAsString());
  EXPECT_TRUE(inputs_of(load_model(all_ops(), folder / "dots.onnx").model)[0].starts_with(
      "layer.0.x: layer.0.x data 0 "));

  for (auto [key, why] :
       {std::pair{"lockstep.input.colour.0.lr", "unknown role of a step's input 'colour'"},
        {"lockstep.input.rate.2000000000.lr", "input 'lr' is of part 2000000000"}}) {
    onnx::ModelProto bad = with_roles;
    for (auto& entry : *bad.mutable_metadata_props())
      if (entry.key() == "lockstep.input.rate.0.lr") entry.set_key(key);
    write_file(folder / "bad.onnx", bad.SerializeAsString());
    expect_error([&] { load_model(all_ops(), folder / "bad.onnx"); }, "bad.onnx", why);
  }
}

// Those versions had a single optimiser, and its slot was a kind of state.
TEST(ModelFile, OfBeforeThereWereSlotsLoads) {
  TemporaryFolder folder;
  const TrainingModel model = small_mlp(2);
  save_model(model, folder / "step.onnx");
  onnx::ModelProto proto = read_proto(folder / "step.onnx");
  int renamed = 0;
  const std::string now = "lockstep.state.slot.", then = "lockstep.state.momentum.";
  for (auto& entry : *proto.mutable_metadata_props())
    if (entry.key().starts_with(now) && ++renamed)
      entry.set_key(then + entry.key().substr(now.size()));
  EXPECT_EQ(renamed, 6);
  write_file(folder / "old.onnx", proto.SerializeAsString());
  const LoadedModel old = load_model(all_ops(), folder / "old.onnx");
  EXPECT_EQ(text_of(old.model), text_of(model));
  verify(old.model);
}

TEST(ModelFile, KeepsTheValuesOfTheState) {
  TemporaryFolder folder;
  TrainingModel model = small_mlp(2);
  StateValues values = train(model, 8, 2, {1, 6, 6});
  for (std::size_t limit : {std::size_t{0}, std::size_t{1} << 30}) {
    save_model(model, folder / "step.onnx", {&values, limit});
    LoadedModel loaded = load_model(all_ops(), folder / "step.onnx");
    EXPECT_TRUE(loaded.initialised);
    EXPECT_TRUE(loaded.values == values) << "inline limit " << limit;
  }
}

// Equal replicas are stored once. Initializers must contain data.
TEST(ModelFile, StoresEqualStateOnce) {
  TemporaryFolder folder;
  auto data_size = [&](int replicas) {
    TrainingModel model = small_mlp(replicas);
    StateValues values = train(model, 8, 1, {1, 6, 6});
    save_model(model, folder / "step.onnx", {&values, 0});
    return std::filesystem::file_size(folder / "step.onnx.data");
  };
  EXPECT_EQ(data_size(1), data_size(4));
}

TEST(ModelFile, PinsVersionsAndFollowsTheTrainingInfoText) {
  TemporaryFolder folder;
  TrainingModel model = small_mlp(2);
  save_model(model, folder / "step.onnx");
  onnx::ModelProto proto = read_proto(folder / "step.onnx");
  EXPECT_EQ(proto.ir_version(), 8);
  EXPECT_EQ(proto.opset_import(0).version(), 17);
  ASSERT_EQ(proto.training_info_size(), 1);
  const auto& info = proto.training_info(0);
  EXPECT_EQ(info.update_binding_size(), static_cast<int>(model.updates.size()));
  EXPECT_EQ(info.initialization_binding_size(), static_cast<int>(model.initial.size()));
  // Each key is an initializer of the inference graph or of the algorithm, exactly once.
  std::map<std::string, int> initializers;
  for (const auto& tensor : proto.graph().initializer()) ++initializers[tensor.name()];
  for (const auto& tensor : info.algorithm().initializer()) ++initializers[tensor.name()];
  for (const auto& binding : info.update_binding()) EXPECT_EQ(initializers[binding.key()], 1);
  EXPECT_EQ(initializers["cpu_0/fc1_w"], 1);
  EXPECT_EQ(initializers["cpu_1/fc1_w"], 1);
  verify(proto);
}

// ONNX's checker skips training_info; Lockstep's checker does not.
TEST(Verify, LooksIntoTheTrainingInfo) {
  TrainingModel model = small_mlp(2);
  const onnx::ModelProto good = to_onnx(model);
  verify(good);
  auto broken = [&](auto change) {
    onnx::ModelProto proto = good;
    change(*proto.mutable_training_info(0));
    return [proto] { verify(proto); };
  };
  expect_error(broken([](auto& info) { info.mutable_update_binding(0)->set_key("nothing"); }),
               "'nothing' is not an initializer");
  expect_error(broken([](auto& info) { info.mutable_update_binding(0)->set_value("nothing"); }),
               "takes 'nothing', which does not exist");
  expect_error(broken([](auto& info) { *info.add_update_binding() = info.update_binding(0); }),
               "is bound twice");
  expect_error(broken([](auto& info) {
                 info.mutable_update_binding(0)->set_value(info.update_binding(2).value());
                 info.mutable_update_binding(0)->set_value("cpu_0/fc1_w_new");
               }),
               "but takes 'cpu_0/fc1_w_new'");
  expect_error(broken([](auto& info) {
                 info.mutable_algorithm()->mutable_node(0)->set_op_type("NoSuchOperator");
               }),
               "NoSuchOperator");
  expect_error(broken([](auto& info) {
                 info.mutable_algorithm()->mutable_node(3)->set_input(0, "nothing");
               }),
               "nothing");
}

// libonnx 1.12 crashes on a later lookup of an operator with an unknown domain.
TEST(Schemas, EveryOperatorOfOursIsKnownToOnnx) {
  register_schemas(all_ops().ops());  // a second registration has no effect
  for (const Op& op : all_ops().ops()) EXPECT_NE(schema_of(op.domain, op.type), nullptr) << op.type;
  Op foreign{.type = "Relu", .domain = "", .signature = Signature{"", {{"x"}}, {{"y"}}}};
  expect_error([&] { register_schemas({foreign}); }, "Relu", "only operators of ai.lockstep");
}

TEST(LoadModel, RefusesWhatIsNoModel) {
  TemporaryFolder folder;
  TrainingModel model = small_mlp(1);
  save_model(model, folder / "step.onnx");
  std::string text = read_file(folder / "step.onnx");
  auto load = [&](const std::string& content) {
    write_file(folder / "bad.onnx", content);
    return [&folder] { load_model(all_ops(), folder / "bad.onnx"); };
  };
  expect_error(load(""), "bad.onnx", "not an ONNX model");
  expect_error(load("this is no protobuf at all, only text"), "bad.onnx", "not an ONNX model");
  for (std::size_t part = 1; part < 8; ++part)
    expect_error(load(text.substr(0, text.size() * part / 8)), "bad.onnx");
  expect_error([] { load_model(all_ops(), "/does/not/exist.onnx"); }, "/does/not/exist.onnx");
}

// Any bytes give a model or an Error.
TEST(LoadModel, SurvivesDamage) {
  TemporaryFolder folder;
  save_model(small_mlp(2), folder / "step.onnx");
  const std::string good = read_file(folder / "step.onnx");
  PhiloxSequence random(11, 1);
  int refused = 0;
  for (int round = 0; round < 300; ++round) {
    std::string bad = good;
    for (int64_t i = 0; i <= round % 7; ++i)
      bad[random.below(static_cast<int64_t>(bad.size()))] = static_cast<char>(random.below(256));
    write_file(folder / "bad.onnx", bad);
    try {
      load_model(all_ops(), folder / "bad.onnx");
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("bad.onnx"), std::string::npos) << error.what();
      ++refused;
    }
  }
  EXPECT_GT(refused, 50);
}

TEST(LoadModel, NeedsAsMuchDataAsAShapeSays) {
  TemporaryFolder folder;
  std::string path = write_relu(folder, [](onnx::ModelProto& proto) {
    auto* tensor = proto.mutable_graph()->add_initializer();
    tensor->set_name("w");
    tensor->set_data_type(onnx::TensorProto::FLOAT);
    tensor->add_dims(int64_t{1} << 40);
    tensor->set_raw_data("four");
  });
  expect_error([&] { load_model(all_ops(), path); }, "w", "has 4 bytes of data");
}

TEST(LoadModel, ListsAllUnknownOperatorsAtOnce) {
  TemporaryFolder folder;
  std::string path = write_relu(folder, [](onnx::ModelProto& proto) {
    for (const char* type : {"TfIdfVectorizer", "StringNormalizer", "TfIdfVectorizer"}) {
      auto* node = proto.mutable_graph()->add_node();
      node->set_op_type(type);
      node->set_name(join(type, proto.graph().node_size()));
      node->add_output(node->name());
    }
  });
  expect_error([&] { load_model(all_ops(), path); }, "model.onnx",
               "TfIdfVectorizer (2 nodes: TfIdfVectorizer2, TfIdfVectorizer4)",
               "StringNormalizer (1 node: StringNormalizer3)");
}

TEST(LoadModel, NamesACycle) {
  TemporaryFolder folder;
  std::string path = write_relu(folder, [](onnx::ModelProto& proto) {
    auto* node = proto.mutable_graph()->add_node();
    node->set_op_type("Relu");
    node->add_input("y");
    node->add_output("z");
    proto.mutable_graph()->mutable_node(0)->set_input(0, "z");
  });
  expect_error([&] { load_model(all_ops(), path); }, "model.onnx", "cycle", "y", "z");
}

TEST(LoadModel, SortsNodesThatComeInAnyOrder) {
  TemporaryFolder folder;
  std::string path = write_relu(folder, [](onnx::ModelProto& proto) {
    auto* node = proto.mutable_graph()->add_node();
    node->set_op_type("Sigmoid");
    node->add_input("x");
    node->add_output("first");
    proto.mutable_graph()->mutable_node(0)->set_input(0, "first");
  });
  LoadedModel loaded = load_model(all_ops(), path);
  EXPECT_EQ(loaded.model.inference.node(0).type(), "Sigmoid");
}

TEST(LoadModel, NamesWrongShapesMissingValuesAndDoubleNames) {
  TemporaryFolder folder;
  std::string path = write_relu(folder, [](onnx::ModelProto& proto) {
    proto.mutable_graph()->mutable_node(0)->set_input(0, "nothing");
  });
  expect_error([&] { load_model(all_ops(), path); }, "act", "Relu",
               "'nothing', which no node or input produces");
  path = write_relu(folder, [](onnx::ModelProto& proto) {
    auto* node = proto.mutable_graph()->mutable_node(0);
    node->set_op_type("MatMul");
    node->add_input("x");
  });
  expect_error([&] { load_model(all_ops(), path); }, "act (MatMul", "float32[2,3]");
  path = write_relu(folder, [](onnx::ModelProto& proto) {
    *proto.mutable_graph()->add_node() = proto.graph().node(0);
  });
  expect_error([&] { load_model(all_ops(), path); }, "produce the value 'y'");
}

TEST(LoadModel, StaysInsideTheModelsFolder) {
  TemporaryFolder folder;
  std::string path = write_relu(folder, [](onnx::ModelProto& proto) {
    auto* tensor = proto.mutable_graph()->add_initializer();
    tensor->set_name("w");
    tensor->set_data_type(onnx::TensorProto::FLOAT);
    tensor->add_dims(1);
    tensor->set_data_location(onnx::TensorProto::EXTERNAL);
    auto* entry = tensor->add_external_data();
    entry->set_key("location");
    entry->set_value("../secret");
  });
  expect_error([&] { load_model(all_ops(), path); }, "w", "is outside the model's folder");
}

TEST(LoadModel, ConvertsOlderOpsetsAndRefusesNewerOnes) {
  TemporaryFolder folder;
  std::string path = write_relu(folder, [](onnx::ModelProto& proto) {
    proto.mutable_opset_import(0)->set_version(9);
    auto* node = proto.mutable_graph()->mutable_node(0);
    node->set_op_type("Squeeze");  // its axes were an attribute in that opset
    auto* axes = node->add_attribute();
    axes->set_name("axes");
    axes->set_type(onnx::AttributeProto::INTS);
    axes->add_ints(0);
    for (auto* info :
         {proto.mutable_graph()->mutable_input(0), proto.mutable_graph()->mutable_output(0)})
      info->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(0)->set_dim_value(
          1);
    proto.mutable_graph()
        ->mutable_output(0)
        ->mutable_type()
        ->mutable_tensor_type()
        ->mutable_shape()
        ->mutable_dim()
        ->DeleteSubrange(0, 1);
  });
  LoadedModel loaded = load_model(all_ops(), path);
  const Graph& graph = loaded.model.inference;
  EXPECT_EQ(text_of(graph.type(graph.outputs()[0])), "float32[3]");
  path = write_relu(
      folder, [](onnx::ModelProto& proto) { proto.mutable_opset_import(0)->set_version(99); });
  expect_error([&] { load_model(all_ops(), path); }, "opset 99 is newer than 28");
}

}  // namespace
}  // namespace lockstep::testing
