// SPDX-License-Identifier: Apache-2.0
#include "builders/net/bytes.h"

#include "lockstep/operators.h"

namespace lockstep {
namespace {

Value by_channel(Net& net, const std::string& name, const std::vector<float>& values) {
  const auto channels = static_cast<int64_t>(values.size());
  return net.graph.constant(name, Literal::of<float>(values, {1, channels, 1, 1}));
}

}  // namespace

Value byte_input(Net& net, const std::string& name, const Shape& shape, const ByteScale& scale,
                 const Where& where) {
  const std::size_t channels = scale.scale.size();
  check(shape.size() == 4 && shape[1] == Dim(static_cast<int64_t>(channels)) &&
            scale.shift.size() == channels,
        "the bytes of '", name, "' are ", shape, ", but are normalised by ", channels,
        " scales and ", scale.shift.size(), " shifts");
  const Value bytes = net.input(name, {DType::uint8, shape}, where);
  const Value levels = cast(net.graph, bytes, DType::float32, name + "_levels");
  const Value scaled =
      mul(net.graph, levels, by_channel(net, name + "_scale", scale.scale), name + "_scaled");
  return sub(net.graph, scaled, by_channel(net, name + "_shift", scale.shift),
             name + "_normalised");
}

}  // namespace lockstep
