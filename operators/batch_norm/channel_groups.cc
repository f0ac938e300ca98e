// SPDX-License-Identifier: Apache-2.0
#include "operators/batch_norm/channel_groups.h"

#include <algorithm>

namespace lockstep {

ChannelGroups::ChannelGroups(const TensorDesc& x)
    : images(x.dims[0]),
      channels(x.dims[1]),
      plane(x.count() / std::max<int64_t>(1, images * channels)) {
  image_pitch = channels * plane;
  if (x.block() > 1) {
    in_blocks = true;
    lanes = static_cast<int>(x.block());
    groups = (channels + lanes - 1) / lanes;
    pitch = lanes;
    group_pitch = plane * lanes;
    image_pitch = groups * group_pitch;
  } else if (plane == 1) {  // a matrix: its rows are positions of one image
    plane = images;
    images = 1;
    groups = (channels + lanes - 1) / lanes;
    pitch = channels;
    group_pitch = lanes;
  } else {
    of_channels = false;
    groups = channels;
    pitch = lanes;
    group_pitch = plane;
  }
}

int ChannelGroups::channels_of(int64_t group) const {
  if (!of_channels) return 1;
  return static_cast<int>(std::min<int64_t>(lanes, channels - group * lanes));
}

ChannelGroups::Walk ChannelGroups::walk(int64_t image, int64_t group) const {
  const int64_t at = image * image_pitch + group * group_pitch;
  if (!of_channels)
    return {at, plane / lanes, plane % lanes > 0 ? 1 : 0, static_cast<int>(plane % lanes)};
  const int width = channels_of(group);
  return in_blocks || width == lanes ? Walk{at, plane, 0, 0} : Walk{at, 0, plane, width};
}

}  // namespace lockstep
