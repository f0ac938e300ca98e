// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "operators/batch_norm/channel_groups.h"
#include "operators/batch_norm/operands.h"
#include "operators/batch_norm/passes_cpu.h"
#include "operators/kit/simd/widest.h"

namespace lockstep {
namespace {

// With n the normalised x, and m the masked dy: dx = scale / deviation * (m - mean(m) - n * mean(m
// * n)).
template <class T, int kLanes, Ending kEnding>
class Backward final : public Kernel {
  using In = BatchNormGradIn;
  using Out = BatchNormGradOut;
  using Lanes = Pack<kLanes>;

 public:
  explicit Backward(const KernelRequest& request)
      : attrs_(read_batch_norm_grad(request.node)),
        lie_(request.in[In::x]),
        sums_(lie_),
        threads_(request.threads),
        least_(least_stored_above<T>(attrs_.low)),
        most_(most_stored_below<T>(attrs_.high)),
        loops_(kLanes == normed::kChannels ? normed::loops_here<T>() : nullptr) {}

  void run(const KernelArgs& args) override {
    auto* numbers = reinterpret_cast<float*>(args.workspace + sums_.bytes());
    const Run run{.dy = operand<T>(args, In::dy),
                  .x = operand<T>(args, In::x),
                  .y = attrs_.relu && attrs_.added ? operand<T>(args, In::y) : nullptr,
                  .scale = operand<float>(args, In::scale),
                  .center = operand<float>(args, In::mean),
                  .variance = operand<float>(args, In::variance),
                  .bias = operand<float>(args, In::bias),
                  .dx = result<T>(args, Out::dx),
                  .dz = result<T>(args, Out::dz),
                  .sums = reinterpret_cast<double*>(args.workspace),
                  .mean = numbers,
                  .slope = numbers + lie_.channels};
    over_groups(
        lie_, threads_,
        [&](int64_t image, int64_t group) { widest([&] { add_up(run, image, group); }); },
        [&](int64_t group) {
          for (int lane = 0; lane < lie_.channels_of(group); ++lane) settle(args, run, group, lane);
        },
        [&](int64_t image, int64_t group) {
          widest([&] {
            if (run.dz)
              finish<true>(run, image, group);
            else
              finish<false>(run, image, group);
          });
        });
  }

  std::size_t workspace_bytes() const override {
    return sums_.bytes() + 2 * lie_.channels * sizeof(float);
  }
  std::string describe() const override {
    return join(kEnding == Ending::relu   ? "ReLU, "
                : kEnding == Ending::clip ? "Clip, "
                                          : "",
                kLanes, lie_.of_channels ? " channels" : " places", " at once");
  }

 private:
  struct Run {
    const T *dy, *x, *y;
    const float *scale, *center, *variance, *bias;
    T *dx, *dz;
    double* sums;
    float *mean, *slope;  // by channel: the mean of m, and the amount subtracted per distance from
                          // the mean
  };

  // The numbers of a group of channels, for each lane.
  struct Group {
    Lanes center, factor, bias;
    Lanes mean{}, slope{};  // only used to differentiate
  };
  Group numbers_of(const Run& run, int64_t group) const {
    const Lanes scale = spread<kLanes>(lie_, group, run.scale);
    const Lanes deviation = each_part(
        [epsilon = attrs_.epsilon](Four variance) {
          for (int i = 0; i < 4; ++i) variance[i] = std::sqrt(variance[i] + epsilon);
          return variance;
        },
        spread<kLanes>(lie_, group, run.variance, 1));  // padding is 0 without epsilon, too
    const Lanes factor = each_part([](Four a, Four b) { return a / b; }, scale, deviation);
    return {spread<kLanes>(lie_, group, run.center), factor,
            kEnding == Ending::none ? Lanes{} : spread<kLanes>(lie_, group, run.bias)};
  }

  // One image's block. `of` must outlive the block.
  normed::BackwardBlock<T> block_of(const Run& run, const Group& of, int64_t image,
                                    int64_t group) const {
    const int64_t at = lie_.walk(image, group).at;
    const auto from = [at](auto* tensor) { return tensor ? tensor + at : nullptr; };
    return {.dy = run.dy + at,
            .x = run.x + at,
            .y = from(run.y),
            .dx = run.dx + at,
            .dz = from(run.dz),
            .pixels = lie_.plane,
            .center = of.center.lanes(),
            .factor = of.factor.lanes(),
            .bias = of.bias.lanes(),
            .mean = of.mean.lanes(),
            .slope = of.slope.lanes(),
            .low = least_,
            .high = most_,
            .given = attrs_.given};
  }

  // The part of dy that passes. The forward pass is repeated to find the part. An added z is not
  // available here, but then y is.
  template <class... Width>
  [[gnu::always_inline]] inline Lanes passing(const Run& run, const Group& of, const Lanes& x,
                                              int64_t at, Width... width) const {
    const Lanes dy = Lanes::load(run.dy + at, width...);
    if constexpr (kEnding == Ending::none) return dy;
    if (run.y)
      return each_part([](Four d, Four y) { return kept_where(y > 0, d); }, dy,
                       Lanes::load(run.y + at, width...));
    const Lanes y = each_part(normalised, x, of.factor, of.center, of.bias);
    if constexpr (kEnding == Ending::relu)
      return each_part([](Four d, Four v) { return kept_where(v > 0, d); }, dy, y);
    const float low = least_, high = most_;
    return each_part(
        [low, high](Four d, Four v) {
          return kept_where((v >= Four{} + low) & (v <= Four{} + high), d);
        },
        dy, y);
  }

  void add_up(const Run& run, int64_t image, int64_t group) const {
    const Group of = numbers_of(run, group);
    if (loops_)
      return loops_->add_up_gradients(kEnding, block_of(run, of, image, group),
                                      sums_.of_block(run.sums, image, group));
    sums_.template add_up<kLanes>(run.sums, image, group, [&](int64_t at, auto... width) {
      const Lanes x = Lanes::load(run.x + at, width...);
      const Lanes m = passing(run, of, x, at, width...);
      return std::array<Lanes, 2>{
          m, each_part([](Four a, Four b, Four c) { return a * (b - c); }, m, x, of.center)};
    });
  }

  void settle(const KernelArgs& args, const Run& run, int64_t group, int lane) const {
    const int64_t c = lie_.channel(group, lane);
    const auto [sum, product] = sums_.of(run.sums, group, lane);
    const double count = static_cast<double>(lie_.count());
    const double inverse = 1 / std::sqrt(static_cast<double>(run.variance[c]) + attrs_.epsilon);
    run.mean[c] = static_cast<float>(sum / count);
    run.slope[c] = static_cast<float>(product * inverse * inverse / count);
    if (float* dscale = result<float>(args, Out::dscale))
      dscale[c] = static_cast<float>(product * inverse);
    if (float* dbias = result<float>(args, Out::dbias)) dbias[c] = static_cast<float>(sum);
  }

  template <bool kPassesOn>
  void finish(const Run& run, int64_t image, int64_t group) const {
    Group of = numbers_of(run, group);
    of.mean = spread<kLanes>(lie_, group, run.mean);
    of.slope = spread<kLanes>(lie_, group, run.slope);
    if (loops_) return loops_->differentiate(kEnding, block_of(run, of, image, group));
    each_pack(lie_, lie_.walk(image, group), [&](int64_t at, auto... width) {
      const Lanes x = Lanes::load(run.x + at, width...);
      const Lanes m = passing(run, of, x, at, width...);
      if constexpr (kPassesOn) m.store(run.dz + at, width...);
      const Lanes dx = attrs_.given
                           ? each_part([](Four a, Four f) { return f * a; }, m, of.factor)
                           : each_part([](Four a, Four v, Four f, Four center, Four average,
                                          Four s) { return f * (a - average - (v - center) * s); },
                                       m, x, of.factor, of.center, of.mean, of.slope);
      dx.store(run.dx + at, width...);
    });
  }

  BatchNormGradAttrs attrs_;
  ChannelGroups lie_;
  PairedSums sums_;
  int threads_;
  float least_, most_;                  // the bounds of a Clip, before rounding to T
  const normed::BlockLoops<T>* loops_;  // null: loops over packs are used
};

}  // namespace

std::unique_ptr<Kernel> prepare_batch_norm_grad(const KernelRequest& request) {
  const BatchNormGradAttrs attrs = read_batch_norm_grad(request.node);
  return for_passes(request.in[BatchNormGradIn::x], attrs.relu, attrs.clip,
                    [&]<class T, int kLanes, Ending kEnding>() -> std::unique_ptr<Kernel> {
                      return std::make_unique<Backward<T, kLanes, kEnding>>(request);
                    });
}

}  // namespace lockstep
