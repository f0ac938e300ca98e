// SPDX-License-Identifier: Apache-2.0
// The data sets of the task `arrays`, and the examples that a test's report shows.
#include "app/arrays/shown_examples.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "app/arrays/example_source.h"
#include "app/arrays/example_types.h"
#include "app/arrays/masked_source.h"
#include "app/arrays/network_type.h"
#include "app/arrays/trained_data.h"
#include "lockstep/attributes.h"
#include "lockstep/operators.h"
#include "tests/support/expect_error.h"
#include "tests/support/occurrences.h"

namespace lockstep::testing {
namespace {

TEST(ExampleSources, AnswerEveryCommand) {
  std::set<std::string> names, keys;
  ArraysConfig config;
  for (const auto& [key, value] : entries_of(keys_of(config))) keys.insert(key);
  for (const ExampleSource& source : example_sources()) {
    SCOPED_TRACE(source.name);
    EXPECT_TRUE(names.insert(source.name).second);
    EXPECT_EQ(find_example_source(source.name), &source);
    EXPECT_TRUE(source.check && source.place && source.open && source.infer);
    EXPECT_FALSE(source.meaning.empty());
    for (const std::string& key : source.keys) EXPECT_TRUE(keys.contains(key)) << key;
    for (const ExamplePart& part : {source.train, source.test})
      EXPECT_TRUE(keys.contains(part.key)) << part.key;
  }
  EXPECT_EQ(find_example_source("nothing"), nullptr);
  for (const NetworkType& type : network_types()) {
    EXPECT_TRUE(type.check && type.title && type.load) << type.name;
    for (const std::string& key : type.keys) EXPECT_TRUE(keys.contains(key)) << key;
  }
}

ArraysConfig shapes_config() {
  ArraysConfig config;
  config.dataset = "drawn_shapes";
  config.image_size = 16;
  config.train_size = 6;
  config.test_size = 3;
  return config;
}

TEST(ExampleSources, FeedPicturesAndMasksByName) {
  ArraysConfig config = shapes_config();
  config.sources = "{x: image, label: mask}";
  const auto set = open_examples(
      config, true, {{"label", DType::undefined}, {"x", DType::float32, Dims{3, -1, -1}}});
  EXPECT_EQ(set->size(), 3);
  const MinibatchForm form = set->forms(2).at(0);
  ASSERT_EQ(form.size(), 2U);
  EXPECT_EQ(place_of(form, "x"), 1U);
  EXPECT_EQ(form[0].desc.dtype, DType::int64);
  EXPECT_EQ(form[0].desc.dims, (Dims{2, 16, 16}));
  EXPECT_EQ(form[1].desc.dims, (Dims{2, 3, 16, 16}));
  EXPECT_EQ(
      open_examples(config, true, {{"label", DType::uint8, Dims{1, 16, 16}}, {"x", DType::float32}})
          ->forms(1)[0][0]
          .desc.dims,
      (Dims{1, 1, 16, 16}));

  // Minibatches of a process are its rows of the whole.
  const auto all = set->minibatches({.batch = 3, .seed = 5});
  const auto part = set->minibatches({.batch = 3, .first = 1, .count = 1, .seed = 5});
  EXPECT_EQ(all->items(), 3);
  EXPECT_EQ(part->items(), 1);
  const auto masks_of = [](const MinibatchSource& source) {
    Literal mask(DType::int64, source.forms()[0][0].desc.dims);
    Literal image(DType::float32, source.forms()[0][1].desc.dims);
    const std::vector<Tensor> tensors{view_of(mask), view_of(image)};
    for (int64_t item = 0; item < source.items(); ++item) source.read(4, item, tensors);
    return mask;
  };
  const Literal whole = masks_of(*all), middle = masks_of(*part);
  EXPECT_TRUE(std::ranges::equal(
      whole.bytes().subspan(middle.bytes().size(), middle.bytes().size()), middle.bytes()));
}

TEST(ExampleSources, NameFeedsThatDoNotFit) {
  const auto refuse = [](const std::vector<FedArray>& fed, auto... parts) {
    expect_error([&] { open_examples(shapes_config(), false, fed); }, parts...);
  };
  refuse({{"x", DType::float32}}, "DATA.SOURCES", "'x'", "{x: image}");
  refuse({{"image", DType::int64}}, "int64", "'image'", "float32");
  refuse({{"image", DType::float32, Dims{3, 32, 32}}}, "DATA.IMAGE_SIZE 16", "[3,32,32]");
  refuse({{"image", DType::float32, Dims{1, 16, 16}}}, "DATA.IMAGE_SIZE 16", "[1,16,16]");
  refuse({{"mask", DType::float64}}, "float64", "'mask'");
  refuse({{"mask", DType::int64, Dims{8, 8}}}, "masks [16,16]", "[8,8]");
  ArraysConfig config = shapes_config();
  config.sources = "{y: image}";
  expect_error(
      [&] {
        check_names_of_arrays(config, {{"image", DType::float32}});
      },
      "DATA.SOURCES names 'y'", "image");
}

TEST(ExampleSources, KnowTheScoresOfMasks) {
  ArraysConfig config;
  config.sources = "{label: mask}";
  config.loss = "{cross_entropy: [scores, label], mse: [out, x]}";
  config.metrics = "{iou: {of: one, to: label, above: 0.5}}";
  EXPECT_EQ(mask_limits_of(config), (std::map<std::string, double>{{"scores", 0}, {"one", 0.5}}));
}

TEST(TrainedData, IsKeptInTheMetadata) {
  ArraysConfig config = shapes_config();
  config.loss = "{cross_entropy: [scores, label]}";
  config.sources = "{label: mask}";
  const auto set = open_examples(config, false, {{"label"}, {"image", DType::float32}});
  TrainingModel network(all_ops());
  network.metadata = arrays_metadata(config, *set);
  const TrainedData data = trained_data_in(network, "model.onnx");
  EXPECT_EQ(data.config.dataset, "drawn_shapes");
  EXPECT_EQ(data.config.sources, "{label: mask}");
  ASSERT_TRUE(data.preparation.has_value());
  EXPECT_EQ(data.preparation->height, 16);
  EXPECT_EQ(data.preparation->mean, set->preparation()->mean);
  EXPECT_EQ(data.mask_limits, (std::map<std::string, double>{{"scores", 0}}));

  // As versions wrote it that had arrays only.
  const std::string before =
      R"({"columns": "", "sources": "", "padding": "", "buckets": [3], "whole": false)";
  network.metadata[kArraysMark] = before + "}";
  EXPECT_EQ(trained_data_in(network, "model.onnx").config.dataset, kArrays);
  EXPECT_EQ(trained_data_in(network, "model.onnx").config.buckets, (std::vector<int64_t>{3}));
  for (const std::string& damaged :
       {std::string("no JSON"), std::string("[]"), std::string("{}"), before,
        before + R"(, "source": "nothing"})", before + R"(, "source": "image_masks"})",
        before + R"(, "source": 3})",
        before + R"(, "source": "image_masks", "picture": {"height": 0, "width": 8, "resize": 8,
          "mean": [0, 0, 0], "deviation": [1, 1, 1]}})",
        before + R"(, "source": "image_masks", "picture": {"height": 8, "width": 8, "resize": 8,
          "mean": [0, 0], "deviation": [1, 1, 1]}})"}) {
    network.metadata[kArraysMark] = damaged;
    expect_error([&] { trained_data_in(network, "model.onnx"); }, "model.onnx", "lockstep.arrays",
                 "is damaged");
  }
}

// Pictures of 8 x 8 pixels whose mask is class 1.
class PaintedSet final : public ExampleSet {
 public:
  int64_t size() const override { return 20; }
  std::string digest() const override { return ""; }
  std::string description() const override { return "painted"; }
  std::vector<MinibatchForm> forms(int64_t count) const override {
    return {{{"x", {DType::float32, {count, 3, 8, 8}}}, {"label", {DType::int64, {count, 8, 8}}}}};
  }
  void read(int64_t, int64_t, std::span<const Tensor>) const override {}
  std::unique_ptr<MinibatchSource> minibatches(const ExampleBatches&) const override {
    return nullptr;
  }
  std::string name_of(int64_t example) const override {
    return "number " + std::to_string(example) + ".";
  }
};

// The guess of example n has n + 1 right pixels.
TEST(ShownExamples, AreTheWorstAndTheBest) {
  const PaintedSet set;
  const auto metrics = parse_metrics("{accuracy: [scores, label], iou: [scores, label]}");
  std::optional<ShownExamples> shown = shown_examples(metrics, set);
  ASSERT_TRUE(shown.has_value());
  EXPECT_EQ(shown->html(), "");
  for (int64_t first = 0; first < 20; first += 5) {
    const Literal x(DType::float32, {5, 3, 8, 8});
    const Literal labels =
        Literal::of<int64_t>(std::vector<int64_t>(std::size_t{5} * 64, 1), {5, 8, 8});
    std::vector<float> scores;
    for (int64_t n = first; n < first + 5; ++n) {
      scores.insert(scores.end(), 64, 0.5F);
      for (int64_t at = 0; at < 64; ++at) scores.push_back(at <= n ? 1.0F : 0.0F);
    }
    const Literal output = Literal::of<float>(scores, {5, 2, 8, 8});
    const std::vector<Tensor> tensors{view_of(x), view_of(labels)};
    shown->see({first, 5}, set.forms(5)[0], tensors, view_of(output));
  }
  const std::string html = shown->html();
  const std::size_t best = html.find("Best examples by accuracy");
  ASSERT_NE(best, std::string::npos);
  EXPECT_LT(html.find("Worst examples by accuracy"), best);
  EXPECT_EQ(occurrences(html, "<img "), 3 * 12);
  EXPECT_LT(html.find("number 0."), html.find("number 5."));
  EXPECT_LT(html.find("number 5."), best);
  EXPECT_GT(html.find("number 14."), html.find("number 19."));
  EXPECT_GT(html.find("number 19."), best);
  EXPECT_EQ(html.find("number 6."), std::string::npos);
  EXPECT_NE(html.find("accuracy 1.56 %"), std::string::npos);  // 1 of 64
}

TEST(ShownExamples, NeedPicturesAndAMetric) {
  const PaintedSet set;
  EXPECT_FALSE(shown_examples({}, set).has_value());
  const auto self = parse_metrics("{mean_error: [out, x]}");
  std::optional<ShownExamples> shown = shown_examples(self, set);
  ASSERT_TRUE(shown.has_value());  // an autoencoder: the picture is the target
  const Literal x(DType::float32, {1, 3, 8, 8}), labels(DType::int64, {1, 8, 8});
  const std::vector<Tensor> tensors{view_of(x), view_of(labels)};
  shown->see({0, 1}, set.forms(1)[0], tensors, view_of(x));
  EXPECT_EQ(occurrences(shown->html(), "<img "), 3);
}

}  // namespace
}  // namespace lockstep::testing
