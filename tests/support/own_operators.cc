// SPDX-License-Identifier: Apache-2.0
#include "tests/support/own_operators.h"

#include "graph/random_stream.h"
#include "lockstep/error.h"
#include "lockstep/op.h"

namespace lockstep::testing {
namespace {

using Integers = std::vector<int64_t>;

CaseInput number(float value) { return given(Literal::scalar(value)); }
CaseInput whole(int64_t value) { return given(Literal::scalar(value)); }
CaseInput truth(bool value) { return given(Literal::scalar(value)); }
CaseInput bytes(const std::vector<uint8_t>& values, const Dims& dims) {
  return given(Literal::of<uint8_t>(values, dims));
}
CaseInput constant(std::vector<float> values) {
  const auto count = static_cast<int64_t>(values.size());
  CaseInput input = given(Literal::of<float>(values, {count}));
  input.constant = true;
  return input;
}

OpCase own(const std::string& type, std::vector<CaseInput> inputs, Attributes attributes = {},
           int outputs = 1) {
  return {.name = type,
          .type = type,
          .domain = kOwnDomain,
          .attributes = std::move(attributes),
          .inputs = std::move(inputs),
          .outputs = outputs,
          .gradient = false,
          .oracle = false};
}

OpCase named(const std::string& name, OpCase c) {
  c.name = name;
  return c;
}

std::vector<OpCase> element_by_element() {
  const CaseInput x = random({2, 3});
  return {
      own("ReluGrad", {x, x}),
      own("SigmoidGrad", {x, x}),
      own("TanhGrad", {x, x}),
      own("ClipGrad", {x, x, number(-0.5F), number(0.5F)}),
      own("FunctionGrad", {x, x}, {{"function", "Elu"}, {"a", 1.0F}}),
      own("DropoutGrad", {x, number(0.5F), truth(true)}, {random_stream_attribute(1)}),
      own("Scale", {x}, {{"scale", 2.0F}}),
      own("WeightedSum", {x, number(1), x, number(2)}),
      own("FirstNonFinite", {x, random({4})}),
      own("Casts", {random({2, 3, 2, 2}), x}, {{"to", static_cast<int64_t>(DType::bfloat16)}}, 2),
      own("ChannelSums", {random({2, 3, 2, 2})}, {{"axis", int64_t{1}}}),
      own("ByteTable", {bytes({3, 0, 255, 7}, {2, 2}), random({1, 256})}),
      own("StopGradient", {x}),
      own("Reorder", {random({1, 2, 2, 2})})};
}

std::vector<OpCase> losses() {
  const Attributes axis{{"axis", int64_t{1}}};
  const CaseInput x = random({2, 3}), classes = labels({0, 2}, {2}), weights = positive({3});
  const Attributes two{{"classes", int64_t{2}}};
  const CaseInput dense = random({1, 4, 1, 3}), with_background = random({1, 6, 1, 3}),
                  anchors = labels({0, 1, 2, -1, 0, 2}, {1, 2, 1, 3});
  return {
      own("SoftmaxGrad", {x, x}, axis),
      own("LogSoftmaxGrad", {x, x}, axis),
      own("SoftmaxCrossEntropyLossGrad", {number(1), x, classes, weights}),
      named("SoftmaxCrossEntropyLossGrad of each",
            own("SoftmaxCrossEntropyLossGrad", {random({2}), x, classes}, {{"reduction", "none"}})),
      own("SigmoidFocalLoss", {dense, anchors, number(2)}, two),
      own("SigmoidFocalLossGrad", {number(1), dense, anchors, number(2)}, two),
      own("SoftmaxFocalLoss", {with_background, anchors, number(2)}, two),
      own("SoftmaxFocalLossGrad", {number(1), with_background, anchors, number(2)}, two),
      own("NegativeLogLikelihoodLossGrad", {number(1), fixed({2, 3}), classes, weights})};
}

std::vector<OpCase> picked_boxes() {
  const CaseInput boxes = random({2, 3, 4}), scores = random({2, 3});
  return {
      own("BoxSuppression", {boxes, scores}, {{"threshold", 0.5F}, {"capacity", int64_t{2}}}, 2),
      own("DetectionResults", {boxes, scores, labels({0, 1, 2, 0, 1, 2}, {2, 3})},
          {{"classes", int64_t{3}}, {"score_threshold", 0.0F}, {"capacity", int64_t{4}}}, 4),
      own("RefinedDetections", {boxes, scores, labels({0, 1, 2, 0, 1, 2}, {2, 3})},
          {{"classes", int64_t{3}},
           {"score_threshold", 0.0F},
           {"capacity", int64_t{4}},
           {"method", "gaussian"},
           {"vote", "AVG"}},
          4)};
}

std::vector<OpCase> places() {
  const CaseInput dy = random({2, 3}), x = fixed({4, 3});
  return {
      own("GatherGrad", {dy, x, labels({0, 3}, {2})}, {{"axis", int64_t{0}}}),
      own("GatherElementsGrad", {dy, x, labels({0, 1, 2, 3, 0, 1}, {2, 3})},
          {{"axis", int64_t{0}}}),
      own("GatherNDGrad", {dy, x, labels({0, 3}, {2, 1})}),
      own("ResidentSlice", {random({4, 3}), whole(1), given(Literal(DType::float32, {2, 0}))}),
      own("SliceGrad", {dy, x, fixed({1}), fixed({3}), fixed({0}), fixed({1})}),
      own("PadGrad", {random({4, 5}), fixed({2, 3}), fixed({1, 2, 1, 0})}, {{"mode", "edge"}}),
      own("GridSample", {random({1, 2, 4}), random({1, 3, 1})}),
      own("GridSampleGradX", {random({1, 2, 2, 3}), fixed({1, 2, 4, 4}), random({1, 2, 3, 2})}),
      own("GridSampleGradGrid", {random({1, 2, 2, 3}), random({1, 2, 4, 4}), random({1, 2, 3, 2})}),
      own("ResizeGrad",
          {random({1, 1, 4, 4}), fixed({1, 1, 2, 2}), left_out(), constant({1, 1, 2, 2})},
          {{"mode", "linear"}})};
}

std::vector<OpCase> windows() {
  const Attributes kernel{{"kernel_shape", Integers{2, 2}}};
  const Attributes pooled{{"kernel_shape", Integers{2, 2}}, {"strides", Integers{2, 2}}};
  const CaseInput image = random({1, 1, 4, 4}), dy = random({1, 2, 3, 3}),
                  small = random({1, 1, 2, 2});
  Attributes conv_x = kernel, average = pooled;
  conv_x.push_back({"x_shape", Integers{4, 4}});
  average.push_back({"x_shape", Integers{4, 4}});
  return {
      own("ConvGradX", {dy, random({2, 1, 2, 2})}, conv_x),
      own("FusedConvGradX", {dy, random({2, 1, 2, 2}), image}, conv_x),
      own("ConvGradW", {image, dy}, kernel),
      own("FusedConv", {image, random({2, 1, 2, 2}), random({2}), dy}, {{"relu", int64_t{1}}}, 3),
      own("MaxPoolGrad", {small, image}, pooled),
      own("MaxPoolPlaces", {image}, pooled, 2),
      own("MaxPoolPlacesGrad", {small, bytes({0, 3, 2, 1}, {1, 1, 2, 2})}, average),
      own("AveragePoolGrad", {small}, average),
      own("GlobalAveragePoolGrad", {random({1, 2, 1, 1})}, {{"x_shape", Integers{3, 3}}})};
}

std::vector<OpCase> regions() {
  const CaseInput dy = random({2, 1, 2, 2}), x = random({1, 1, 4, 4}), shape = fixed({1, 1, 4, 4});
  const CaseInput boxes = positive({2, 4}), images = labels({0, 0}, {2});
  const CaseInput with_images =
      given(Literal::of<float>(std::vector<float>{0, 0, 0, 2, 2, 0, 1, 1, 3, 3}, {2, 5}));
  const Attributes bins{{"output_height", int64_t{2}}, {"output_width", int64_t{2}}};
  const Attributes position{{"group_size", int64_t{2}}, {"spatial_scale", 1.0F}};
  Attributes largest = bins, levels = bins;
  largest.push_back({"mode", "max"});
  levels.push_back({"spatial_scales", std::vector<float>{1, 0.5F}});
  return {
      own("RoiAlignGrad", {dy, shape, boxes, images}, bins),
      named("RoiAlignGrad of maxima", own("RoiAlignGrad", {dy, shape, boxes, images, x}, largest)),
      own("MaxRoiPoolGrad", {dy, x, with_images}, {{"pooled_shape", Integers{2, 2}}}),
      own("MultilevelRoiAlign", {boxes, images, labels({0, -1}, {2}), x, random({1, 1, 2, 2})},
          levels),
      own("MultilevelRoiAlignGrad",
          {dy, boxes, images, labels({0, 1}, {2}), shape, fixed({1, 1, 2, 2})}, levels, 2),
      own("PSRoIPool", {random({1, 4, 4, 4}), boxes, images}, position),
      own("PSRoIPoolGrad", {dy, fixed({1, 4, 4, 4}), boxes, images}, position)};
}

std::vector<OpCase> norms() {
  const CaseInput x = random({2, 3, 2, 2}), channel = positive({3}), rows = random({2, 4});
  const Attributes relu{{"relu", int64_t{1}}}, clip{{"low", 0.0F}, {"high", 0.5F}};
  return {own("FusedBatchNorm", {x, channel, channel, channel, channel, x}, relu),
          own("BatchNormTrain", {x, channel, channel, channel, channel}, {}, 5),
          named("BatchNormTrain in a plan",
                own("BatchNormTrain", {x, channel, channel, channel, channel, x, channel, channel},
                    relu, 5)),
          own("BatchNormGrad", {x, x, channel, channel, channel}, {}, 3),
          named("BatchNormGrad in a plan",
                own("BatchNormGrad", {x, x, channel, channel, channel, channel, x}, relu, 4)),
          named("BatchNormTrain with a Clip",
                own("BatchNormTrain", {x, channel, channel, channel, channel}, clip, 5)),
          named("BatchNormGrad with a Clip",
                own("BatchNormGrad", {x, x, channel, channel, channel, channel}, clip, 4)),
          own("InstanceNormGrad", {x, x, channel}, {}, 3),
          own("LayerNormGrad", {rows, rows, positive({4})}, {}, 3),
          own("LrnGrad", {x, x}, {{"size", int64_t{3}}})};
}

// 3 steps of 2 examples, 3 inputs, a hidden size of 2.
std::vector<OpCase> recurrences() {
  const CaseInput lengths = given(Literal::of<int32_t>(std::vector<int32_t>{3, 1}, {2}));
  const CaseInput state = random({1, 2, 2}), y = random({3, 1, 2, 2}), kept = random({1, 3, 2, 2});
  std::vector<OpCase> all;
  for (const std::string cell : {"RNN", "GRU", "LSTM"}) {
    const int64_t sums = cell == "RNN" ? 2 : cell == "GRU" ? 6 : 8;
    std::vector<CaseInput> operands{random({3, 2, 3}),
                                    random({1, sums, 3}),
                                    random({1, sums, 2}),
                                    random({1, 2 * sums}),
                                    lengths,
                                    state};
    const int lstm = cell == "LSTM" ? 1 : 0, keeps = cell == "RNN" ? 0 : 1;
    if (lstm) operands.insert(operands.end(), {state, random({1, 6})});
    all.push_back(own(cell + "Train", operands, {}, 3 + lstm + keeps));
    operands.insert(operands.end(), {y, random({1, 3, 2, sums})});
    if (keeps) operands.push_back(kept);
    operands.insert(operands.end(), {y, state});
    if (lstm) operands.push_back(state);
    all.push_back(own(cell + "Grad", operands, {}, lstm ? 7 : 5));
  }
  return all;
}

std::vector<OpCase> training_targets() {
  const CaseInput boxes = given(Literal::of<float>(
      std::vector<float>{0, 0, 6, 7, 3, 2, 9, 9, 1, 1, 8, 5, 2, 2, 4, 4}, {2, 2, 4}));
  const CaseInput classes = labels({1, 2, 3, 0}, {2, 2}), crowd = labels({0, 1, 0, 0}, {2, 2});
  const CaseInput info = positive({2, 3}), numbers = labels({4, 9}, {2});
  Attributes sampled{{"anchors", std::vector<float>{-2, -2, 6, 6, -4, -4, 8, 8}},
                     {"strides", Integers{4, 8}},
                     {"heights", Integers{3, 2}},
                     {"widths", Integers{2, 1}},
                     {"sample", int64_t{4}},
                     {"foreground", int64_t{2}},
                     random_stream_attribute(1)};
  Attributes dense = sampled;
  dense[4].second = dense[5].second = int64_t{0};
  const std::vector<CaseInput> operands{boxes, classes, crowd, info, numbers};
  return {
      own("AnchorTargets", operands, sampled, 6),
      named("AnchorTargets of all", own("AnchorTargets", operands, dense, 5)),
      own("ProposalTargets",
          {random({2, 3, 4}), labels({0, 1, 2, 3, -1, 5}, {2, 3}), boxes, classes, crowd, numbers},
          {{"sample", int64_t{4}}, {"foreground", int64_t{2}}, random_stream_attribute(1)}, 4)};
}

std::vector<OpCase> shape_targets() {
  const CaseInput rois = given(Literal::of<float>(
      std::vector<float>{0, 0, 6, 7, 3, 2, 9, 9, 1, 1, 8, 5, 2, 2, 4, 4}, {2, 2, 4}));
  const CaseInput vertices = given(Literal::of<float>(
      std::vector<float>{1, 1, 5, 1, 3, 6, 2, 2, 4, 2, 3, 3, 0, 0, 9, 1, 4, 8, 0, 0, 0, 0, 0, 0},
      {2, 6, 2}));
  const CaseInput vertex_of = labels(
      {0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 1, 1, 0, 1, 0, 1, 0, -1, -1, -1, -1, -1, -1}, {2, 6, 2});
  const CaseInput points = given(Literal::of<float>(
      std::vector<float>{1, 1, 2, 5, 6, 1, 0, 0, 0, 4, 4, 2, 3, 3, 2, 9, 9, 1}, {2, 1, 3, 3}));
  return {own("MaskTargets", {rois, labels({0, -1, 1, 0}, {2, 2}), vertices, vertex_of},
              {{"resolution", int64_t{4}}}),
          own("KeypointTargets", {rois, labels({0, -1, 0, 0}, {2, 2}), points},
              {{"size", int64_t{8}}})};
}

std::vector<OpCase> updates() {
  const CaseInput w = random({2, 3}), rate = given(Literal::of<float>(std::vector{0.1F}, {1}));
  const CaseInput second = positive({2, 3});
  const Attributes many{{"factors", std::vector<float>{1}}, {"decays", std::vector<float>{0}}};
  Attributes copying = many;
  copying.insert(copying.end(), {{"copies", std::vector<int64_t>{0}},
                                 {"copies_to", static_cast<int64_t>(DType::bfloat16)}});
  return {
      own("MomentumSGDUpdate", {w, w, rate, w, rate, whole(-1)}, {}, 3),
      own("MomentumSGDUpdates", {w, w, w, rate, rate, whole(-1)}, many, 2),
      named("MomentumSGDUpdates and copies",
            own("MomentumSGDUpdates", {w, w, left_out(), w, rate, rate, whole(-1)}, copying, 3)),
      own("AdamUpdate", {w, w, second, rate, w, number(1), whole(-1)}, {}, 4),
      own("AdamUpdates", {w, second, w, w, rate, number(1), whole(-1)}, many, 3),
      own("AdamWUpdate", {w, w, second, rate, w, number(1), whole(-1)}, {{"decay", 0.5F}}, 4),
      own("AdamWUpdates", {w, second, w, w, rate, number(1), whole(-1)}, many, 3),
      own("RMSPropUpdate", {w, second, w, rate, w, left_out(), whole(-1)}, {}, 4),
      own("RMSPropUpdates", {second, w, w, w, rate, left_out(), whole(-1)}, many, 3),
      own("CentredRMSPropUpdate", {w, second, w, w, rate, w, left_out(), whole(-1)}, {}, 5),
      own("CentredRMSPropUpdates", {second, w, w, w, w, rate, left_out(), whole(-1)}, many, 4),
      own("AdagradUpdate", {w, second, rate, w, number(1), whole(-1)}, {}, 3),
      own("AdagradUpdates", {second, w, w, rate, number(1), whole(-1)}, many, 2),
      own("LionUpdate", {w, w, rate, w, left_out(), whole(-1)}, {{"decay", 0.5F}}, 3),
      own("LionUpdates", {w, w, w, rate, left_out(), whole(-1)}, many, 2)};
}

std::vector<OpCase> exchanges() {
  const CaseInput x = random({2, 3});
  const Attributes message{{"peer", int64_t{1}}, {"number", int64_t{0}}};
  Attributes received = message;
  received.push_back({"dtype", int64_t{static_cast<int>(DType::float32)}});
  received.push_back({"shape", Integers{2, 3}});
  return {own("AllReduce", {x}),
          own("Broadcast", {x}),
          own("Copy", {x}),
          own("Send", {x}, message),
          own("Sent", {whole(0), x}, message),
          own("Recv", {}, received),
          own("ProcessAllReduce", {x}, {{"number", int64_t{0}}}),
          own("AllGather", {x}, {{"of", int64_t{1}}}),
          own("ProcessAllGather", {x},
              {{"number", int64_t{0}}, {"rank", int64_t{1}}, {"shares", Integers{1, 2}}})};
}

}  // namespace

const std::vector<OpCase>& own_operator_cases() {
  static const std::vector<OpCase> cases = [] {
    std::vector<OpCase> all;
    for (auto family : {element_by_element, losses, picked_boxes, places, windows, regions, norms,
                        recurrences, training_targets, shape_targets, updates, exchanges})
      for (OpCase& c : family()) all.push_back(std::move(c));
    return all;
  }();
  return cases;
}

const OpCase& own_operator_case(const std::string& name) {
  for (const OpCase& c : own_operator_cases())
    if (c.name == name) return c;
  fail("there is no case '", name, "'");
}

}  // namespace lockstep::testing
