// SPDX-License-Identifier: Apache-2.0
#include "tests/operators/rnn_reference.h"

#include <algorithm>
#include <cmath>

#include "runtime/exec/states.h"

namespace lockstep::testing {
namespace {

using Row = std::vector<double>;

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double hyperbolic_tangent(double x) { return std::tanh(x); }

struct States {
  Row h, c;
};

// One direction of one node.
class Naive {
 public:
  Naive(const NaiveRecurrence& how, const std::vector<Doubles>& in, int64_t d)
      : how_(how), in_(in), d_(d), inputs_(in[0].dims[2]), hidden_(in[2].dims[2]) {
    const std::size_t each = how.cell == "RNN" ? 1 : how.cell == "GRU" ? 2 : 3;
    for (std::size_t i = 0; i < each; ++i) {
      const std::size_t k = static_cast<std::size_t>(d) * each + i;
      const bool usual = how.curves.empty();
      const Curve curve = !usual                        ? how.curves[k]
                          : i == 0 && how.cell != "RNN" ? Curve(sigmoid)
                                                        : Curve(hyperbolic_tangent);
      if (how.cell == "LSTM" && i == 2)  // depends on the cell's new state, as in ONNX Runtime
        curves_.push_back(curve);
      else
        curves_.push_back(
            [this, curve](double x) { return curve(std::clamp(x, -how_.clip, how_.clip)); });
    }
  }

  States step(const Row& x, const States& before) const {
    if (how_.cell == "LSTM") return lstm(x, before);
    if (how_.cell == "GRU") return gru(x, before);
    States now = before;
    for (int64_t k = 0; k < hidden_; ++k)
      now.h[k] = curves_[0](input(0, k, x) + state(0, k, before.h));
    return now;
  }

 private:
  int64_t gates() const { return in_[1].dims[1] / hidden_; }
  double bias(int64_t half, int64_t gate, int64_t k) const {
    return in_[3].values.empty() ? 0 : in_[3][((d_ * 2 + half) * gates() + gate) * hidden_ + k];
  }
  double input(int64_t gate, int64_t k, const Row& x) const {
    double sum = bias(0, gate, k);
    for (int64_t i = 0; i < inputs_; ++i)
      sum += in_[1][((d_ * gates() + gate) * hidden_ + k) * inputs_ + i] * x[i];
    return sum;
  }
  double state(int64_t gate, int64_t k, const Row& h, bool with_bias = true) const {
    double sum = with_bias ? bias(1, gate, k) : 0;
    for (int64_t i = 0; i < hidden_; ++i)
      sum += in_[2][((d_ * gates() + gate) * hidden_ + k) * hidden_ + i] * h[i];
    return sum;
  }
  double peephole(int64_t gate, int64_t k) const {
    return in_[7].values.empty() ? 0 : in_[7][(d_ * 3 + gate) * hidden_ + k];
  }

  States lstm(const Row& x, const States& before) const {
    States now = before;
    for (int64_t k = 0; k < hidden_; ++k) {
      const auto sum = [&](int64_t gate) { return input(gate, k, x) + state(gate, k, before.h); };
      const double i = curves_[0](sum(0) + peephole(0, k) * before.c[k]);
      const double f =
          how_.input_forget ? 1 - i : curves_[0](sum(2) + peephole(2, k) * before.c[k]);
      now.c[k] = f * before.c[k] + i * curves_[1](sum(3));
      now.h[k] = curves_[0](sum(1) + peephole(1, k) * now.c[k]) * curves_[2](now.c[k]);
    }
    return now;
  }

  States gru(const Row& x, const States& before) const {
    States now = before;
    Row r(hidden_), scaled(hidden_);
    for (int64_t k = 0; k < hidden_; ++k) {
      r[k] = curves_[0](input(1, k, x) + state(1, k, before.h));
      scaled[k] = r[k] * before.h[k];
    }
    for (int64_t k = 0; k < hidden_; ++k) {
      const double z = curves_[0](input(0, k, x) + state(0, k, before.h));
      const double of_state = how_.linear_before_reset ? r[k] * state(2, k, before.h)
                                                       : state(2, k, scaled, false) + bias(1, 2, k);
      now.h[k] = (1 - z) * curves_[1](input(2, k, x) + of_state) + z * before.h[k];
    }
    return now;
  }

  const NaiveRecurrence& how_;
  const std::vector<Doubles>& in_;
  int64_t d_, inputs_, hidden_;
  std::vector<Curve> curves_;
};

}  // namespace

Reference naive_recurrence(const NaiveRecurrence& how) {
  return [how](std::vector<Doubles> in) {
    in.resize(8);
    const bool first = how.batch_first;
    const int64_t T = in[0].dims[first ? 1 : 0], N = in[0].dims[first ? 0 : 1];
    const int64_t I = in[0].dims[2], H = in[2].dims[2], D = in[1].dims[0];
    Doubles y{first ? Dims{N, T, D, H} : Dims{T, D, N, H}, Row(T * D * N * H)};
    Doubles h{first ? Dims{N, D, H} : Dims{D, N, H}, Row(D * N * H)}, c = h;
    for (int64_t d = 0; d < D; ++d) {
      const Naive naive(how, in, d);
      const bool reversed = d == 1 || how.direction == "reverse";
      for (int64_t n = 0; n < N; ++n) {
        const int64_t state = (first ? n * D + d : d * N + n) * H;
        const auto given = [&](std::size_t i) {
          Row row(H);
          if (!in[i].values.empty()) std::copy_n(in[i].values.begin() + state, H, row.begin());
          return row;
        };
        States now{given(5), given(6)};
        const int64_t length = in[4].values.empty() ? T : static_cast<int64_t>(in[4][n]);
        for (int64_t i = 0; i < length; ++i) {
          const int64_t t = reversed ? length - 1 - i : i;
          const auto x = in[0].values.begin() + (first ? n * T + t : t * N + n) * I;
          now = naive.step(Row(x, x + I), now);
          const int64_t at = first ? (n * T + t) * D + d : (t * D + d) * N + n;
          std::copy_n(now.h.begin(), H, y.values.begin() + at * H);
        }
        std::copy_n(now.h.begin(), H, h.values.begin() + state);
        std::copy_n(now.c.begin(), H, c.values.begin() + state);
      }
    }
    std::vector<Doubles> results{y, h};
    if (how.cell == "LSTM") results.push_back(c);
    return results;
  };
}

}  // namespace lockstep::testing
