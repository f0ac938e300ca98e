// SPDX-License-Identifier: Apache-2.0
#include "models/detection/retinanet.h"

#include <cmath>

#include "builders/detection/anchors.h"
#include "builders/detection/coding.h"
#include "builders/detection/empty_places.h"
#include "builders/detection/losses.h"
#include "lockstep/operators.h"
#include "models/detection/anchor_head.h"
#include "models/detection/detections.h"
#include "models/detection/resnet_body.h"
#include "models/detection/shared_layers.h"
#include "operators/kit/operator_helpers.h"
#include "operators/loss/loss.h"

namespace lockstep {
namespace {

// K is the number of classes without background. Logits have A K channels, or A (K + 1) with
// RETINANET.SOFTMAX, background first. Deltas have 4 A channels, or 4 A K with CLASS_SPECIFIC_BBOX.
class RetinaNet {
 public:
  RetinaNet(Net& net, const DetectorOptions& options, const DetectorInputs& in)
      : net_(net),
        graph_(net.graph),
        options_(options),
        in_(in),
        kinds_(options.model.num_classes - 1),
        anchors_(options.retinanet.scales_per_octave *
                 static_cast<int64_t>(options.retinanet.aspect_ratios.size())) {}

  void build(const Features& features) {
    heads(features);
    if (net_.training())
      losses();
    else
      outputs();
  }

 private:
  // One box for each scale of the octave and each ratio. Each box is rounded separately, as in
  // Detectron.
  std::vector<float> base(int64_t stride) const {
    const RetinaNetOptions& r = options_.retinanet;
    std::vector<float> all;
    for (int64_t octave = 0; octave < r.scales_per_octave; ++octave)
      for (const double ratio : r.aspect_ratios) {
        const double scale =
            std::exp2(static_cast<double>(octave) / static_cast<double>(r.scales_per_octave));
        const double size = static_cast<double>(stride) * scale * r.anchor_scale;
        const std::vector<float> one = base_anchors(static_cast<double>(stride), {size}, {ratio});
        all.insert(all.end(), one.begin(), one.end());
      }
    return all;
  }

  // Biases that give "object" an initial probability of PRIOR_PROB, so that the many background
  // anchors do not dominate the first steps.
  Initializer prior() const {
    const double p = options_.retinanet.prior_prob;
    if (!options_.retinanet.softmax) return constant(static_cast<float>(-std::log((1 - p) / p)));
    std::vector<float> bias(anchors_ * (kinds_ + 1), 0.0F);
    for (int64_t a = 0; a < anchors_; ++a)
      bias[a * (kinds_ + 1)] =
          static_cast<float>(std::log(static_cast<double>(kinds_) * (1 - p) / p));
    return given(Literal::of<float>(bias, {anchors_ * (kinds_ + 1)}));
  }

  void heads(const Features& features) {
    const RetinaNetOptions& r = options_.retinanet;
    SharedLayers layers(net_);
    const ConvLayer layer{.kernel = 3, .pad = 1, .weight = gaussian(0.01F)};
    for (int64_t number = options_.fpn.rpn_min_level; number <= options_.fpn.rpn_max_level;
         ++number) {
      const Feature& feature = features.level(number);
      const std::string suffix = join("_fpn", number);
      const auto conv = [&](Value x, const std::string& name, int64_t channels,
                            const ConvLayer& how) {
        return layers.conv(x, channels, how, {name, name + suffix});
      };
      const auto tower = [&](const std::string& of) {
        Value x = feature.x;
        for (int64_t i = 0; i < r.num_convs; ++i) {
          const std::string name = join("retnet_", of, "_conv_n", i);
          x = relu_in_place(net_, conv(x, name, feature.channels, layer), name + suffix);
        }
        return x;
      };
      const Value of_classes = tower("cls");
      ConvLayer classifier = layer;
      classifier.first_bias = prior();
      const Value logits = conv(of_classes, "retnet_cls_pred",
                                anchors_ * (kinds_ + (r.softmax ? 1 : 0)), classifier);
      const Value of_boxes = r.share_cls_bbox_tower ? of_classes : tower("bbox");
      const Value deltas = conv(of_boxes, "retnet_bbox_pred",
                                4 * anchors_ * (r.class_specific_bbox ? kinds_ : 1), layer);
      levels_.push_back(
          anchor_head(graph_, base(feature.stride), feature.stride, logits, deltas, suffix));
    }
  }

  void losses() {
    const RetinaNetOptions& r = options_.retinanet;
    AnchorTargetsAttrs attrs;
    attrs.positive_overlap = static_cast<float>(r.positive_overlap);
    attrs.negative_overlap = static_cast<float>(r.negative_overlap);
    attrs.straddle = static_cast<float>(options_.train.rpn_straddle_thresh);
    attrs.levels = anchors_of(levels_);
    const DenseAnchorTargets targets =
        dense_anchor_targets(graph_, truth_on_input(graph_, in_), in_.im_info, in_.image_number,
                             attrs, "retnet_targets");
    const Value counts = cast(graph_, targets.counts, DType::float32, "retnet_counts");
    const auto count = [&](const char* name, int64_t place) {
      const Value one = slice(graph_, counts, 0, place, place + 1, std::string(name) + "_count");
      const Value number = reshape(graph_, one, {}, name);
      net_.metric(name, number);
      return number;
    };
    const Value objects = count("retnet_fg_num", 0);
    count("retnet_bg_num", 1);
    for (std::size_t i = 0; i < levels_.size(); ++i)
      losses_of(levels_[i], targets.levels[i], objects);
  }

  void losses_of(const AnchorHead& level, const AllAnchors& target, Value objects) {
    const RetinaNetOptions& r = options_.retinanet;
    const std::string cls = "fl" + level.suffix, bbox = "retnet_loss_bbox" + level.suffix;
    const FocalAttrs focal{kinds_, static_cast<float>(r.loss_alpha),
                           static_cast<float>(r.loss_gamma)};
    const bool shared = options_.train.shared_normalisers;
    add_loss_over(net_, cls, objects, shared, [&](const std::string& name) {
      return r.softmax
                 ? softmax_focal_loss(graph_, level.logits, target.labels, objects, focal, name)
                 : sigmoid_focal_loss(graph_, level.logits, target.labels, objects, focal, name);
    });
    const int64_t cells = level.anchors.height * level.anchors.width;
    const auto columns = [&](Value x, const char* ending) {
      return reshape(graph_, x, {in_.images, anchors_, 4, cells}, bbox + ending);
    };
    const Value deltas = r.class_specific_bbox
                             ? deltas_of_labels(level, target.labels, bbox + "_deltas")
                             : columns(level.deltas, "_deltas");
    const Value distance = smooth_l1(graph_, deltas, columns(target.targets, "_targets"),
                                     r.bbox_reg_beta, bbox + "_distance");
    const Value mask = reshape(graph_, is_object(graph_, target.labels, bbox + "_objects"),
                               {in_.images, anchors_, 1, cells}, bbox + "_mask");
    Value sum = masked_sum(graph_, distance, mask, bbox + "_sum");
    if (r.bbox_reg_weight != 1)
      sum = mul(graph_, sum, shared_number(graph_, r.bbox_reg_weight), bbox + "_weighted");
    add_loss_over(net_, bbox, objects, shared,
                  [&](const std::string& name) { return per_count(graph_, sum, objects, name); });
  }

  // Selects each anchor's class from deltas [I, A, K, 4, cells]: [I, A, 4, cells].
  Value deltas_of_labels(const AnchorHead& level, Value labels, const std::string& name) {
    const int64_t cells = level.anchors.height * level.anchors.width;
    const Value one = shared_integer(graph_, 1);
    const Value kind =
        at_least_zero(graph_, sub(graph_, labels, one, name + "_kind"), name + "_kind_or_first");
    const Value index =
        reshape(graph_, kind, {in_.images, anchors_, 1, 1, cells}, name + "_index_once");
    const Value shape = graph_.constant(name + "_index_shape",
                                        Literal::vector({in_.images, anchors_, 1, 4, cells}));
    const Value indices =
        graph_.add_value({.type = "Expand", .inputs = {index, shape}}, name + "_index");
    const Value all =
        reshape(graph_, level.deltas, {in_.images, anchors_, kinds_, 4, cells}, name + "_by_kind");
    const Value found = gather_elements(graph_, all, indices, 2, name + "_found");
    return reshape(graph_, found, {in_.images, anchors_, 4, cells}, name);
  }

  void outputs() {
    std::vector<Value> boxes, scores, classes;
    for (const AnchorHead& level : levels_) {
      const bool coarsest = &level == &levels_.back();
      const LevelCandidates found =
          candidates(level, coarsest ? 0 : options_.retinanet.inference_th);
      boxes.push_back(found.boxes.value);
      scores.push_back(found.scores);
      classes.push_back(found.classes);
    }
    const InputBoxes all(concat(graph_, boxes, 1, "retnet_boxes"));
    output_detections(
        net_, options_,
        {to_picture(graph_, all, in_.im_info, "retnet_boxes_picture"),
         concat(graph_, scores, 1, "retnet_scores"), concat(graph_, classes, 1, "retnet_classes")},
        in_);
  }

  // Probabilities, indexed by (anchor, kind, y, x).
  Value probabilities(const AnchorHead& level) {
    const std::string name = "retnet_cls_prob" + level.suffix;
    if (!options_.retinanet.softmax)
      return sigmoid(graph_, flatten(graph_, level.logits, 1, name + "_logits"), name);
    const int64_t cells = level.anchors.height * level.anchors.width;
    const Value grouped =
        reshape(graph_, level.logits, {in_.images, anchors_, kinds_ + 1, cells > 0 ? cells : -1},
                name + "_logits");
    const Value all = softmax(graph_, grouped, 2, name + "_all");
    return flatten(graph_, slice(graph_, all, 2, 1, kinds_ + 1, name + "_kinds"), 1, name);
  }

  struct LevelCandidates {
    InputBoxes boxes;
    Value scores, classes;
  };
  LevelCandidates candidates(const AnchorHead& level, double threshold) {
    const std::string name = "retnet_candidates" + level.suffix;
    const auto [prob, index] =
        best_of(graph_, probabilities(level), options_.retinanet.pre_nms_top_n, name + "_best");
    // index = (anchor K + kind) cells + cell
    const Value cells = map_size(graph_, level.logits, name).cells;
    const Value row = div(graph_, index, cells, name + "_row");
    const Value anchor = div(graph_, row, shared_integer(graph_, kinds_), name + "_anchor");
    const Value kind =
        sub(graph_, row, mul(graph_, anchor, shared_integer(graph_, kinds_), name + "_first_row"),
            name + "_kind");
    const Value before =
        mul(graph_, sub(graph_, row, anchor, name + "_rows_before"), cells, name + "_before");
    const Value place = sub(graph_, index, before, name + "_place");
    Value deltas;
    if (options_.test.bbox_reg)
      deltas =
          at_places(graph_, level.deltas, options_.retinanet.class_specific_bbox ? index : place, 4,
                    name + "_deltas");
    const Value anchors = anchors_at(graph_, level.anchors, level.logits, place, name + "_anchors");
    const InputBoxes boxes(deltas ? decode_boxes(graph_, anchors, deltas,
                                                 {.log_limit = options_.bbox_xform_clip},
                                                 name + "_boxes")
                                  : anchors);
    const Value least = shared_number(graph_, threshold);
    const Value good = cast(
        graph_, graph_.add_value({.type = "Greater", .inputs = {prob, least}}, name + "_is_good"),
        DType::float32, name + "_good");
    return {boxes, mul(graph_, prob, good, name + "_scores"),
            add(graph_, kind, shared_integer(graph_, 1), name + "_classes")};
  }

  Net& net_;
  Graph& graph_;
  const DetectorOptions& options_;
  const DetectorInputs& in_;
  const int64_t kinds_;    // classes without background
  const int64_t anchors_;  // anchors of a cell
  std::vector<AnchorHead> levels_;
};

}  // namespace

void retinanet(Net& net, const DetectorOptions& options, const Features& features,
               const DetectorInputs& in) {
  RetinaNet(net, options, in).build(features);
}

}  // namespace lockstep
