// SPDX-License-Identifier: Apache-2.0
// Compares decoded and clipped boxes, levels of RoIs and sizes of images with Detectron's
// functions. Detectron's boxes are inclusive: adding 1 to x2 and y2 gives Lockstep's.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "builders/detection/coding.h"
#include "builders/detection/coordinates.h"
#include "graph/file.h"
#include "lockstep/operators.h"
#include "models/detection/inputs.h"
#include "models/detection/pooled_rois.h"
#include "tests/support/case_run.h"
#include "tests/support/golden.h"

namespace lockstep::testing {
namespace {

using Json = nlohmann::json;

const Json& coordinates_cases(const char* group) {
  static const Json cases =
      Json::parse(read_file(source_path("tests/detection/coordinates_cases.json")));
  return cases.at(group);
}

// Rows of one or several boxes, unchanged or half-open.
std::vector<float> rows_of(const Json& rows, float added_to_ends) {
  std::vector<float> values;
  for (const Json& row : rows)
    for (std::size_t k = 0; k < row.size(); ++k)
      values.push_back(row[k].get<float>() + (k % 4 < 2 ? 0 : added_to_ends));
  return values;
}

Literal boxes_of(const Json& rows, const Dims& dims) {
  return Literal::of<float>(rows_of(rows, 1), dims);
}

Literal computed(const Graph& graph, const std::vector<Literal>& feeds,
                 const std::vector<std::string>& names, Value result) {
  OpCase operands;
  for (const Literal& feed : feeds) operands.inputs.push_back({feed});
  return CaseRunner(graph, operands, names, {graph.name(result)}, guarded()).run(feeds)[0];
}

void expect_boxes(const Json& expected, const Literal& found) {
  const std::vector<float> wanted = rows_of(expected, 1);
  const auto values = found.values<float>();
  ASSERT_EQ(wanted.size(), values.size());
  for (std::size_t i = 0; i < wanted.size(); ++i)
    EXPECT_NEAR(wanted[i], values[i], 1e-5 * std::max(100.0F, std::abs(wanted[i]))) << i;
}

TEST(DetectronCoordinates, BoxesDecodeAndClipTheSame) {
  for (const Json& group : coordinates_cases("bbox_transform")) {
    const auto rows = static_cast<int64_t>(group["boxes"].size());
    const auto kinds = static_cast<int64_t>(group["deltas"][0].size()) / 4;
    const std::vector<Literal> feeds{
        boxes_of(group["boxes"], {1, rows, 1, 4}),
        Literal::of<float>(rows_of(group["deltas"], 0), {1, rows, kinds, 4}),
        Literal::of<float>(std::vector<float>{150, 200, 1}, {1, 3})};
    const std::vector<std::string> names{"boxes", "deltas", "im_info"};
    Graph graph(all_ops());
    std::vector<Value> in;
    for (std::size_t i = 0; i < feeds.size(); ++i)
      in.push_back(graph.input(names[i], feeds[i].type()));
    const Value decoded =
        decode_boxes(graph, in[0], in[1], {.weights = group["weights"]}, "decoded");
    const InputBoxes flat(graph.add_value(
        {.type = "Reshape",
         .inputs = {decoded, graph.constant("flat", Literal::vector({1, rows * kinds, 4}))}},
        "columns"));
    const Value clipped =
        clip_boxes(graph, flat, input_limits(graph, in[2], "limits"), "clipped").value;
    expect_boxes(group["decoded"], computed(graph, feeds, names, decoded));
    expect_boxes(group["clipped_to_150x200"], computed(graph, feeds, names, clipped));
  }
}

TEST(DetectronCoordinates, RoisTakeTheSameLevels) {
  const Json& group = coordinates_cases("fpn_levels");
  const auto count = static_cast<int64_t>(group["boxes"].size());
  FpnOptions fpn;
  fpn.roi_min_level = group["k_min"];
  fpn.roi_max_level = group["k_max"];
  const Literal rois = boxes_of(group["boxes"], {count, 4});
  Graph graph(all_ops());
  const Value levels =
      roi_levels(graph, fpn, InputBoxes(graph.input("rois", rois.type())), "level");
  std::vector<int64_t> found = computed(graph, {rois}, {"rois"}, levels).integers();
  for (int64_t& level : found) level += fpn.roi_min_level;
  EXPECT_EQ(group["levels"].get<std::vector<int64_t>>(), found);
}

// The padded image of every case, in portrait or landscape, fits the input that its scale and limit
// need. A picture that reaches the limit fills its longer side.
TEST(DetectronCoordinates, ImagesFitTheInput) {
  for (const Json& group : coordinates_cases("image_scales")) {
    DetectorOptions options;
    options.train.scales = {group["target"].get<int64_t>()};
    options.train.max_size = group["max_size"];
    const InputSize widest = input_size(options, Mode::train);
    const int64_t height = group["padded_32"][0], width = group["padded_32"][1];
    const auto [shorter, longer] = std::minmax(height, width);
    EXPECT_LE(shorter, widest.height) << group;
    EXPECT_LE(longer, widest.width) << group;
    const auto resized = group["resized"].get<std::vector<int64_t>>();
    if (std::max(resized[0], resized[1]) == options.train.max_size)
      EXPECT_EQ(longer, widest.width) << group;
    else
      EXPECT_EQ(shorter, widest.height) << group;

    options.shape.height = height;
    options.shape.width = width;
    EXPECT_EQ(height, input_size(options, Mode::train).height);
    EXPECT_EQ(width, input_size(options, Mode::infer).width);
  }
}

}  // namespace
}  // namespace lockstep::testing
