// SPDX-License-Identifier: Apache-2.0
#include "app/weights/sources.h"

#include <algorithm>
#include <sstream>

#include "app/weights/pattern.h"
#include "data/dataset.h"
#include "data/transform.h"

namespace lockstep {
namespace {

// The pictures of PyTorch's published networks.
constexpr SourcePicture kImageNet{kImageNetMean, kImageNetDeviation};

// Tensors by which a network shows that a key matters: blocks of three convolutions, stage 5, group
// norms of the body.
constexpr const char* kBottleneck = R"((res3_0_branch2c|layer2\.0\.conv3)(_w|\.weight))";
constexpr const char* kStage5 = R"(res5_0_branch2a_w)";
constexpr const char* kGroupNorm = R"((conv1|res\d_\d+_branch(1|2[abc]))_gn_s)";

const SourceFact kStrideIn3x3{"RESNETS.STRIDE_1X1", "false", kBottleneck};
const SourceFact kStrideIn1x1{"RESNETS.STRIDE_1X1", "true", kBottleneck};
const SourceFact kUndilated{"RESNETS.RES5_DILATION", "1", kStage5, true};

struct SourceRow {
  const char* mark;  // a pattern that only this source's names fit
  WeightsSource source;
};

// Published sources, each with its mark.
const std::vector<SourceRow>& published_sources() {
  const std::vector<SourceFact> of_pytorch{kStrideIn3x3,
                                           kUndilated,
                                           {"GROUP_NORM.EPSILON", "1e-05", kGroupNorm},
                                           {"GROUP_NORM.NUM_GROUPS", "32", kGroupNorm}};
  static const std::vector<SourceRow> rows{
      {R"((?:module\.)?conv1\.0\.weight)",
       {.name = "a timm ResNet with a deep stem",
        .refusal = "its stem has three convolutions, a detector's has one; take a variant without "
                   "d or t in its name"}},
      {R"((?:module\.)?layer[1-4]\.0\.conv1\.weight)",
       {.name = "a ResNet with torchvision's or timm's names",
        .to_detector = &rules_of_resnets(),
        .of_body = R"((?:module\.)?layer[1-4]\..+)",
        .picture = kImageNet,
        .facts = of_pytorch}},
      {R"((?:module\.)?features\.28\.weight)",
       {.name = "a VGG16 with torchvision's names",
        .to_detector = &rules_of_vgg16(),
        .of_body = R"((?:module\.)?features\..+)",
        .picture = kImageNet}},
      {R"((?:resnet\.)?embedder\.embedder\.convolution\.weight)",
       {.name = "a ResNet with Hugging Face's names",
        .to_pytorch = &rules_of_hugging_face(),
        .to_detector = &rules_of_resnets(),
        .of_body = R"((?:module\.)?(?:resnet\.)?encoder\.stages\..+)",
        .picture = kImageNet,
        .facts = of_pytorch}}};
  return rows;
}

bool has_name(const WeightsContents& contents, const std::string& pattern) {
  const std::regex mark(pattern);
  return std::any_of(contents.tensors.begin(), contents.tensors.end(),
                     [&](const auto& tensor) { return fits_pattern(tensor.first, mark); });
}

std::string said_in(const WeightsContents& contents, const std::string& key) {
  const auto found = contents.metadata.find(key);
  return found == contents.metadata.end() ? "" : found->second;
}

// "[102.98, 115.95, 122.77]". Empty if the text is not a list of three numbers.
std::vector<double> three_numbers(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '[' || c == ']' || c == ','; }, ' ');
  std::istringstream words(text);
  std::vector<double> numbers;
  for (double number = 0; words >> number;) numbers.push_back(number);
  return numbers.size() == 3 ? numbers : std::vector<double>{};
}

// The picture that a classifier trained here takes.
std::optional<SourcePicture> picture_of_classifier(const WeightsContents& contents) {
  const std::string set = said_in(contents, "DATA.NAME");
  const std::vector<std::string> known = dataset_names();
  if (std::find(known.begin(), known.end(), set) == known.end()) return {};
  const Preparation preparation = preparation_of({.name = set});
  if (preparation.channels != 3) return {};
  SourcePicture picture;
  for (std::size_t i = 0; i < 3; ++i) {
    picture.mean[i] = preparation.mean[i];
    picture.deviation[i] = preparation.deviation[i];
  }
  return picture;
}

// Our own files say everything exactly.
WeightsSource own_source(const WeightsContents& contents) {
  WeightsSource source{.name = "a network of lockstep train"};
  for (const SourceRow& row : published_sources())
    if (has_name(contents, row.mark) && row.source.to_detector) {
      source.name = "a classifier of lockstep train";
      source.to_detector = row.source.to_detector;
      source.of_body = row.source.of_body;
      source.picture = picture_of_classifier(contents);
    }
  source.pixel_means = three_numbers(said_in(contents, "PIXEL_MEANS"));
  for (const SourceFact& fact : facts_in_checkpoints())
    if (const auto said = contents.metadata.find(fact.key); said != contents.metadata.end())
      source.facts.push_back({fact.key, said->second, fact.applies_to, fact.may_grow});
  return source;
}

// Detectron's ResNets of MSRA have their stride in the 1x1 convolutions. Its ResNeXts, and its
// networks with group norm, have the stride in the 3x3 convolutions.
WeightsSource detectrons_source(const WeightsContents& contents) {
  WeightsSource source{.name = "Detectron's names"};
  const auto convolution = contents.tensors.find("res3_0_branch2b_w");
  const auto before = contents.tensors.find("res3_0_branch2a_w");
  if (convolution == contents.tensors.end() || before == contents.tensors.end()) return source;
  const Dims &dims = convolution->second, &whole = before->second;
  const bool is_grouped = dims.size() == 4 && whole.size() == 4 && dims[1] != whole[0];
  const bool in_3x3 = is_grouped || has_name(contents, kGroupNorm);
  source.facts.push_back(in_3x3 ? kStrideIn3x3 : kStrideIn1x1);
  return source;
}

}  // namespace

const std::vector<SourceFact>& facts_in_checkpoints() {
  static const std::vector<SourceFact> facts{{"RESNETS.STRIDE_1X1", "", kBottleneck},
                                             {"RESNETS.RES5_DILATION", "", kStage5, true},
                                             {"GROUP_NORM.EPSILON", "", kGroupNorm},
                                             {"GROUP_NORM.NUM_GROUPS", "", kGroupNorm},
                                             {"GROUP_NORM.DIM_PER_GP", "", kGroupNorm}};
  return facts;
}

WeightsContents contents_of(const SafetensorsHeader& header) {
  WeightsContents contents{{}, header.metadata};
  for (const StoredTensor& tensor : header.tensors) contents.tensors[tensor.name] = tensor.dims;
  return contents;
}

WeightsContents contents_of(const Safetensors& file) {
  WeightsContents contents{{}, file.metadata};
  for (const auto& [name, value] : file.tensors) contents.tensors[name] = value.dims();
  return contents;
}

WeightsSource source_of(const WeightsContents& contents) {
  WeightsSource source{.name = "unknown names"};
  const bool is_ours = said_in(contents, kFormatKey).starts_with("lockstep");
  if (is_ours) {
    source = own_source(contents);
  } else if (said_in(contents, "source") == "detectron" ||
             has_name(contents, R"((res2_0_branch2a|conv1_1|conv1)_w)")) {
    source = detectrons_source(contents);
  } else {
    for (const SourceRow& row : published_sources())
      if (has_name(contents, row.mark)) {
        source = row.source;
        break;
      }
  }
  if (source.picture) source.pixel_means = source.picture->pixel_means();
  return source;
}

std::string text_of_means(const std::vector<double>& means) {
  return join("[", means[0], ", ", means[1], ", ", means[2], "]");
}

}  // namespace lockstep
