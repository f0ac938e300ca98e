// SPDX-License-Identifier: Apache-2.0
#include "models/detection/mask_head.h"

#include "builders/detection/bilinear.h"
#include "builders/detection/empty_places.h"
#include "builders/detection/losses.h"
#include "lockstep/operators.h"
#include "models/detection/named_function.h"
#include "models/detection/object_head.h"
#include "operators/kit/operator_helpers.h"

namespace lockstep {
namespace {

constexpr const char* kOfMask = "_[mask]_";
constexpr float kDeviation = 0.001F;  // of GaussianFill

class MaskHead : ObjectHead {
 public:
  MaskHead(Net& net, const DetectorOptions& options, const ObjectRois& rois)
      : ObjectHead(net, options, rois, options.mrcnn, mask_head_of(options), kOfMask),
        mask_(options.mrcnn),
        head_(mask_head_of(options)),
        channels_(mask_.cls_specific_mask ? options.model.num_classes : 1) {}

  // Logits [I N, channels, M, M].
  Value logits(const ResidualBody& body, ResidualHead& of_boxes, const Features& features) {
    const Value enlarged = enlarge(head_.shares_stage_5 ? shared_features(of_boxes, features)
                                                        : own_features(body, features));
    const int64_t side = mask_.resolution;
    if (mask_.use_fc_output) {
      const Value all = fc_layer(net_, enlarged, channels_ * side * side,
                                 {.weight = gaussian(kDeviation)}, "mask_fcn_logits");
      return reshape(graph_, all, {-1, channels_, side, side}, "mask_fcn_logits_maps");
    }
    // The fan-in of one mask for all classes would make the first masks too strong.
    const ConvLayer point{.kernel = 1,
                          .weight = mask_.cls_specific_mask ? fill() : gaussian(kDeviation)};
    Value x = conv_layer(net_, enlarged, channels_, point, "mask_fcn_logits");
    if (mask_.upsample_ratio > 1)
      x = bilinear_layer(net_, x, mask_.upsample_ratio, "mask_fcn_logits_up");
    const Shape& shape = graph_.shape(x);
    check(shape[2] == Dim(side) && shape[3] == Dim(side), "MRCNN.RESOLUTION is ", side,
          ", but the mask head predicts maps ", shape);
    return x;
  }

  // The map of each RoI's class, [I, N, M, M].
  Value of_classes(Value logits) {
    const std::string name = "mask_fcn_logits_class";
    Value own = logits;
    if (channels_ > 1)
      own = rows_at(graph_, logits, reshape(graph_, rois_.classes, {-1, 1}, name + "_column"),
                    name + "_rows");
    const int64_t side = mask_.resolution;
    return reshape(graph_, own, {-1, rois_.places(graph_), side, side}, name);
  }

  void loss(Value own, const TrueShapes& truth) {
    const std::string name = "loss_mask";
    const Value targets = mask_targets(graph_, rois_.boxes.value, rois_.matches, truth,
                                       {.resolution = mask_.resolution}, "masks_int32");
    const Value entropy = sigmoid_cross_entropy(
        graph_, own, is_label(graph_, targets, 1, name + "_inside"), name + "_entropy");
    const Value counted = present(graph_, targets, name + "_counted");
    const Value count = reduce_sum(graph_, counted, {}, false, name + "_count");
    const Value sum = masked_sum(graph_, entropy, counted, name + "_sum");
    const auto weight = static_cast<float>(mask_.weight_loss_mask);
    add_loss_over(net_, name, count, options_.train.shared_normalisers, [&](const std::string& as) {
      if (weight == 1) return per_count(graph_, sum, count, as);
      const Value mean = per_count(graph_, sum, count, as + "_mean");
      return scale(graph_, mean, weight, as);
    });
  }

  void output(Value own) {
    const std::string name = "mask_fcn_probs";
    const Value here = filled_places(graph_, rois_.classes, 4, name + "_here");
    const Value all = sigmoid(graph_, own, name + "_all");
    net_.output("masks", mul(graph_, all, here, name));
  }

 private:
  Initializer fill() const { return fill_named(mask_.conv_init, kDeviation); }

  // The box head has computed the features of a step's objects, but not of the boxes that a
  // prediction finds.
  Value shared_features(ResidualHead& of_boxes, const Features& features) {
    if (!net_.training())
      return of_boxes.sums(pooled(features), mask_.roi_xform_resolution, 1, kOfMask).x;
    const int64_t images = graph_.shape(rois_.boxes.value)[0].size();
    return rows_of_first_places(graph_, of_boxes.first_sums().x, images, rois_.places(graph_),
                                kOfMask + of_boxes.first_sums().name + "_sliced");
  }

  Value own_features(const ResidualBody& body, const Features& features) {
    Value x = features_of_rois(body, features);
    if (is_stage_5_) return x;
    const ConvLayer layer{
        .kernel = 3, .pad = mask_.dilation, .dilation = mask_.dilation, .weight = fill()};
    for (int64_t i = 1; i <= head_.convs; ++i) {
      const std::string name = join(head_.normed ? "_mask_fcn" : "_[mask]_fcn", i);
      x = head_.normed
              ? group_norm_conv(net_, options_.group_norm, x, mask_.dim_reduced, layer, name)
              : conv_layer(net_, x, mask_.dim_reduced, layer, name);
      x = relu_in_place(net_, x, head_.normed ? name + "_gn" : name);
    }
    return x;
  }

  Value enlarge(Value x) {
    const bool small = is_stage_5_ && !head_.shares_stage_5;  // as in Detectron
    const std::string name = "conv5_mask";
    const Value y = conv_transpose_layer(net_, x, mask_.dim_reduced,
                                         {.weight = small ? gaussian(kDeviation) : fill()}, name);
    return relu_in_place(net_, y, name);
  }

  const MaskOptions& mask_;
  const MaskHeadFunction& head_;
  const int64_t channels_;
};

}  // namespace

const MaskHeadFunction& mask_head_of(const DetectorOptions& options) {
  return function_named_by("MRCNN.ROI_MASK_HEAD", mask_head_functions(),
                           options.mrcnn.roi_mask_head);
}

void mask_head(Net& net, const DetectorOptions& options, const ResidualBody& body,
               ResidualHead& of_boxes, const Features& features, const ObjectRois& rois,
               const TrueShapes& truth) {
  MaskHead head(net, options, rois);
  const Value own = head.of_classes(head.logits(body, of_boxes, features));
  if (net.training())
    head.loss(own, truth);
  else
    head.output(own);
}

}  // namespace lockstep
