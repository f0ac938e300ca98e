// SPDX-License-Identifier: Apache-2.0
// The random streams of one seed (lockstep/random.h) that data uses, in one place, so that no two
// uses of a run draw the same numbers. The streams of initial values are below all of these, except
// a U-Net's (models/unet.cc). The streams of a step's nodes (graph/random_stream.h) are hashes.
// builders/resident/load.cc shuffles rows by the streams from 3 << 40 on. Tasks share the blocks 5,
// 6 and 7: no run has two tasks.
#pragma once

#include <cstdint>

namespace lockstep::streams {

// The stream of the first item; item i has the i-th stream from there.
constexpr uint64_t stream_block(uint64_t number) { return number << 40; }

inline constexpr uint64_t kEpochOrder = stream_block(1);  // by epoch
inline constexpr uint64_t kDigits = stream_block(2), kHeldOutDigits = stream_block(3);
inline constexpr uint64_t kSyntheticPattern = stream_block(4);  // by label
inline constexpr uint64_t kSynthetic = stream_block(5), kHeldOutSynthetic = stream_block(6);
inline constexpr uint64_t kScenes = stream_block(5), kHeldOutScenes = stream_block(6);
inline constexpr uint64_t kScenePaint = uint64_t{1} << 39;    // added to the stream of a scene
inline constexpr uint64_t kTextBeginnings = stream_block(7);  // by pass
inline constexpr uint64_t kPictureOrder = stream_block(7);    // of detectors, by epoch
inline constexpr uint64_t kPictureScale = stream_block(8);    // of detectors, by step
inline constexpr uint64_t kPictureJitter = stream_block(13);  // of detectors, by step
inline constexpr uint64_t kTextSamples = stream_block(9);     // by draw
inline constexpr uint64_t kShapes = stream_block(11), kHeldOutShapes = stream_block(12);

// By draw, episode or step, of which there may be more than 2^40.
inline constexpr uint64_t kMixedShares = uint64_t{1} << 58;
inline constexpr uint64_t kAugmentation = uint64_t{1} << 61;
inline constexpr uint64_t kHeldOutEpisodes = uint64_t{1} << 61;  // added to an episode's stream
inline constexpr uint64_t kCrops = uint64_t{1} << 62;
inline constexpr uint64_t kEpisodes = uint64_t{1} << 62;

}  // namespace lockstep::streams
