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
    // no kernels: written with other operators
    {12, write_einsum, "Einsum"},
    {16, sample_any_rank, "GridSample"},  // volumes
    {17, write_dft, "DFT"},
    {17, write_stft, "STFT"},
    {17, write_hann_window, "HannWindow"},
    {17, write_hamming_window, "HammingWindow"},
    {17, write_blackman_window, "BlackmanWindow"},
    {17, write_mel_weights, "MelWeightMatrix"},
    {17, write_mean_variance_norm, "MeanVarianceNormalization"},
    {17, write_lp_normalization, "LpNormalization"},
    {17, write_lp_pool, "LpPool"},
    {17, write_global_lp_pool, "GlobalLpPool"},
    {17, write_max_unpool, "MaxUnpool"},
    {17, write_dynamic_quantize, "DynamicQuantizeLinear"},
    {17, write_integer_product, "MatMulInteger"},
    {17, write_quantized_product, "QLinearMatMul"},
    {17, write_compress, "Compress"},
    {17, write_reverse_sequence, "ReverseSequence"},
    // axes are an operand
    {18, reduce_axes_to_attribute,
     "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd "
     "ReduceSumSquare"},
    {18, split_into_parts, "Split"},                  // num_outputs; the last part may be smaller
    {18, pad_every_axis, "Pad"},                      // axes
    {18, center_crop_or_pad, "CenterCropPad"},        // new
    {18, write_col2im, "Col2Im"},                     // new
    {18, resize_every_axis, "Resize"},                // axes, keep_aspect_ratio_policy, antialias
    {18, write_lp_pool, "LpPool"},                    // dilations, ceil_mode
    {18, write_mish, "Mish"},                         // new
    {18, group_norm_by_group, "GroupNormalization"},  // new; scale and bias of each group
    {18, kOnlyTypes, "ScatterElements ScatterND"},    // and reductions max and min
    {18, kOnlyTypes, "OptionalGetElement OptionalHasElement"},  // and no operand, or a tensor
    {19, average_dilated, "AveragePool"},                       // dilations
    {19, pad_around, "Pad"},                                    // mode wrap
    {19, resize_half_pixel_symmetric, "Resize"},                // mode half_pixel_symmetric
    {19, forget_float8_options, "Cast CastLike"},               // saturate
    {19, quantize_to_bytes, "QuantizeLinear"},                  // saturate; more types
    {19, dequantize_bytes, "DequantizeLinear"},
    {19, kOnlyTypes, "Constant Equal Identity If Loop Reshape Scan Shape Size"},
    {20, sample_any_rank, "GridSample"},                      // other names of modes
    {20, write_gelu, "Gelu"},                                 // new
    {20, reduce_booleans_as_numbers, "ReduceMax ReduceMin"},  // booleans
    {20, range_of_scalars, "Range"},  // vectors of one, in AffineGrid's body
    {20, kOnlyTypes, "ConstantOfShape IsInf IsNaN"},
    {20, write_dft, "DFT"},                             // axis is an operand
    {21, group_norm_by_channel, "GroupNormalization"},  // scale and bias of each channel
    {21, quantize_to_bytes, "QuantizeLinear"},          // output_dtype, block_size
    {21, dequantize_bytes, "DequantizeLinear"},
    {21, kOnlyTypes,
     "QLinearMatMul Cast CastLike Constant ConstantOfShape Flatten Identity If Loop Pad Reshape "
     "Scan Shape Size Squeeze Transpose Unsqueeze"},
    {22, write_lp_normalization, "LpNormalization"},
    {22, write_lp_pool, "LpPool"},
    {22, write_global_lp_pool, "GlobalLpPool"},
    {22, write_max_unpool, "MaxUnpool"},
    {22, kOnlyTypes,
     "Acos Acosh Asin Asinh Atan Atanh AveragePool Bernoulli Conv ConvTranspose Cos Cosh Dropout "
     "Elu EyeLike GRU GlobalAveragePool GlobalMaxPool GridSample HardSigmoid HardSwish "
     "InstanceNormalization LSTM MaxPool Mish Multinomial NegativeLogLikelihoodLoss RNN "
     "RandomNormal RandomNormalLike RandomUniform RandomUniformLike RoiAlign Round Selu Sin Sinh "
     "Softplus Softsign Tan ThresholdedRelu"},
    {23, write_rms_norm, "RMSNormalization"},         // new
    {23, write_rotary_embedding, "RotaryEmbedding"},  // new
    {23, write_attention, "Attention"},               // new
    {23, quantize_to_bytes, "QuantizeLinear"},        // precision
    {23, dequantize_bytes, "DequantizeLinear"},
    {23, kOnlyTypes,
     "Cast CastLike Constant ConstantOfShape Flatten Identity If Loop Pad Reshape Scan Shape Size "
     "Squeeze Transpose Unsqueeze"},
    {24, write_swish, "Swish"},                    // new
    {24, write_attention, "Attention"},            // nonpad_kv_seqlen, which is refused
    {24, forget_float8_options, "Cast CastLike"},  // round_mode
    {24, quantize_to_bytes, "QuantizeLinear"},
    {24, dequantize_bytes, "DequantizeLinear"},
    {24, kOnlyTypes,
     "Constant ConstantOfShape Flatten Identity If Loop Pad Reshape Scan Shape Size Squeeze TopK "
     "Transpose Unsqueeze"},
    {25, quantize_to_bytes, "QuantizeLinear"},
    {25, dequantize_bytes, "DequantizeLinear"},
    {25, kOnlyTypes,
     "Attention Cast CastLike Constant ConstantOfShape Flatten Identity If Loop Pad Reshape Scan "
     "Shape Size Squeeze Transpose Unsqueeze"},
    {27, forget_stash_type, "Range"},
    {28, floor_modulo, "Mod"},                      // floats with fmod 0
    {28, space_to_channels_first, "SpaceToDepth"},  // mode CRD
    {28, quantize_to_bytes, "QuantizeLinear"},
    {28, dequantize_bytes, "DequantizeLinear"},
    {28, write_swiglu, "SwiGLU"},  // new
    {28, write_compress, "Compress"},
    {28, write_reverse_sequence, "ReverseSequence"},
    {28, kOnlyTypes,
     "BitShift Cast Celu DepthToSpace Einsum OneHot OptionalGetElement OptionalHasElement "
     "ReduceLogSum ReduceLogSumExp"},
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
  const auto oldest = std::max(opset, kOpset);  // older files are converted to our opset
  return !changes.empty() && changes.back()->opset <= oldest &&
         (changes.back()->opset <= kOpset || !schema_of("", type));
}

void adopt_newer(Graph& graph, onnx::NodeProto proto, int64_t opset) {
  opset = std::max(opset, kOpset);
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
