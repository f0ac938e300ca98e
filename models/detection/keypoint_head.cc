// SPDX-License-Identifier: Apache-2.0
#include "models/detection/keypoint_head.h"

#include "builders/detection/bilinear.h"
#include "builders/detection/empty_places.h"
#include "builders/detection/losses.h"
#include "lockstep/operators.h"
#include "models/detection/named_function.h"
#include "models/detection/object_head.h"

namespace lockstep {
namespace {

constexpr const char* kOfPose = "_[pose]_";

class KeypointHead : ObjectHead {
 public:
  KeypointHead(Net& net, const DetectorOptions& options, const ObjectRois& rois)
      : ObjectHead(net, options, rois, options.krcnn, keypoint_head_of(options), kOfPose),
        points_(options.krcnn) {}

  // Logits [I N, K, S, S].
  Value logits(const ResidualBody& body, const Features& features) {
    Value x = own_features(body, features);
    if (points_.use_deconv) {
      x = enlarged(x, points_.deconv_dim, gaussian(0.01F), "kps_deconv");
      x = relu_in_place(net_, x, "kps_deconv");
    }
    const bool enlarges = points_.up_scale > 1;
    const std::string name = enlarges ? "kps_score_lowres" : "kps_score";
    const Initializer fill = fill_named(points_.conv_init, 0.001F);
    x = points_.use_deconv_output
            ? enlarged(x, points_.num_keypoints, fill, name)
            : conv_layer(net_, x, points_.num_keypoints, {.kernel = 1, .weight = fill}, name);
    if (enlarges) x = bilinear_layer(net_, x, points_.up_scale, "kps_score");
    const int64_t side = points_.heatmap_size;
    const Shape& shape = graph_.shape(x);
    check(shape[2] == Dim(side) && shape[3] == Dim(side), "KRCNN.HEATMAP_SIZE is ", side,
          ", but the keypoint head predicts maps ", shape);
    return x;
  }

  // A softmax over the cells of each point's heatmap.
  void loss(Value logits, const TrueShapes& truth) {
    const int64_t size = points_.heatmap_size;
    const Value rows = reshape(graph_, logits, {-1, size * size}, "kps_score_reshaped");
    const Value cells = reshape(graph_,
                                keypoint_targets(graph_, rois_.boxes.value, rois_.matches, truth,
                                                 {.size = size}, "keypoint_locations"),
                                {-1}, "keypoint_locations_int32");
    const auto entropy = [&](const std::string& reduction, double factor, const std::string& as) {
      const CrossEntropyAttrs attrs{reduction, true, -1};
      if (factor == 1) return softmax_cross_entropy(graph_, rows, cells, none, attrs, as);
      const Value whole = softmax_cross_entropy(graph_, rows, cells, none, attrs, as + "_whole");
      return scale(graph_, whole, static_cast<float>(factor), as);
    };
    if (!points_.normalize_by_visible_keypoints) {
      const std::string name = "loss_kps_normalized";
      net_.loss(name, entropy("sum", points_.loss_weight / points_if_all_visible(), name));
      return;
    }
    const Value visible =
        reduce_sum(graph_, present(graph_, cells, "keypoint_weights"), {}, false, "loss_kps_count");
    add_loss_over(net_, "loss_kps", visible, options_.train.shared_normalisers,
                  [&](const std::string& as) { return entropy("mean", points_.loss_weight, as); });
  }

  void output(Value logits) {
    const std::string name = "kps_score_found";
    const int64_t size = points_.heatmap_size;
    const Value maps =
        reshape(graph_, logits, {-1, rois_.places(graph_), points_.num_keypoints, size, size},
                name + "_all");
    net_.output("heatmaps",
                mul(graph_, maps, filled_places(graph_, rois_.classes, 5, name + "_here"), name));
  }

 private:
  Value own_features(const ResidualBody& body, const Features& features) {
    Value x = features_of_rois(body, features);
    if (is_stage_5_) return x;
    const int64_t kernel = points_.conv_head_kernel;
    const ConvLayer layer{
        .kernel = kernel, .pad = kernel / 2, .weight = fill_named(points_.conv_init, 0.01F)};
    for (int64_t i = 1; i <= points_.num_stacked_convs; ++i) {
      const std::string name = join("conv_fcn", i);
      x = relu_in_place(net_, conv_layer(net_, x, points_.conv_head_dim, layer, name), name);
    }
    return x;
  }

  // Enlarged twice by a transposed convolution.
  Value enlarged(Value x, int64_t channels, const Initializer& weight, const std::string& name) {
    const int64_t kernel = points_.deconv_kernel;
    return conv_transpose_layer(
        net_, x, channels, {.kernel = kernel, .stride = 2, .pad = kernel / 2 - 1, .weight = weight},
        name);
  }

  // The number of visible points of a step if each image had its largest number of objects.
  double points_if_all_visible() const {
    const DetectionTrainOptions& train = options_.train;
    const auto rois = static_cast<double>(train.ims_per_batch * train.batch_size_per_im);
    return rois * train.fg_fraction * static_cast<double>(points_.num_keypoints);
  }

  const KeypointOptions& points_;
};

}  // namespace

const KeypointHeadFunction& keypoint_head_of(const DetectorOptions& options) {
  return function_named_by("KRCNN.ROI_KEYPOINTS_HEAD", keypoint_head_functions(),
                           options.krcnn.roi_keypoints_head);
}

void keypoint_head(Net& net, const DetectorOptions& options, const ResidualBody& body,
                   const Features& features, const ObjectRois& rois, const TrueShapes& truth) {
  KeypointHead head(net, options, rois);
  const Value logits = head.logits(body, features);
  if (net.training())
    head.loss(logits, truth);
  else
    head.output(logits);
}

}  // namespace lockstep
