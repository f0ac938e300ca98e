// SPDX-License-Identifier: Apache-2.0
// Weights files of every kind against the body of a small detector.
#include "app/weights/match.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>

#include "app/detection/config/detector_config.h"
#include "app/detection/network.h"
#include "app/detection/weights.h"
#include "graph/file.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_folder.h"
#include "tests/weights/published.h"

namespace lockstep::testing {
namespace {

constexpr const char* kBottlenecks =
    R"(MODEL: {TYPE: generalized_rcnn, CONV_BODY: ResNet.add_ResNet50_conv4_body, NUM_CLASSES: 5, FASTER_RCNN: true}
RESNETS: {STEM_OUT_CHANNELS: 8, RES2_OUT_CHANNELS: 16, WIDTH_PER_GROUP: 4, STRIDE_1X1: false}
FAST_RCNN: {ROI_BOX_HEAD: ResNet.add_ResNet_roi_conv5_head}
GROUP_NORM: {NUM_GROUPS: 4}
IMAGE: 64x64
TRAIN: {IMS_PER_BATCH: 1}
)";

class WeightsMatchTest : public ::testing::Test {
 protected:
  DetectorConfig config(const std::vector<std::string>& words = {}) {
    write_file(folder / "x.yaml", kBottlenecks);
    return read_detector_config(config_files(folder / "x.yaml"), words);
  }
  static std::vector<WeightSlot> slots_of(const DetectorConfig& config) {
    return weight_slots(detector_step(config, {64, 64}));
  }
  // `config` has the source's PIXEL_MEANS, as TRAIN.WEIGHTS gives them.
  MatchedWeights matched(const StateValues& values, const std::vector<std::string>& words = {},
                         const std::map<std::string, std::string>& metadata = {}) {
    write_weights(folder / "w.safetensors", values, metadata);
    std::vector<std::string> all{"TRAIN.WEIGHTS", folder / "w.safetensors", "TRAIN.FREEZE_RANDOM",
                                 "true"};
    all.insert(all.end(), words.begin(), words.end());
    const DetectorConfig read = config(all);
    return matched_weights(slots_of(read), read_safetensors(folder / "w.safetensors"),
                           weights_to_start_from(read));
  }
  template <class... Parts>
  void refused(const StateValues& values, const std::vector<std::string>& words,
               const Parts&... parts) {
    expect_error([&] { matched(values, words); }, parts...);
  }
  static std::string text_of_summary(const MatchedWeights& found) {
    std::string text;
    for (const std::string& line : found.summary) text += line + "\n";
    return text;
  }
  StateValues torchvisions() { return pytorch_weights(slots_of(config())); }

  TemporaryFolder folder;
};

float at(const Literal& literal, std::size_t place) { return literal.values<float>()[place]; }

TEST_F(WeightsMatchTest, TorchvisionsResNetIsFoldedIntoTheBody) {
  const StateValues theirs = torchvisions();
  const MatchedWeights found = matched(theirs);
  EXPECT_TRUE(found.unused.empty()) << found.unused[0];
  const Literal& stem = found.values.at("conv1_w");
  const Literal& stem_there = theirs.at("conv1.weight");
  EXPECT_FLOAT_EQ(at(stem, 0), at(stem_there, 2 * 49) / (255 * 0.225F)) << "blue first";
  EXPECT_FLOAT_EQ(at(stem, 2 * 49 + 3), at(stem_there, 3) / (255 * 0.229F));
  EXPECT_EQ(found.values.at("res4_5_branch2b_w"), theirs.at("layer3.5.conv2.weight"));
  EXPECT_EQ(found.values.at("res5_0_branch1_w"), theirs.at("layer4.0.downsample.0.weight"));
  const double scale = at(theirs.at("layer1.0.bn3.weight"), 1) /
                       std::sqrt(at(theirs.at("layer1.0.bn3.running_var"), 1) + 1e-5);
  EXPECT_FLOAT_EQ(at(found.values.at("res2_0_branch2c_bn_s"), 1), static_cast<float>(scale));
  EXPECT_FLOAT_EQ(at(found.values.at("res2_0_branch2c_bn_b"), 1),
                  static_cast<float>(at(theirs.at("layer1.0.bn3.bias"), 1) -
                                     at(theirs.at("layer1.0.bn3.running_mean"), 1) * scale));
  for (const WeightLine& line : found.lines)
    EXPECT_EQ(line.fate == WeightFate::matched,
              line.name.starts_with("res") || line.name.starts_with("conv1_"))
        << line.name;
  EXPECT_NE(text_of_summary(found).find("torchvision"), std::string::npos);
  EXPECT_NE(text_of_summary(found).find("10 not in the file, with initial values: conv_rpn_w"),
            std::string::npos)
      << text_of_summary(found);
}

TEST_F(WeightsMatchTest, HuggingFacesAndParallelNamesAreTheSameNetwork) {
  const StateValues theirs = torchvisions();
  StateValues parallel, hugging;
  for (const auto& [name, value] : theirs) {
    parallel.emplace("module." + name, value);
    std::string other =
        std::regex_replace(name, std::regex(R"(^conv1\.)"), "embedder.embedder.convolution.");
    other = std::regex_replace(other, std::regex(R"(^bn1\.)"), "embedder.embedder.normalization.");
    std::smatch match;
    if (std::regex_match(other, match,
                         std::regex(R"(layer(\d)\.(\d+)\.(conv|bn|downsample\.)(\d)\.(\w+))"))) {
      const int stage = std::stoi(match[1]) - 1, number = std::stoi(match[4]);
      const bool is_shortcut = match[3] == "downsample.";
      const bool is_norm = match[3] == "bn" || (is_shortcut && number == 1);
      other = "encoder.stages." + std::to_string(stage) + ".layers." + match[2].str() +
              (is_shortcut ? ".shortcut" : ".layer." + std::to_string(number - 1)) +
              (is_norm ? ".normalization." : ".convolution.") + match[5].str();
    }
    hugging.emplace("resnet." + other, value);
  }
  const StateValues expected = matched(theirs).values;
  EXPECT_EQ(matched(parallel).values, expected);
  const MatchedWeights found = matched(hugging);
  EXPECT_EQ(found.values, expected);
  EXPECT_TRUE(found.unused.empty()) << found.unused[0];
  EXPECT_NE(found.source.name.find("Hugging Face"), std::string::npos);
}

TEST_F(WeightsMatchTest, AClassifierOfThisProgramSaysItsPictures) {
  StateValues theirs = torchvisions();
  theirs["layer1.0.conv1.weight_momentum"] = theirs.at("layer1.0.conv1.weight");
  theirs["layer1.0.conv2.weight_ema"] = theirs.at("layer1.0.conv2.weight");
  theirs["layer1.0.conv2.weight"] =
      RandomTensors().uniform(theirs.at("layer1.0.conv2.weight").dims(), 5, 6);
  const std::map<std::string, std::string> metadata{{"format", "lockstep checkpoint 2"},
                                                    {"DATA.NAME", "cifar10"},
                                                    {"RESNETS.STRIDE_1X1", "false"}};
  const MatchedWeights found = matched(theirs, {}, metadata);
  EXPECT_EQ(found.values.at("res2_0_branch2b_w"), theirs.at("layer1.0.conv2.weight_ema"));
  ASSERT_EQ(found.source.pixel_means.size(), 3U);
  EXPECT_NEAR(found.source.pixel_means[2], 125.3, 0.1) << "red of CIFAR-10";
  expect_error(
      [&] {
        matched(theirs, {"RESNETS.STRIDE_1X1", "true"}, metadata);
      },
      "RESNETS.STRIDE_1X1 is true", "a classifier of lockstep train");
  expect_error(
      [&] {
        matched(theirs, {}, {{"format", "lockstep checkpoint 2"}});
      },
      "names no preparation of colour pictures");
}

TEST_F(WeightsMatchTest, TheSourceMustAgreeWithTheConfiguration) {
  const StateValues theirs = torchvisions();
  refused(theirs, {"RESNETS.STRIDE_1X1", "true"}, "command line: RESNETS.STRIDE_1X1 is true",
          "has false", "TRAIN.WEIGHTS_MUST_AGREE");
  refused(theirs, {"PIXEL_MEANS", "[102.9801, 115.9465, 122.7717]"}, "PIXEL_MEANS is [102.9801",
          "123.675");
  refused(theirs, {"RESNETS.TRANS_FUNC", "bottleneck_gn_transformation"}, "RESNETS.TRANS_FUNC",
          "has group norm", "has batch norm there");
  EXPECT_NO_THROW(matched(theirs, {"RESNETS.STRIDE_1X1", "true", "PIXEL_MEANS", "[0, 0, 0]",
                                   "TRAIN.WEIGHTS_MUST_AGREE", "false"}));
  const DetectorConfig read = config({"TRAIN.WEIGHTS", folder / "w.safetensors"});
  EXPECT_NEAR(read.pixel_means[0], 103.53, 1e-3);
  EXPECT_TRUE(std::any_of(read.notes.begin(), read.notes.end(), [](const DetectorNote& note) {
    return note.text.find("the means of TRAIN.WEIGHTS") != std::string::npos;
  }));
}

TEST_F(WeightsMatchTest, DetectronsNamesImplyTheStrideOfTheirBody) {
  const MatchedWeights body = matched(torchvisions());
  StateValues theirs;
  for (const auto& [name, value] : body.values) theirs.emplace(name, value);
  refused(theirs, {}, "RESNETS.STRIDE_1X1 is false", "Detectron's names");
  const MatchedWeights found = matched(theirs, {"RESNETS.STRIDE_1X1", "true"});
  EXPECT_EQ(found.values, theirs);
  EXPECT_TRUE(found.source.pixel_means.empty());
  theirs["res4_0_branch2a_w_momentum"] = theirs.at("res4_0_branch2a_w");
  const MatchedWeights without = matched(theirs, {"RESNETS.STRIDE_1X1", "true"});
  EXPECT_EQ(without.momenta.size(), 1U);
  EXPECT_EQ(without.values.count("res4_0_branch2a_w_momentum"), 0U);
  const MatchedWeights with =
      matched(theirs, {"RESNETS.STRIDE_1X1", "true", "TRAIN.WEIGHTS_MOMENTUM", "true"});
  EXPECT_EQ(with.values.count("res4_0_branch2a_w_momentum"), 1U);
}

TEST_F(WeightsMatchTest, HeadsOfMasksTakeTheTensorsThatTheyShare) {
  RandomTensors random;
  Safetensors file;
  file.tensors.emplace("fcn1_w", random.uniform({2, 2}, 0, 1));
  const std::vector<WeightSlot> slots{
      {"_[mask]_fcn1_w", StateKind::weight, {DType::float32, to_shape({2, 2})}}};
  const MatchedWeights found = matched_weights(slots, file, {.path = "w.safetensors"});
  EXPECT_EQ(found.values.at("_[mask]_fcn1_w"), file.tensors.at("fcn1_w"));
  EXPECT_TRUE(found.unused.empty());
}

TEST_F(WeightsMatchTest, AClassifierTakesHuggingFacesNamesUnchanged) {
  RandomTensors random;
  Safetensors file;
  file.tensors.emplace("resnet.embedder.embedder.convolution.weight",
                       random.uniform({4, 3, 7, 7}, 0, 1));
  file.tensors.emplace("resnet.encoder.stages.2.layers.0.shortcut.normalization.running_var",
                       random.uniform({4}, 0, 1));
  const TensorType stem{DType::float32, to_shape({4, 3, 7, 7})},
      variance{DType::float32, to_shape({4})};
  const std::vector<WeightSlot> slots{
      {"conv1.weight", StateKind::weight, stem},
      {"layer3.0.downsample.1.running_var", StateKind::computed, variance}};
  const MatchedWeights found = matched_weights(slots, file, {.path = "w.safetensors"});
  EXPECT_EQ(found.values.at("conv1.weight"),
            file.tensors.at("resnet.embedder.embedder.convolution.weight"));
  EXPECT_EQ(found.values.size(), 2U);
  EXPECT_TRUE(found.unused.empty());
}

TEST_F(WeightsMatchTest, AnotherArchitectureIsRefused) {
  StateValues theirs = torchvisions();
  StateValues deeper = theirs;
  deeper["layer3.6.conv1.weight"] = theirs.at("layer3.5.conv1.weight");
  refused(deeper, {}, "another architecture", "res4_6_branch2a_w", "MODEL.CONV_BODY");
  StateValues shallower = theirs;
  shallower.erase("layer2.3.conv2.weight");
  refused(shallower, {}, "another architecture", "lacks res3_3_branch2b_w of stage 3");
  StateValues other;
  RandomTensors random;
  for (const char* name : {"e", "d", "c", "b", "a", "f"})
    other.emplace(name, random.uniform({2}, 0, 1));
  refused(other, {}, "the file has a, b, c, d, e and 1 more", "conv1_w");
  StateValues basic = theirs;  // a ResNet-18 has blocks of two convolutions
  std::erase_if(
      basic, [](const auto& tensor) { return tensor.first.find(".conv3.") != std::string::npos; });
  refused(basic, {}, "another architecture", "branch2c_w");
  StateValues squeezed = theirs;  // its plain tensors fit, but their features would be wrong
  for (const char* name : {"layer1.0.se.fc1.weight", "layer1.0.se.fc1.bias"})
    squeezed.emplace(name, RandomTensors().uniform({2}, 0, 1));
  refused(squeezed, {}, "another architecture", "its stages have layer1.0.se.fc1.bias",
          "layer1.0.se.fc1.weight", "TRAIN.WEIGHTS_MUST_AGREE");
  EXPECT_NO_THROW(matched(squeezed, {"TRAIN.WEIGHTS_MUST_AGREE", "false"}));
  StateValues deep_stem = theirs;
  deep_stem["conv1.0.weight"] = theirs.at("conv1.weight");
  refused(deep_stem, {}, "deep stem", "three convolutions");
}

// A classifier of this program has the blocks of a plain ResNet. A network from a file has its own.
TEST_F(WeightsMatchTest, AClassifierTakesNoMoreThanItsBlocks) {
  RandomTensors random;
  const std::vector<WeightSlot> slots{
      {"layer1.0.conv1.weight", StateKind::weight, {DType::float32, to_shape({4, 4, 3, 3})}}};
  const auto matched_with = [&](const std::string& name, const WeightsOptions& options) {
    Safetensors file;
    file.tensors.emplace("layer1.0.conv1.weight", random.uniform({4, 4, 3, 3}, 0, 1));
    file.tensors.emplace(name, random.uniform({4}, 0, 1));
    return matched_weights(slots, file, options);
  };
  const WeightsOptions whole{.path = "w.safetensors", .whole_body = true};
  for (const char* name : {"layer1.0.se.fc1.weight", "module.layer4.2.se.conv.bias",
                           "layer2.0.downsample.2.weight", "layer3.1.bn1.v"}) {
    expect_error([&] { matched_with(name, whole); }, "w.safetensors", "another architecture", name);
    EXPECT_EQ(matched_with(name, {.path = "w.safetensors"}).unused.size(), 1U);
  }
  for (const char* name :
       {"layer1.0.bn2.running_var", "layer4.2.conv3.weight", "layer1.0.conv1.weight_momentum",
        "layer1.0.bn1.running_mean@1", "module.layer2.0.downsample.1.num_batches_tracked", "fc.se"})
    EXPECT_EQ(matched_with(name, whole).values.size(), 1U) << name;
}

// Dilated stages start from undilated ones everywhere. The way back changes features.
TEST_F(WeightsMatchTest, ADilatedStageStartsFromAnUndilatedOne) {
  const StateValues theirs = torchvisions();
  const MatchedWeights found = matched(theirs, {"RESNETS.RES5_DILATION", "2"});
  EXPECT_NE(text_of_summary(found).find("RESNETS.RES5_DILATION is 2, in the file 1"),
            std::string::npos)
      << text_of_summary(found);
  EXPECT_EQ(text_of_summary(matched(theirs)).find("RES5_DILATION"), std::string::npos);
  const std::map<std::string, std::string> dilated{{"format", "lockstep checkpoint 2"},
                                                   {"RESNETS.RES5_DILATION", "2"}};
  expect_error([&] { matched(found.values, {}, dilated); }, "RESNETS.RES5_DILATION is 1", "has 2");
  EXPECT_NO_THROW(matched(found.values, {"RESNETS.RES5_DILATION", "2"}, dilated));
  // A test needs the network as it was trained.
  const std::map<std::string, std::string> plain{{"format", "lockstep checkpoint 2"},
                                                 {"RESNETS.RES5_DILATION", "1"}};
  write_weights(folder / "t.safetensors", found.values, plain);
  const DetectorConfig tested = config({"RESNETS.RES5_DILATION", "2"});
  expect_error(
      [&] {
        matched_weights(slots_of(tested), read_safetensors(folder / "t.safetensors"),
                        trained_weights(tested, folder / "t.safetensors"));
      },
      "RESNETS.RES5_DILATION is 2", "has 1");
}

TEST_F(WeightsMatchTest, BadTensorsAreNamed) {
  const StateValues theirs = torchvisions();
  StateValues bad = theirs;
  const Literal& good = theirs.at("layer1.0.conv1.weight");
  const auto values = good.values<float>();
  bad["layer1.0.conv1.weight"] = Literal::rounded<float>(DType::float16, values, good.dims());
  refused(bad, {}, "types differ", "res2_0_branch2a_w", "float16", "layer1.0.conv1.weight",
          "float32");
  bad["layer1.0.conv2.weight"] = good;
  refused(bad, {}, "shapes differ", "res2_0_branch2a_w", "res2_0_branch2b_w");
  bad = theirs;
  std::vector<float> broken(values.begin(), values.end());
  broken[3] = std::numeric_limits<float>::quiet_NaN();
  bad["layer1.0.conv1.weight"] = Literal::of<float>(broken, good.dims());
  refused(bad, {}, "'layer1.0.conv1.weight' holds nan at [0,3,0,0]");
  bad = theirs;
  bad.erase("layer1.0.bn1.running_mean");
  refused(bad, {}, "no 'layer1.0.bn1.running_mean' to fold");
  bad = theirs;
  for (const auto& [name, value, said] :
       {std::tuple("layer2.0.bn1.running_var", -0.5F,
                   "'layer2.0.bn1.running_var' holds -0.5 at [1]; a variance"),
        std::tuple("bn1.running_mean", -std::numeric_limits<float>::infinity(),
                   "'bn1.running_mean' holds -inf at [1]")}) {
    bad = theirs;
    const auto whole = theirs.at(name).values<float>();
    std::vector<float> damaged(whole.begin(), whole.end());
    damaged[1] = value;
    bad[name] = Literal::of<float>(damaged, theirs.at(name).dims());
    refused(bad, {}, said);
  }
  bad = theirs;
  bad["bn1.running_var"] = RandomTensors().uniform({3}, 1, 2);
  refused(bad, {}, "'bn1.running_var' is float32[3], should be float32[8]");
}

TEST_F(WeightsMatchTest, AVeryLongNameIsOnlyAName) {
  StateValues theirs = torchvisions();
  const std::string name = "resnet.embedder.embedder.normalization." + std::string(200000, 'a');
  theirs.emplace(name, theirs.at("bn1.bias"));
  EXPECT_EQ(matched(theirs).unused, std::vector<std::string>{name});
}

TEST_F(WeightsMatchTest, AFrozenPartMayNotStayRandom) {
  StateValues theirs = torchvisions();
  std::erase_if(theirs, [](const auto& tensor) {
    return tensor.first.starts_with("layer1.") || tensor.first == "conv1.weight";
  });
  refused(theirs, {"TRAIN.FREEZE_RANDOM", "false"}, "another architecture");
  std::erase_if(theirs, [](const auto& tensor) { return tensor.first.starts_with("bn1."); });
  refused(theirs, {"TRAIN.FREEZE_RANDOM", "false"}, "TRAIN.WEIGHTS", "lacks conv1_w",
          "TRAIN.FREEZE_AT", "TRAIN.FREEZE_RANDOM");
  EXPECT_NO_THROW(matched(theirs));
  EXPECT_NO_THROW(matched(theirs, {"TRAIN.FREEZE_AT", "0", "TRAIN.FREEZE_RANDOM", "false"}));
}

TEST_F(WeightsMatchTest, PlacesOfFilesAreExplained) {
  const std::string url = "https://host/detectron/ImageNetPretrained/MSRA/R-50.pkl";
  const std::string cached = folder / "cache/ImageNetPretrained/MSRA/R-50.safetensors";
  expect_error(
      [&] {
        weights_file({url, folder / "cache"});
      },
      "never fetched", cached, "DOWNLOAD_CACHE", "tools/weights/to_safetensors.py",
      "MSRA/R-50.pkl");
  std::filesystem::create_directories(folder / "cache/ImageNetPretrained/MSRA");
  write_file(cached, "x");
  EXPECT_EQ(weights_file({url, folder / "cache"}), cached);
  expect_error([&] { weights_file({"a/model.pth"}); }, "pickle",
               "tools/weights/to_safetensors.py a/model.pth a/model.safetensors");
  expect_error([&] { weights_file({"model.onnx"}); }, "ONNX network");
  expect_error([&] { weights_file({"weights.npz"}); }, "ends with .npz", ".safetensors");
}

}  // namespace
}  // namespace lockstep::testing
