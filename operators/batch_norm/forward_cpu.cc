// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "operators/batch_norm/channel_groups.h"
#include "operators/batch_norm/operands.h"
#include "operators/batch_norm/passes_cpu.h"
#include "operators/kit/simd/widest.h"
#include "operators/layout/padding.h"

namespace lockstep {
namespace {

template <class T, int kLanes, Ending kEnding>
class Forward final : public Kernel {
  using In = BatchNormIn;
  using Out = BatchNormOut;
  using Lanes = Pack<kLanes>;

 public:
  explicit Forward(const KernelRequest& request)
      : attrs_(read_batch_norm(request.node)),
        lie_(request.in[In::x]),
        sums_(lie_),
        threads_(request.threads),
        loops_(kLanes == normed::kChannels ? normed::loops_here<T>() : nullptr) {}

  void run(const KernelArgs& args) override {
    const Run run{operand<T>(args, In::x),
                  operand<T>(args, In::z),
                  result<T>(args, Out::y),
                  operand<float>(args, In::bias),
                  reinterpret_cast<double*>(args.workspace),
                  reinterpret_cast<float*>(args.workspace + sums_.bytes()),
                  reinterpret_cast<float*>(args.workspace + sums_.bytes()) + lie_.channels};
    over_groups(
        lie_, threads_,
        [&](int64_t image, int64_t group) {
          if (attrs_.training) widest([&] { add_up(run, image, group); });
        },
        [&](int64_t group) {
          for (int lane = 0; lane < lie_.channels_of(group); ++lane) settle(args, run, group, lane);
        },
        [&](int64_t image, int64_t group) {
          widest([&] {
            if (run.z)
              finish<true>(run, image, group);
            else
              finish<false>(run, image, group);
          });
        });
    if (kEnding == Ending::clip && (attrs_.low > 0 || attrs_.high < 0))
      clear_padding(args.out[Out::y]);
  }

  std::size_t workspace_bytes() const override {
    return sums_.bytes() + 2 * lie_.channels * sizeof(float);
  }
  std::string describe() const override {
    return join(kLanes, lie_.of_channels ? " channels" : " places", " at once",
                kEnding == Ending::relu   ? ", ReLU"
                : kEnding == Ending::clip ? ", Clip"
                                          : "");
  }

 private:
  struct Run {
    const T *x, *z;
    T* y;
    const float* bias;
    double* sums;
    float *factor, *center;  // by channel
  };

  // The offset that is subtracted from x: about the mean, so that squares of a large mean do not
  // swamp the variance.
  Lanes shift(const T* x, int64_t group) const {
    constexpr int64_t kPlaces = 8;
    const auto walk = lie_.walk(0, group);
    Lanes total{};
    int64_t taken = 0;
    const auto add = [&](const Lanes& pack) {
      if (taken++ < kPlaces) total = each_part([](Four a, Four b) { return a + b; }, total, pack);
    };
    for (int64_t k = 0; k < std::min(walk.whole, kPlaces); ++k)
      add(Lanes::load(x + walk.at + k * lie_.pitch));
    if (walk.whole == 0 && walk.narrow > 0) add(Lanes::load(x + walk.at, walk.width));
    if (!lie_.of_channels) total = alike(total, taken * (walk.whole > 0 ? kLanes : walk.width));
    return lie_.of_channels ? scaled(total, taken) : total;
  }
  static Lanes scaled(const Lanes& total, int64_t taken) {
    const float share = 1 / static_cast<float>(std::max<int64_t>(1, taken));
    return each_part([share](Four a) { return a * share; }, total);
  }
  // The mean over all lanes, in every lane.
  static Lanes alike(const Lanes& total, int64_t taken) {
    std::array<float, kLanes> lanes;
    total.store(lanes.data());
    float sum = 0;
    for (const float lane : lanes) sum += lane;
    lanes.fill(sum / static_cast<float>(std::max<int64_t>(1, taken)));
    return Lanes::load(lanes.data());
  }

  void add_up(const Run& run, int64_t image, int64_t group) const {
    const Lanes first = shift(run.x, group);
    if (loops_) {
      std::array<float, kLanes> by_channel;
      first.store(by_channel.data());
      return loops_->add_up(run.x + lie_.walk(image, group).at, lie_.plane, by_channel.data(),
                            sums_.of_block(run.sums, image, group));
    }
    const auto squared = [](const Lanes& away) {
      return std::array<Lanes, 2>{away, each_part([](Four a) { return a * a; }, away)};
    };
    const auto away = [&](const Lanes& x) {
      return each_part([](Four a, Four b) { return a - b; }, x, first);
    };
    sums_.template add_up<kLanes>(run.sums, image, group, [&](int64_t at, auto... width) {
      const Lanes apart = away(Lanes::load(run.x + at, width...));
      return squared(only_used(apart, width...));
    });
  }

  void settle(const KernelArgs& args, const Run& run, int64_t group, int lane) const {
    const int64_t c = lie_.channel(group, lane);
    float mean = operand<float>(args, In::mean)[c],
          variance = operand<float>(args, In::variance)[c];
    if (attrs_.training) {
      std::array<float, kLanes> first;
      shift(run.x, group).store(first.data());
      const auto [sum, squares] = sums_.of(run.sums, group, lane);
      const auto count = static_cast<double>(lie_.count());
      const double away = sum / count, square = squares / count - away * away;
      const auto of_batch = static_cast<float>(first[lane] + away);
      const auto around = static_cast<float>(square < 0 ? 0 : square);  // NaN stays NaN
      keep(args, 0, c, mean, of_batch);
      keep(args, 1, c, variance, around);
      mean = of_batch;
      variance = around;
    }
    run.center[c] = mean;
    run.factor[c] = operand<float>(args, In::scale)[c] / std::sqrt(variance + attrs_.epsilon);
  }

  // Stores a statistic: 0 is the mean, 1 the variance.
  void keep(const KernelArgs& args, std::size_t statistic, int64_t c, float running,
            float of_batch) const {
    if (float* next = result<float>(args, Out::new_mean + statistic))
      next[c] = attrs_.momentum * running + (1 - attrs_.momentum) * of_batch;
    if (float* saved = result<float>(args, Out::saved_mean + statistic)) saved[c] = of_batch;
  }

  template <bool kAdds>
  void finish(const Run& run, int64_t image, int64_t group) const {
    const Lanes factor = spread<kLanes>(lie_, group, run.factor);
    const Lanes center = spread<kLanes>(lie_, group, run.center);
    const Lanes bias = spread<kLanes>(lie_, group, run.bias);
    if (loops_) {
      const int64_t at = lie_.walk(image, group).at;
      return loops_->normalise(kEnding, {.x = run.x + at,
                                         .z = kAdds ? run.z + at : nullptr,
                                         .y = run.y + at,
                                         .pixels = lie_.plane,
                                         .factor = factor.lanes(),
                                         .center = center.lanes(),
                                         .bias = bias.lanes(),
                                         .low = attrs_.low,
                                         .high = attrs_.high});
    }
    const Four low = Four{} + attrs_.low, high = Four{} + attrs_.high;
    each_pack(lie_, lie_.walk(image, group), [&](int64_t at, auto... width) {
      Lanes y = each_part(normalised, Lanes::load(run.x + at, width...), factor, center, bias);
      if constexpr (kAdds)
        y = each_part([](Four a, Four b) { return as_stored<T>(a) + b; }, y,
                      Lanes::load(run.z + at, width...));
      if constexpr (kEnding == Ending::relu)  // NaN stays NaN
        y = each_part([](Four v) { return kept_where(~(v < 0), v); }, y);
      if constexpr (kEnding == Ending::clip)
        y = each_part(
            [&](Four v) {
              const Four raised = chosen(v < low, low, v);
              return chosen(raised > high, high, raised);
            },
            y);
      y.store(run.y + at, width...);
    });
  }

  BatchNormAttrs attrs_;
  ChannelGroups lie_;
  PairedSums sums_;
  int threads_;
  const normed::BlockLoops<T>* loops_;  // null: loops over packs are used
};

}  // namespace

std::unique_ptr<Kernel> prepare_batch_norm(const KernelRequest& request) {
  const BatchNormAttrs attrs = read_batch_norm(request.node);
  return for_passes(request.in[BatchNormIn::x], attrs.relu, attrs.clip,
                    [&]<class T, int kLanes, Ending kEnding>() -> std::unique_ptr<Kernel> {
                      return std::make_unique<Forward<T, kLanes, kEnding>>(request);
                    });
}

}  // namespace lockstep
