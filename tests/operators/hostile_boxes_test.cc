// SPDX-License-Identifier: Apache-2.0
// Operators of detectors with operands that do not fit together.
#include <cmath>

#include "tests/operators/hostile.h"

namespace lockstep::testing {
namespace {

using namespace hostile;
using Numbers = std::vector<float>;

class HostileDetectionOperands : public ::testing::TestWithParam<Hostile> {};

TEST_P(HostileDetectionOperands, AreRefusedByName) { expect_refused_by_name(GetParam()); }

const std::vector<Hostile> kBoxes{
    {"BoxSuppression", operand(0, random({2, 3, 3})),
     "its input 0, boxes, is float32[2,3,3], should be [2,3,4]"},
    {"BoxSuppression", operand(0, random({2, 4, 4})), "should be [2,3,4]"},
    {"BoxSuppression", operand(1, random({6})),
     "its input 1, scores, is float32[6], should have 2 dimensions"},
    {"BoxSuppression",
     [](OpCase& c) {
       c.inputs = {empty(DType::int8, {2, 3, 4}), empty(DType::int8, {2, 3})};
     },
     "its input 0, boxes, is int8[2,3,4], should be of float32"},
    {"BoxSuppression", attribute("capacity", int64_t{INT64_MAX}),
     "capacity is 9223372036854775807"},
    {"BoxSuppression", attribute("threshold", std::nanf("")), "the IoU threshold is nan"},
    {"BoxSuppression", outputs(1), "output"},
    {"DetectionResults", operand(0, random({1, 3, 4})), "should be [2,3,4]"},
    {"DetectionResults", operand(2, labels({0, 1, 2}, {3})),
     "its input 2, classes, is int64[3], should be [2,3]"},
    {"DetectionResults", operand(2, empty(DType::int32, {2, 3})),
     "its input 2, classes, is int32[2,3], should be of int64"},
    {"DetectionResults", attribute("classes", int64_t{0}), "classes is 0"},
    {"DetectionResults", attribute("capacity", int64_t{-1}), "capacity is -1"},
    {"DetectionResults", outputs(3), "output"},
    {"RefinedDetections", operand(0, random({1, 3, 4})), "should be [2,3,4]"},
    {"RefinedDetections", operand(2, labels({0, 1, 2}, {3})),
     "its input 2, classes, is int64[3], should be [2,3]"},
    {"RefinedDetections", attribute("method", "softer"),
     "method is 'softer', should be one of hard, linear, gaussian"},
    {"RefinedDetections", attribute("vote", "MAX"),
     "vote is 'MAX', should be one of ID, TEMP_AVG, AVG, IOU_AVG, GENERALIZED_AVG, QUASI_SUM"},
    {"RefinedDetections", attribute("sigma", 0.0F), "sigma is 0"},
    {"RefinedDetections", attribute("vote_overlap", 1.5F), "vote_overlap is 1.5"},
    {"RefinedDetections", attribute("vote_beta", -1.0F), "vote_beta is -1"},
    {"RefinedDetections", outputs(3), "output"}};

const std::vector<Hostile> kRegions{
    {"RoiAlignGrad", operand(0, random({2, 1, 2, 3})),
     "its input 0, dy, is float32[2,1,2,3], should be [2,?,2,2]"},
    {"RoiAlignGrad", operand(1, fixed({1, 4, 4})), "x has 3 dimensions, should have 4"},
    {"RoiAlignGrad", operand(2, random({8})), "its input 2, rois, is float32[8]"},
    {"RoiAlignGrad", operand(2, empty(DType::float64, {2, 4})), "its input 2, rois, is float64"},
    {"RoiAlignGrad", operand(3, labels({0}, {1})), "its input 3, images, is int64[1]"},
    {"RoiAlignGrad", operand(3, empty(DType::int32, {2})), "its input 3, images, is int32"},
    {"RoiAlignGrad", attribute("mode", "max"), "the gradient of a maximum needs x"},
    {"RoiAlignGrad", attribute("sampling_ratio", int64_t{1} << 40),
     "sampling_ratio is 1099511627776"},
    {"RoiAlignGrad of maxima", operand(4, random({1, 1, 4, 5})),
     "its input 4, x, is float32[1,1,4,5], should be [1,1,4,4]"},
    {"MaxRoiPoolGrad", operand(0, random({2, 1, 1, 2})), "its input 0, dy, is float32[2,1,1,2]"},
    {"MaxRoiPoolGrad", operand(1, random({4, 4})), "its input 1, x, is float32[4,4]"},
    {"MaxRoiPoolGrad", operand(2, random({2, 4})), "its input 2, rois, is float32[2,4]"},
    {"MaxRoiPoolGrad", attribute("pooled_shape", sizes({2})), "pooled_shape has 1 entries"},
    {"MaxRoiPoolGrad", attribute("pooled_shape", sizes({2, 0})), "the output is 2 x 0"},
    {"MultilevelRoiAlign", operand(0, random({2, 5})), "its input 0, rois, is float32[2,5]"},
    {"MultilevelRoiAlign", operand(0, labels({0, 0, 0, 0, 0, 0, 0, 0}, {2, 4})),
     "its input 0, rois, is int64[2,4], should be a float"},
    {"MultilevelRoiAlign", operand(2, labels({0}, {1})), "its input 2, levels, is int64[1]"},
    {"MultilevelRoiAlign", operand(4, random({1, 2, 2, 2})),
     "is float32[1,2,2,2], should be [1,1,2,2]"},
    {"MultilevelRoiAlign", attribute("spatial_scales", std::vector<float>{1}),
     "has 1 spatial_scales for 2 levels"},
    {"MultilevelRoiAlign", attribute("spatial_scales", std::vector<float>{1, -1}),
     "spatial_scale is -1"},
    {"MultilevelRoiAlignGrad", operand(0, random({2, 2, 2, 2})), "level 0 is [1,1,4,4]"},
    {"MultilevelRoiAlignGrad", operand(5, fixed({2, 1, 2, 2})), "level 1 is [2,1,2,2]"},
    {"MultilevelRoiAlignGrad", outputs(1), "has 1 results for 2 levels"},
    {"PSRoIPool", operand(0, random({1, 6, 4, 4})),
     "x has 6 channels, which do not divide into 2 x 2 bins"},
    {"PSRoIPool", operand(1, random({2, 5})), "its input 1, rois, is float32[2,5]"},
    {"PSRoIPool", operand(1, labels({0, 0, 0, 0, 0, 0, 0, 0}, {2, 4})),
     "its input 1, rois, is int64[2,4], should be a float"},
    {"PSRoIPool", operand(2, labels({0}, {1})), "its input 2, images, is int64[1]"},
    {"PSRoIPool", attribute("group_size", int64_t{0}), "group_size is 0, should be 1 to 1024"},
    {"PSRoIPool", attribute("spatial_scale", -1.0F), "spatial_scale is -1"},
    {"PSRoIPoolGrad", operand(0, random({2, 1, 3, 2})), "its input 0, dy, is float32[2,1,3,2]"},
    {"PSRoIPoolGrad", operand(1, fixed({1, 8, 4, 4})), "its input 0, dy, is float32[2,1,2,2]"},
    {"PSRoIPoolGrad", operand(1, fixed({4, 4, 4})), "x has 3 dimensions, should have 4"}};

const std::vector<Hostile> kTargets{
    {"AnchorTargets", operand(0, random({2, 2, 3})),
     "its input 0, gt_boxes, is float32[2,2,3], should be [2,2,4]"},
    {"AnchorTargets", operand(0, random({4, 4})), "should have 3 dimensions"},
    {"AnchorTargets", operand(1, labels({1, 2}, {2, 1})),
     "its input 1, gt_classes, is int64[2,1], should be [2,2]"},
    {"AnchorTargets", operand(2, empty(DType::int32, {2, 2})), "its input 2, gt_crowd, is int32"},
    {"AnchorTargets", operand(4, empty(DType::int32, {2})), "its input 4, image_number, is int32"},
    {"AnchorTargets", operand(3, random({2, 2})), "its input 3, im_info, is float32[2,2]"},
    {"AnchorTargets", operand(4, labels({1}, {1})), "its input 4, image_number, is int64[1]"},
    {"AnchorTargets", outputs(5), "has 5 outputs, should have 6 for 2 levels"},
    {"AnchorTargets", attribute("anchors", Numbers{1, 2, 3, 4}), "anchors are 4 numbers"},
    {"AnchorTargets", attribute("anchors", Numbers{1, 2, 3, 4, 5, 5, 5, 9}),
     "anchor 0 of level 1 is [5, 5, 5, 9], which has no area"},
    {"AnchorTargets", attribute("anchors", Numbers{0, 0, 3e38F, 3e38F, 0, 0, 1, 1}), "no area"},
    {"AnchorTargets", attribute("anchors", Numbers{0, 0, 1, NAN, 0, 0, 1, 1}), "no area"},
    {"AnchorTargets", attribute("strides", sizes({4})), "there are 1 strides, 2 heights"},
    {"AnchorTargets", attribute("strides", sizes({4, 0})), "level 1 has a stride of 0"},
    {"AnchorTargets", attribute("heights", sizes({3, -1})), "level 1 has -1 x 1 cells"},
    {"AnchorTargets", attribute("widths", sizes({INT64_MAX, 1})), "level 0 has 3 x 9223372"},
    {"AnchorTargets",
     [](OpCase& c) {
       attribute("heights", sizes({1 << 20, 2}))(c);
       attribute("widths", sizes({1 << 20, 1}))(c);
     },
     "anchors or more, should be fewer than 2147483648"},
    {"AnchorTargets", attribute("positive_overlap", 0.0F), "positive_overlap is 0"},
    {"AnchorTargets", attribute("negative_overlap", NAN), "negative_overlap is nan"},
    {"AnchorTargets", attribute("straddle", -2.0F), "straddle is -2"},
    {"AnchorTargets", attribute("sample", int64_t{1} << 40), "sample is 1099511627776"},
    {"AnchorTargets", attribute("foreground", int64_t{5}), "foreground is 5, should be 0..4"},
    {"AnchorTargets of all", outputs(6), "has 6 outputs, should have 5 for 2 levels"},
    {"ProposalTargets", operand(0, random({2, 12})), "should have 3 dimensions"},
    {"ProposalTargets", operand(1, labels({1, 2}, {2, 1})),
     "its input 1, sources, is int64[2,1], should be [2,3]"},
    {"ProposalTargets", operand(2, random({1, 2, 4})), "its input 3, gt_classes, is int64[2,2]"},
    {"ProposalTargets",
     [](OpCase& c) {
       c.inputs[2] = random({1, 2, 4});
       c.inputs[3] = c.inputs[4] = labels({1, 0}, {1, 2});
     },
     "its input 2, gt_boxes, is float32[1,2,4], should be [2,2,4]"},
    {"ProposalTargets", operand(5, labels({1, 2}, {1, 2})), "its input 5, image_number"},
    {"ProposalTargets", attribute("sample", int64_t{0}), "sample is 0"},
    {"ProposalTargets", attribute("foreground_overlap", NAN), "foreground_overlap is nan"},
    {"ProposalTargets", attribute("box_overlap", NAN), "box_overlap is nan"},
    {"ProposalTargets", attribute("box_overlap", 0.5F), "has 4 outputs, should have 5"},
    {"ProposalTargets", attribute("weights", Numbers{1, 2, 3}), "weights are 3 numbers"},
    {"ProposalTargets", attribute("crowd_overlap", -1.0F), "crowd_overlap is -1"},
    {"ProposalTargets", operand(1, labels({0, 1, 2, 3, int64_t{1} << 31, 5}, {2, 3})),
     "the source of proposal 1 of image 1 is 2147483648"}};

const std::vector<Hostile> kShapes{
    {"MaskTargets", operand(0, random({2, 8})), "should have 3 dimensions"},
    {"MaskTargets", operand(0, random({2, 2, 5})),
     "its input 0, rois, is float32[2,2,5], should be [2,2,4]"},
    {"MaskTargets", operand(0, empty(DType::int64, {2, 2, 4})), "its input 0, rois, is int64"},
    {"MaskTargets", operand(1, labels({0, 1}, {2, 1})),
     "its input 1, matches, is int64[2,1], should be [2,2]"},
    {"MaskTargets", operand(1, empty(DType::int32, {2, 2})), "its input 1, matches, is int32"},
    {"MaskTargets", operand(2, random({2, 6, 3})),
     "its input 2, gt_vertices, is float32[2,6,3], should be [2,6,2]"},
    {"MaskTargets", operand(2, random({1, 6, 2})), "should be [2,6,2]"},
    {"MaskTargets", operand(3, labels({0, 0}, {1, 1, 2})),
     "its input 3, gt_vertex_of, is int64[1,1,2], should be [2,6,2]"},
    {"MaskTargets", attribute("resolution", int64_t{0}), "resolution is 0, should be 1..4096"},
    {"MaskTargets", attribute("resolution", int64_t{1} << 40), "resolution is 1099511627776"},
    {"MaskTargets", outputs(2), "output"},
    {"MaskTargets",
     [](OpCase& c) {
       c.inputs[3] = labels(
           {0, 0, 0, 0, 0, -1, 0, 1, 0, 1, 0, 1, 1, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0}, {2, 6, 2});
     },
     "vertex 2 of image 0 is in ring -1 of object 0; both numbers should be 0 or more"},
    {"MaskTargets",
     [](OpCase& c) {
       std::vector<int64_t> of(24, -1);
       of[20] = INT64_MIN;
       c.inputs[3] = labels(of, {2, 6, 2});
     },
     "vertex 4 of image 1 is in ring -1 of object -9223372036854775808"},
    {"KeypointTargets", operand(2, random({2, 1, 3})), "should have 4 dimensions"},
    {"KeypointTargets", operand(2, random({2, 1, 3, 2})),
     "its input 2, gt_keypoints, is float32[2,1,3,2], should be [2,1,3,3]"},
    {"KeypointTargets", operand(2, empty(DType::int64, {2, 1, 3, 3})),
     "its input 2, gt_keypoints, is int64"},
    {"KeypointTargets", operand(1, labels({0, 0, 1, 0}, {2, 2})),
     "RoI 0 of image 1 matches object 1, there are 1"},
    {"KeypointTargets", attribute("size", int64_t{4097}), "size is 4097, should be 1..4096"},
    {"KeypointTargets", outputs(2), "output"}};

INSTANTIATE_TEST_SUITE_P(Boxes, HostileDetectionOperands, ::testing::ValuesIn(kBoxes));
INSTANTIATE_TEST_SUITE_P(Regions, HostileDetectionOperands, ::testing::ValuesIn(kRegions));
INSTANTIATE_TEST_SUITE_P(Targets, HostileDetectionOperands, ::testing::ValuesIn(kTargets));
INSTANTIATE_TEST_SUITE_P(Shapes, HostileDetectionOperands, ::testing::ValuesIn(kShapes));

}  // namespace
}  // namespace lockstep::testing
