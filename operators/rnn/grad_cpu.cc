// SPDX-License-Identifier: Apache-2.0
// Backward. Each step multiplies the gradients of its sums by R for the gradient of the previous
// state. The gradients of x and of the weights are one product each over all steps. Sums over rows
// visit rows in order, for any number of threads.
#include "operators/rnn/grad_cpu.h"

#include "operators/rnn/direction_cpu.h"
#include "operators/rnn/recurrence.h"
#include "runtime/threads/parallel.h"

namespace lockstep {
namespace {

class RecurrentGradKernel final : public Kernel {
 public:
  explicit RecurrentGradKernel(const KernelRequest& request)
      : node_(request), sizes_(node_.sizes), in_(sizes_.cell) {}

  std::size_t workspace_bytes() const override {
    const int64_t H = sizes_.hidden;
    return sizeof(float) * (H + 3 * sizes_.batch * H + sizes_.rows() * (2 * H + sizes_.sums()));
  }
  std::string describe() const override { return "dnnl sgemm"; }

  void run(const KernelArgs& args) override {
    const SequenceLengths lengths(args, node_);
    for (int64_t d = 0; d < sizes_.directions; ++d) {
      const Direction on = direction(args, lengths, d);
      begin(args, on);
      for (int64_t i = sizes_.steps; i-- > 0;) step(args, on, on.order.at(i));
      end(args, on);
      weights(args, on);
      biases(args, on);
      if (sizes_.cell == Cell::lstm) peepholes(args, on);
    }
  }

 private:
  // The operands and buffers of a direction.
  struct Direction {
    int64_t d;
    const CellMath& math;
    RecurrentOrder order;
    const SequenceLengths& lengths;
    const float *r, *peepholes, *sums, *kept, *first_c;
    float* zeros;               // [hidden]
    float* dh = nullptr;        // [batch, hidden]
    float* dc = nullptr;        // [batch, hidden]
    float* dscaled = nullptr;   // [batch, hidden] GRU: the gradient of r * the previous state
    float* before = nullptr;    // [rows, hidden] the states before each step
    float* dproduct = nullptr;  // [rows, hidden] GRU: the gradient of the product that r scales
    float* dsums = nullptr;     // [rows, gates * hidden]
  };

  Direction direction(const KernelArgs& args, const SequenceLengths& lengths, int64_t d) const {
    const int64_t H = sizes_.hidden, G = sizes_.sums(), rows = sizes_.rows();
    const bool lstm = sizes_.cell == Cell::lstm;
    auto* free = reinterpret_cast<float*>(args.workspace);
    const auto take = [&](int64_t count) { return std::exchange(free, free + count); };
    Direction on{.d = d,
                 .math = node_.math[d],
                 .order = node_.order(d),
                 .lengths = lengths,
                 .r = of_direction(args, RecurrentIn::r, d, G * H),
                 .peepholes = lstm ? of_direction(args, RecurrentIn::peepholes, d, 3 * H) : nullptr,
                 .sums = of_direction(args, in_.sums, d, rows * G),
                 .kept = keeps(sizes_.cell) ? of_direction(args, in_.kept, d, rows * H) : nullptr,
                 .first_c = lstm ? operand<float>(args, RecurrentIn::c) : nullptr,
                 .zeros = take(H)};
    for (float** states : {&on.dh, &on.dc, &on.dscaled}) *states = take(sizes_.batch * H);
    for (float** of_rows : {&on.before, &on.dproduct}) *of_rows = take(rows * H);
    on.dsums = take(rows * G);
    return on;
  }

  // The state before step t of example n, read from y or from the first states; zeros in padding.
  const float* state_before(const KernelArgs& args, const Direction& on, int64_t t,
                            int64_t n) const {
    if (t >= on.lengths[n]) return on.zeros;
    if (!on.order.is_first(t, on.lengths[n]))
      return args.in[in_.y].as<float>() + sizes_.y_at(on.order.before(t), on.d, n);
    const float* first = operand<float>(args, RecurrentIn::h);
    return first ? first + sizes_.state_at(on.d, n) : on.zeros;
  }

  const float* cell_before(const Direction& on, int64_t t, int64_t n) const {
    if (!on.order.is_first(t, on.lengths[n]))
      return on.kept + sizes_.row(on.order.before(t), n) * sizes_.hidden;
    return on.first_c ? on.first_c + sizes_.state_at(on.d, n) : on.zeros;
  }

  // Sets the gradients of the last states, and gathers all states before steps.
  void begin(const KernelArgs& args, const Direction& on) const {
    const int64_t H = sizes_.hidden;
    std::fill_n(on.zeros, H, 0.0F);
    const float* of_h = operand<float>(args, in_.dlast_h);
    const float* of_c = sizes_.cell == Cell::lstm ? operand<float>(args, in_.dlast_c) : nullptr;
    node_.for_examples([&](int64_t n) {
      std::copy_n(of_h ? of_h + sizes_.state_at(on.d, n) : on.zeros, H, on.dh + n * H);
      std::copy_n(of_c ? of_c + sizes_.state_at(on.d, n) : on.zeros, H, on.dc + n * H);
      for (int64_t t = 0; t < sizes_.steps; ++t)
        std::copy_n(state_before(args, on, t, n), H, on.before + sizes_.row(t, n) * H);
    });
  }

  void cell_back(const Direction& on, int64_t t, int64_t n) const {
    const int64_t H = sizes_.hidden, row = sizes_.row(t, n);
    const float* sums = on.sums + row * sizes_.sums();
    float *dsums = on.dsums + row * sizes_.sums(), *dh = on.dh + n * H;
    if (sizes_.cell == Cell::gru) {
      const float* product = node_.scales_product() ? on.kept + row * H : nullptr;
      return on.math.gru_back(product, sums, on.before + row * H, dh, dh, on.dproduct + row * H,
                              dsums);
    }
    if (sizes_.cell == Cell::rnn)
      on.math.rnn_back(sums, dh, dsums);
    else
      on.math.lstm_back(on.peepholes, sums, cell_before(on, t, n), on.kept + row * H, dh,
                        on.dc + n * H, dsums);
    std::fill_n(dh, H, 0.0F);  // the whole gradient flows through the sums
  }

  void step(const KernelArgs& args, const Direction& on, int64_t t) const {
    const int64_t H = sizes_.hidden, G = sizes_.sums();
    const float* dy = operand<float>(args, in_.dy);
    node_.for_examples([&](int64_t n) {
      const int64_t row = sizes_.row(t, n);
      if (t >= on.lengths[n]) {
        std::fill_n(on.dsums + row * G, G, 0.0F);
        std::fill_n(on.dproduct + row * H, H, 0.0F);
        return;
      }
      float* dh = on.dh + n * H;
      if (const float* more = dy ? dy + sizes_.y_at(t, on.d, n) : nullptr)
        for (int64_t k = 0; k < H; ++k) dh[k] += more[k];
      cell_back(on, t, n);
    });
    if (sizes_.cell != Cell::gru) return add_product(on, t, 0, gates_of(sizes_.cell));
    if (node_.scales_product()) {
      multiply_rows(sizes_.batch, H, H,
                    {on.dproduct + sizes_.row(t, 0) * H, sizes_.row_stride() * H},
                    {on.r + 2 * H * H, H}, false, true, on.dh, H);
    } else {
      multiply_rows(sizes_.batch, H, H, place_of(on, t, 2), {on.r + 2 * H * H, H}, false, false,
                    on.dscaled, H);
      node_.for_examples([&](int64_t n) {
        const int64_t row = sizes_.row(t, n);
        if (t < on.lengths[n])
          on.math.gru_reset_back(on.sums + row * G, on.before + row * H, on.dscaled + n * H,
                                 on.dh + n * H, on.dsums + row * G);
      });
    }
    add_product(on, t, 0, 2);
  }

  // The gradients of a step's sums, from gate `gate` on.
  MatrixPlace place_of(const Direction& on, int64_t t, int64_t gate) const {
    const int64_t G = sizes_.sums();
    return {on.dsums + sizes_.row(t, 0) * G + gate * sizes_.hidden, sizes_.row_stride() * G};
  }

  // dh += dsums R for some gates. The sums of padding have gradient 0, so its dh does not change.
  void add_product(const Direction& on, int64_t t, int64_t first_gate, int64_t gates) const {
    const int64_t H = sizes_.hidden;
    multiply_rows(sizes_.batch, H, gates * H, place_of(on, t, first_gate),
                  {on.r + first_gate * H * H, H}, false, true, on.dh, H);
  }

  // Writes the gradients of the first states.
  void end(const KernelArgs& args, const Direction& on) const {
    node_.write_states(on.d, on.dh, result<float>(args, RecurrentGradOut::dh));
    if (sizes_.cell == Cell::lstm)
      node_.write_states(on.d, on.dc, result<float>(args, RecurrentGradOut::dc));
  }

  // y = a' b, summed over all rows.
  void multiply_over_rows(int64_t columns_a, MatrixPlace a, int64_t columns_b, MatrixPlace b,
                          float* y) const {
    if (sizes_.rows() > 0 && columns_b > 0)
      sgemm(true, false, columns_a, columns_b, sizes_.rows(), 1, a.at, a.stride, b.at, b.stride, 0,
            y, columns_b);
    else
      std::fill_n(y, columns_a * columns_b, 0.0F);
  }

  void weights(const KernelArgs& args, const Direction& on) const {
    const int64_t H = sizes_.hidden, G = sizes_.sums(), I = sizes_.inputs, rows = sizes_.rows();
    const float* w = args.in[RecurrentIn::w].as<float>() + on.d * G * I;
    if (float* dx = result<float>(args, RecurrentGradOut::dx))
      multiply_rows(rows, I, G, {on.dsums, G}, {w, I}, false, on.d > 0, dx, I);
    if (float* dw = result<float>(args, RecurrentGradOut::dw))
      multiply_over_rows(G, {on.dsums, G}, I, {args.in[RecurrentIn::x].as<float>(), I},
                         dw + on.d * G * I);
    float* dr = result<float>(args, RecurrentGradOut::dr);
    if (!dr) return;
    dr += on.d * G * H;
    if (sizes_.cell != Cell::gru)
      return multiply_over_rows(G, {on.dsums, G}, H, {on.before, H}, dr);
    multiply_over_rows(2 * H, {on.dsums, G}, H, {on.before, H}, dr);
    if (node_.scales_product())
      multiply_over_rows(H, {on.dproduct, H}, H, {on.before, H}, dr + 2 * H * H);
    else
      multiply_over_rows(H, {on.dsums + 2 * H, G}, H, {on.kept, H}, dr + 2 * H * H);
  }

  // Both biases are in all sums, except the second bias of a product that r scales.
  void biases(const KernelArgs& args, const Direction& on) const {
    const int64_t H = sizes_.hidden, G = sizes_.sums();
    float* db = result<float>(args, RecurrentGradOut::db);
    if (!db) return;
    db += on.d * 2 * G;
    sum_rows(G, {on.dsums, G}, db);
    std::copy_n(db, G, db + G);
    if (node_.scales_product()) sum_rows(H, {on.dproduct, H}, db + 2 * G - H);
  }

  void sum_rows(int64_t columns, MatrixPlace a, float* y) const {
    for_columns(columns, [&](int64_t first, int64_t count, double* sums) {
      for (int64_t row = 0; row < sizes_.rows(); ++row)
        for (int64_t k = 0; k < count; ++k) sums[k] += a.at[row * a.stride + first + k];
      for (int64_t k = 0; k < count; ++k) y[first + k] = static_cast<float>(sums[k]);
    });
  }

  // i and f see the cell before a step, o sees the cell after it.
  void peepholes(const KernelArgs& args, const Direction& on) const {
    const int64_t H = sizes_.hidden;
    float* dp = result<float>(args, RecurrentGradOut::dpeepholes);
    if (!dp) return;
    dp += on.d * 3 * H;
    for (int64_t gate = 0; gate < 3; ++gate)
      for_columns(H, [&](int64_t first, int64_t count, double* sums) {
        for (int64_t t = 0; t < sizes_.steps; ++t)
          for (int64_t n = 0; n < sizes_.batch; ++n) {
            if (t >= on.lengths[n]) continue;
            const int64_t row = sizes_.row(t, n);
            const float* cell = gate == 1 ? on.kept + row * H : cell_before(on, t, n);
            const float* dsums = on.dsums + row * sizes_.sums() + gate * H;
            for (int64_t k = first; k < first + count; ++k)
              sums[k - first] += static_cast<double>(dsums[k]) * cell[k];
          }
        for (int64_t k = 0; k < count; ++k) dp[gate * H + first + k] = static_cast<float>(sums[k]);
      });
  }

  // Calls visit(first, count, sums, all 0) for pieces of kPiece columns. One thread processes a
  // piece.
  template <class Visit>
  void for_columns(int64_t columns, const Visit& visit) const {
    constexpr int64_t kPiece = 64;
    parallel_for((columns + kPiece - 1) / kPiece, 1, node_.threads,
                 [&](int64_t begin, int64_t end) {
                   for (int64_t piece = begin; piece < end; ++piece) {
                     double sums[kPiece] = {};
                     const int64_t first = piece * kPiece;
                     visit(first, std::min(kPiece, columns - first), sums);
                   }
                 });
  }

  RecurrentNode node_;
  const RecurrentSizes& sizes_;
  RecurrentGradIn in_;
};

}  // namespace

std::unique_ptr<Kernel> prepare_recurrent_grad(const KernelRequest& request) {
  return std::make_unique<RecurrentGradKernel>(request);
}

}  // namespace lockstep
