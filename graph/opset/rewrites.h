// SPDX-License-Identifier: Apache-2.0
// Rewrites of a node of a newer opset, or of an operator that Lockstep does not have, into
// opset 17. For newer_opsets.cc.
#pragma once

#include "graph/opset/newer_node.h"

namespace lockstep {

using NodeRewrite = void (*)(NewerNode&);

// reductions.cc
void reduce_axes_to_attribute(NewerNode& node);
void reduce_booleans_as_numbers(NewerNode& node);

// shapes.cc
void split_into_parts(NewerNode& node);
void pad_every_axis(NewerNode& node);
void pad_around(NewerNode& node);
void center_crop_or_pad(NewerNode& node);
void space_to_channels_first(NewerNode& node);
void range_of_scalars(NewerNode& node);

// resize.cc
void resize_every_axis(NewerNode& node);
void resize_half_pixel_symmetric(NewerNode& node);
void sample_any_rank(NewerNode& node);

// pool.cc
void average_dilated(NewerNode& node);
void write_lp_pool(NewerNode& node);
void write_global_lp_pool(NewerNode& node);
void write_max_unpool(NewerNode& node);

// functions.cc
void write_gelu(NewerNode& node);
void write_mish(NewerNode& node);
void write_swish(NewerNode& node);
void write_swiglu(NewerNode& node);
void floor_modulo(NewerNode& node);
void forget_float8_options(NewerNode& node);
void forget_stash_type(NewerNode& node);

// norms.cc
void write_mean_variance_norm(NewerNode& node);
void write_lp_normalization(NewerNode& node);
void group_norm_by_group(NewerNode& node);
void group_norm_by_channel(NewerNode& node);
void write_rms_norm(NewerNode& node);

// einsum.cc
void write_einsum(NewerNode& node);

// quantized.cc
void quantize_to_bytes(NewerNode& node);
void dequantize_bytes(NewerNode& node);
void write_dynamic_quantize(NewerNode& node);
void write_integer_product(NewerNode& node);
void write_quantized_product(NewerNode& node);

// selection.cc
void write_compress(NewerNode& node);
void write_reverse_sequence(NewerNode& node);
void write_col2im(NewerNode& node);

// signals.cc
void write_dft(NewerNode& node);
void write_stft(NewerNode& node);

// windows.cc
void write_hann_window(NewerNode& node);
void write_hamming_window(NewerNode& node);
void write_blackman_window(NewerNode& node);
void write_mel_weights(NewerNode& node);

// attention.cc
void write_attention(NewerNode& node);
void write_rotary_embedding(NewerNode& node);

}  // namespace lockstep
