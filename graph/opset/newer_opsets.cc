// SPDX-License-Identifier: Apache-2.0
#include "graph/opset/newer_opsets.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <sstream>

#include "graph/graph_members.h"
#include "graph/opset/rewrites.h"
#include "graph/schema.h"

namespace lockstep {
namespace {

// Only element types changed: kernels accept the new types, or refuse them by name.
constexpr NodeRewrite kOnlyTypes = nullptr;

// Changes of operators that Lockstep reads, oldest first. An operator without an entry means the
// same at the newest opset as at 17. An entry of opset 17 or older is for an operator that is
// rewritten at every opset.
struct Change {
  int64_t opset;  // the first opset with the change
  NodeRewrite rewrite;
  const char* operators;
};
constexpr Change kChanges[] = {
    {12, write_einsum, "Einsum"},
    {16, sample_any_rank, "GridSample"},  // volumes
    // axes are an operand
    {18, reduce_axes_to_attribute,
     "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd "
     "ReduceSumSquare"},
    {18, split_into_parts, "Split"},                  // num_outputs; the last part may be smaller
    {18, pad_every_axis, "Pad"},                      // axes
    {18, center_crop_or_pad, "CenterCropPad"},        // new
    {18, resize_every_axis, "Resize"},                // axes, keep_aspect_ratio_policy, antialias
    {18, write_mish, "Mish"},                         // new
    {18, group_norm_by_group, "GroupNormalization"},  // new; scale and bias of each group
    {18, kOnlyTypes, "ScatterElements ScatterND"},    // and reductions max and min
    {18, kOnlyTypes, "OptionalGetElement OptionalHasElement"},  // and no operand, or a tensor
    {19, average_dilated, "AveragePool"},                       // dilations
    {19, pad_around, "Pad"},                                    // mode wrap
    {19, resize_half_pixel_symmetric, "Resize"},                // mode half_pixel_symmetric
    {19, forget_float8_options, "Cast CastLike"},               // saturate
    {19, kOnlyTypes, "Constant Equal Identity Reshape Scan Shape Size"},
    {20, sample_any_rank, "GridSample"},                      // other names of modes
    {20, write_gelu, "Gelu"},                                 // new
    {20, reduce_booleans_as_numbers, "ReduceMax ReduceMin"},  // booleans
    {20, range_of_scalars, "Range"},  // vectors of one, in AffineGrid's body
    {20, kOnlyTypes, "ConstantOfShape IsInf IsNaN"},
    {21, group_norm_by_channel, "GroupNormalization"},  // scale and bias of each channel
    {21, kOnlyTypes,
     "Cast CastLike Constant ConstantOfShape Flatten Identity Pad Reshape Scan Shape Size "
     "Squeeze Transpose Unsqueeze"},
    {22, kOnlyTypes,
     "Acos Acosh Asin Asinh Atan Atanh AveragePool Bernoulli Conv ConvTranspose Cos Cosh Dropout "
     "Elu EyeLike GRU GlobalAveragePool GlobalMaxPool GridSample HardSigmoid HardSwish "
     "InstanceNormalization LSTM MaxPool Mish Multinomial NegativeLogLikelihoodLoss RNN "
     "RandomNormal RandomNormalLike RandomUniform RandomUniformLike RoiAlign Round Selu Sin Sinh "
     "Softplus Softsign Tan ThresholdedRelu"},
    {23, write_rms_norm, "RMSNormalization"},         // new
    {23, write_rotary_embedding, "RotaryEmbedding"},  // new
    {23, write_attention, "Attention"},               // new
    {23, kOnlyTypes,
     "Cast CastLike Constant ConstantOfShape Flatten Identity Pad Reshape Scan Shape Size "
     "Squeeze Transpose Unsqueeze"},
    {24, write_swish, "Swish"},                    // new
    {24, write_attention, "Attention"},            // nonpad_kv_seqlen, which is refused
    {24, forget_float8_options, "Cast CastLike"},  // round_mode
    {24, kOnlyTypes,
     "Constant ConstantOfShape Flatten Identity Pad Reshape Scan Shape Size Squeeze TopK "
     "Transpose Unsqueeze"},
    {25, kOnlyTypes,
     "Attention Cast CastLike Constant ConstantOfShape Flatten Identity Pad Reshape Scan Shape "
     "Size Squeeze Transpose Unsqueeze"},
    {27, forget_stash_type, "Range"},
    {28, floor_modulo, "Mod"},                      // floats with fmod 0
    {28, space_to_channels_first, "SpaceToDepth"},  // mode CRD
    {28, kOnlyTypes,
     "BitShift Cast Celu DepthToSpace Einsum OneHot OptionalGetElement OptionalHasElement "
     "ReduceLogSum "
     "ReduceLogSumExp"},
};

using Changes = std::vector<const Change*>;

// Returns the changes of an operator, newest first.
const Changes& changes_of(const std::string& type) {
  static const std::map<std::string, Changes> by_operator = [] {
    std::map<std::string, Changes> sorted;
    for (const Change& change : kChanges) {
      std::istringstream names(change.operators);
      for (std::string name; names >> name;) sorted[name].push_back(&change);
    }
    for (auto& [name, changes] : sorted)
      std::stable_sort(changes.begin(), changes.end(),
                       [](const Change* a, const Change* b) { return a->opset > b->opset; });
    return sorted;
  }();
  static const Changes none_at_all;
  auto found = by_operator.find(type);
  return found == by_operator.end() ? none_at_all : found->second;
}

}  // namespace

bool written_with_older(const std::string& type, int64_t opset) {
  const Changes& changes = changes_of(type);
  if (changes.empty() || changes.back()->opset > opset) return false;
  return changes.back()->opset <= kOpset || !schema_of("", type);
}

void adopt_newer(Graph& graph, onnx::NodeProto proto, int64_t opset) {
  NewerNode node(graph, std::move(proto), opset);
  for (const Change* change : changes_of(node.type())) {
    if (change->opset > opset || !change->rewrite) continue;
    if (!node.input(0) || !node.wants(0)) fail(node.description(), ": has no operand or no result");
    change->rewrite(node);
    if (node.rewritten()) return;
  }
  adopt(graph, node.take());
}

}  // namespace lockstep
