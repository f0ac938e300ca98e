// SPDX-License-Identifier: Apache-2.0
#include "operators/pool/max_blocks.h"

#include <algorithm>

#include "operators/kit/simd/pack.h"
#include "operators/kit/simd/widest.h"
#include "operators/pool/max_loops.h"
#include "operators/pool/planes.h"

namespace lockstep {
namespace {

// kLanes neighbouring channels of one image. Neighbouring pixels are `block` elements apart. Sums
// are floats in a band with as many rows as a window. A row of sums is rounded to T once, when no
// later window reaches the row.
template <class T, int kLanes>
class LanesOfPlane {
 public:
  LanesOfPlane(const PooledPlanes& planes, int64_t block) : planes_(planes), block_(block) {}

  int64_t floats_of_band() const { return planes_.rows.kernel * band_row(); }

  // Adds gradients in the order of windows.
  void gradients(const T* dy, const T* x, float* band, T* dx) const {
    const PooledAxis &rows = planes_.rows, &columns = planes_.columns;
    std::fill(band, band + floats_of_band(), 0.0F);
    int64_t done = 0;
    const auto finish_before = [&](int64_t row) {
      for (; done < std::min(row, rows.in); ++done)
        move(sums_of(band, done), dx + done * columns.in * block_);
    };
    for (int64_t row = 0; row < rows.out; ++row) {
      const int64_t top = rows.begin(row), height = rows.end(row) - top;
      finish_before(top);
      for (int64_t column = 0; column < columns.out; ++column, dy += block_) {
        const int64_t left = columns.begin(column), width = columns.end(column) - left;
        if (height <= 0 || width <= 0) continue;
        const T* window = x + (top * columns.in + left) * block_;
        if (height == 3 && width == 3)
          add_window(dy, window, band, {top, left, 3, 3});
        else if (height == 2 && width == 2)
          add_window(dy, window, band, {top, left, 2, 2});
        else
          add_window(dy, window, band, {top, left, height, width});
      }
    }
    finish_before(rows.in);
  }

 private:
  using Lanes = Pack<kLanes>;
  static constexpr int kParts = Lanes::kParts;

  struct Place {
    int64_t top, left, height, width;
  };

  int64_t band_row() const { return planes_.columns.in * kLanes; }
  float* sums_of(float* band, int64_t row) const {
    return band + row % planes_.rows.kernel * band_row();
  }
  // Writes a row of sums to dx, and clears the sums for a later row.
  void move(float* sums, T* dx) const {
    for (int64_t i = 0; i < planes_.columns.in; ++i, sums += kLanes, dx += block_) {
      Lanes::load(sums).store(dx);
      Lanes{}.store(sums);
    }
  }

  // The first of equal values is the maximum, and NaN is above all numbers. Inlined, so that
  // constant sizes give straight-line code.
  [[gnu::always_inline]] void add_window(const T* dy, const T* x, float* band,
                                         const Place& at) const {
    Lanes most = Lanes::load(x);
    FourMasks place[kParts] = {};
    int32_t number = 0;
    for (int64_t r = 0; r < at.height; ++r)
      for (int64_t c = 0; c < at.width; ++c, ++number) {
        const Lanes value = Lanes::load(x + (r * planes_.columns.in + c) * block_);
        for (int p = 0; p < kParts; ++p) {
          const FourMasks above = ~(value.part[p] <= most.part[p]) & (most.part[p] == most.part[p]);
          most.part[p] = chosen(above, value.part[p], most.part[p]);
          place[p] = (above & number) | (~above & place[p]);
        }
      }
    const Lanes gradient = Lanes::load(dy);
    number = 0;
    for (int64_t r = 0; r < at.height; ++r) {
      float* sums = sums_of(band, at.top + r) + at.left * kLanes;
      for (int64_t c = 0; c < at.width; ++c, ++number, sums += kLanes) {
        Lanes sum = Lanes::load(sums);
        for (int p = 0; p < kParts; ++p)
          sum.part[p] += kept_where(place[p] == number, gradient.part[p]);
        sum.store(sums);
      }
    }
  }

  PooledPlanes planes_;
  int64_t block_;
};

// Each thread has a part of the workspace. Calls run(part, its first plane, the end).
template <class Run>
void each_share(const PooledPlanes& planes, int64_t block, const Run& run) {
  const int64_t count = planes.count / block, shares = planes.threads;
  parallel_for(shares, 1, planes.threads, [&](int64_t begin, int64_t end) {
    for (int64_t share = begin; share < end; ++share)
      run(share, share * count / shares, (share + 1) * count / shares);
  });
}

template <class T, int kLanes>
class MaxOfBlocksGrad final : public Kernel {
 public:
  explicit MaxOfBlocksGrad(const KernelRequest& request)
      : planes_(request, request.in[1].dims, request.in[0].dims),
        block_(request.in[1].layout.block()),
        one_(planes_, block_) {}

  void run(const KernelArgs& args) override {
    each_share(planes_, block_, [&](int64_t share, int64_t begin, int64_t end) {
      widest([&] {
        run(args, begin, end,
            reinterpret_cast<float*>(args.workspace) + share * one_.floats_of_band());
      });
    });
  }
  std::size_t workspace_bytes() const override {
    return planes_.threads * one_.floats_of_band() * sizeof(float);
  }
  std::string describe() const override { return join(kLanes, " channels at once"); }

 private:
  void run(const KernelArgs& args, int64_t begin, int64_t end, float* band) const {
    const int64_t small = planes_.rows.out * planes_.columns.out * block_,
                  large = planes_.rows.in * planes_.columns.in * block_;
    for (int64_t p = begin; p < end; ++p)
      for (int64_t lane = 0; lane < block_; lane += kLanes)
        one_.gradients(args.in[0].as<const T>() + p * small + lane,
                       args.in[1].as<const T>() + p * large + lane, band,
                       args.out[0].as<T>() + p * large + lane);
  }

  PooledPlanes planes_;
  int64_t block_;
  LanesOfPlane<T, kLanes> one_;
};

// Uses vectors of 16 floats.
template <class T>
class MaxOfWideBlocksGrad final : public Kernel {
 public:
  explicit MaxOfWideBlocksGrad(const KernelRequest& request)
      : planes_(request, request.in[1].dims, request.in[0].dims),
        rows_of_places_((planes_.rows.kernel + planes_.rows.stride - 1) / planes_.rows.stride) {}

  void run(const KernelArgs& args) override {
    const int64_t small = planes_.rows.out * planes_.columns.out * max_pooled::kChannels,
                  large = planes_.rows.in * planes_.columns.in * max_pooled::kChannels;
    each_share(planes_, max_pooled::kChannels, [&](int64_t share, int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p)
        max_pooled::avx512_max_grad<T>(
            {.rows = planes_.rows,
             .columns = planes_.columns,
             .dy = args.in[0].as<const T>() + p * small,
             .x = args.in[1].as<const T>() + p * large,
             .dx = args.out[0].as<T>() + p * large,
             .places = reinterpret_cast<int32_t*>(args.workspace) + share * places(),
             .rows_of_places = rows_of_places_});
    });
  }
  std::size_t workspace_bytes() const override {
    return planes_.threads * places() * sizeof(int32_t);
  }
  std::string describe() const override { return join(max_pooled::kChannels, " channels at once"); }

 private:
  int64_t places() const { return rows_of_places_ * planes_.columns.out * max_pooled::kChannels; }

  PooledPlanes planes_;
  int64_t rows_of_places_;
};

}  // namespace

std::string not_blocks_of_planes(const KernelRequest& request) {
  int block = 1;
  for (const TensorDesc& operand : request.in) block = std::max(block, operand.layout.block());
  if (block % 4 != 0) return "takes channel blocks of 4, 8 and so on";
  return not_plain_windows(request);
}

std::unique_ptr<Kernel> max_of_blocks_grad(const KernelRequest& request) {
  const Layout layout = request.in[0].layout;
  supported(layout.is_blocks() && layout == request.in[1].layout && layout == request.out[0].layout,
            "takes operands in equal channel blocks");
  supported(!request.in[1].padded(), "takes channel blocks without padding");
  return dispatch<MaxOfBlocks>(request.in[0].dtype, [&]<class T>() -> std::unique_ptr<Kernel> {
    const int block = layout.block();
    if (block == max_pooled::kChannels && isa_here() == Isa::avx512)
      return std::make_unique<MaxOfWideBlocksGrad<T>>(request);
    if (block % 8 == 0) return std::make_unique<MaxOfBlocksGrad<T, 8>>(request);
    return std::make_unique<MaxOfBlocksGrad<T, 4>>(request);
  });
}

}  // namespace lockstep
