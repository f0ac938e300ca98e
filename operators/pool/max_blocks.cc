#include "operators/pool/max_blocks.h"

#include "operators/kit/pack.h"
#include "operators/pool/planes.h"

namespace lockstep {
namespace {

// kLanes neighbouring channels of one image. `block` floats lie between neighbouring pixels.
template <int kLanes>
class LanesOfPlane {
 public:
  LanesOfPlane(const PooledPlanes& planes, int64_t block) : planes_(planes), block_(block) {}

  // Adds up in the order of windows.
  void add_gradients(const float* dy, const float* x, float* dx) const {
    const PooledAxis &rows = planes_.rows, &columns = planes_.columns;
    for (int64_t row = 0; row < rows.out; ++row) {
      const int64_t top = rows.begin(row), height = rows.end(row) - top;
      for (int64_t column = 0; column < columns.out; ++column, dy += block_) {
        const int64_t left = columns.begin(column), width = columns.end(column) - left;
        if (height <= 0 || width <= 0) continue;
        const int64_t at = (top * columns.in + left) * block_;
        if (height == 3 && width == 3)
          add_window(dy, x + at, dx + at, 3, 3);
        else if (height == 2 && width == 2)
          add_window(dy, x + at, dx + at, 2, 2);
        else
          add_window(dy, x + at, dx + at, height, width);
      }
    }
  }

 private:
  using Lanes = Pack<kLanes>;
  static constexpr int kParts = Lanes::kParts;

  // The first of equals is the maximum, and NaN is above all. Inlined, so that known sizes become
  // straight code.
  [[gnu::always_inline]] void add_window(const float* dy, const float* x, float* dx, int64_t height,
                                         int64_t width) const {
    Lanes most = Lanes::load(x);
    FourMasks place[kParts] = {};
    int32_t number = 1;
    for (int64_t i = 1; i < height * width; ++i, ++number) {
      const Lanes value = Lanes::load(x + offset(i, width));
      for (int p = 0; p < kParts; ++p) {
        const FourMasks above = ~(value.part[p] <= most.part[p]) & (most.part[p] == most.part[p]);
        most.part[p] = chosen(above, value.part[p], most.part[p]);
        place[p] = (above & number) | (~above & place[p]);
      }
    }
    const Lanes gradient = Lanes::load(dy);
    number = 0;
    for (int64_t i = 0; i < height * width; ++i, ++number) {
      Lanes sum = Lanes::load(dx + offset(i, width));
      for (int p = 0; p < kParts; ++p)
        sum.part[p] += kept_where(place[p] == number, gradient.part[p]);
      sum.store(dx + offset(i, width));
    }
  }
  int64_t offset(int64_t i, int64_t width) const {
    return (i / width * planes_.columns.in + i % width) * block_;
  }

  PooledPlanes planes_;
  int64_t block_;
};

template <int kLanes>
std::unique_ptr<Kernel> grad_kernel(const KernelRequest& request) {
  const PooledPlanes planes(request, request.in[1].dims, request.in[0].dims);
  const int64_t block = request.in[1].channel_block;
  return make_kernel(
      [planes, block, one = LanesOfPlane<kLanes>(planes, block)](const KernelArgs& args) {
        const int64_t small = planes.rows.out * planes.columns.out * block,
                      large = planes.rows.in * planes.columns.in * block;
        parallel_for(planes.count / block, 1, planes.threads, [&](int64_t begin, int64_t end) {
          for (int64_t p = begin; p < end; ++p) {
            float* const dx = args.out[0].as<float>() + p * large;
            std::fill(dx, dx + large, 0.0F);
            for (int64_t lane = 0; lane < block; lane += kLanes)
              one.add_gradients(args.in[0].as<const float>() + p * small + lane,
                                args.in[1].as<const float>() + p * large + lane, dx + lane);
          }
        });
      },
      join(kLanes, " channels at once"));
}

}  // namespace

std::string not_blocks_of_planes(const KernelRequest& request) {
  int block = 1;
  for (const TensorDesc& operand : request.in) block = std::max(block, operand.channel_block);
  if (block % 4 != 0) return "takes channel blocks of 4, 8 and so on";
  return not_plain_windows(request);
}

std::unique_ptr<Kernel> max_of_blocks_grad(const KernelRequest& request) {
  const int block = request.in[0].channel_block;
  supported(
      block > 1 && block == request.in[1].channel_block && block == request.out[0].channel_block,
      "takes operands in equal channel blocks");
  return block % 8 == 0 ? grad_kernel<8>(request) : grad_kernel<4>(request);
}

}  // namespace lockstep
