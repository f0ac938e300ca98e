#include "runtime/state/tiles.h"

#include <cstring>

namespace lockstep {
namespace {

// move(place in row-major order, place in the tensor) for each element.
template <class Move>
void each_place(const TensorDesc& desc, const Move& move) {
  const int64_t tile = -desc.channel_block, outputs = desc.dims[0], inputs = desc.dims[1];
  const int64_t plane = desc.dims[2] * desc.dims[3];
  int64_t place = 0;
  for (int64_t o = 0; o < outputs; o += tile)
    for (int64_t i = 0; i < inputs; i += tile)
      for (int64_t p = 0; p < plane; ++p)
        for (int64_t in = i; in < i + tile; ++in)
          for (int64_t out = o; out < o + tile; ++out)
            move((out * inputs + in) * plane + p, place++);
}

template <class Move>
void each_bytes(const TensorDesc& desc, const Move& move) {
  check(desc.channel_block < 0 && desc.dims.size() == 4, "internal: a state lies as ",
        text_of(desc));
  const std::size_t size = size_of(desc.dtype);
  each_place(desc, [&](int64_t plain, int64_t laid) {
    move(static_cast<std::size_t>(plain) * size, static_cast<std::size_t>(laid) * size, size);
  });
}

}  // namespace

void copy_to_row_major(void* to, const Tensor& from) {
  each_bytes(from.desc, [&](std::size_t plain, std::size_t laid, std::size_t size) {
    std::memcpy(static_cast<std::byte*>(to) + plain, from.as<std::byte>() + laid, size);
  });
}

void copy_from_row_major(const Tensor& to, const void* from) {
  each_bytes(to.desc, [&](std::size_t plain, std::size_t laid, std::size_t size) {
    std::memcpy(to.as<std::byte>() + laid, static_cast<const std::byte*>(from) + plain, size);
  });
}

}  // namespace lockstep
