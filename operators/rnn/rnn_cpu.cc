// SPDX-License-Identifier: Apache-2.0
// Forward. One matrix product computes the inputs' part of all steps' sums. A small product in each
// step adds the state's part.
#include "operators/rnn/rnn.h"

#include "operators/kit/dispatch.h"
#include "operators/rnn/direction_cpu.h"
#include "operators/rnn/grad_cpu.h"
#include "operators/rnn/recurrence.h"
#include "runtime/threads/parallel.h"

namespace lockstep {
namespace {

class RecurrentKernel final : public Kernel {
 public:
  RecurrentKernel(const KernelRequest& request, bool trains)
      : node_(request), sizes_(node_.sizes), trains_(trains) {}

  std::size_t workspace_bytes() const override {
    const int64_t states = sizes_.batch * sizes_.hidden;
    const int64_t kept = trains_ ? 0 : sizes_.rows() * sizes_.sums();
    return sizeof(float) * (3 * states + kept + (turns_r() ? sizes_.sums() * sizes_.hidden : 0));
  }
  std::string describe() const override { return "dnnl sgemm"; }

  void run(const KernelArgs& args) override {
    if (sizes_.batch == 0) return;  // all results are empty
    const SequenceLengths lengths(args, node_);
    for (int64_t d = 0; d < sizes_.directions; ++d) run_direction(args, lengths, d);
  }

 private:
  // The buffers of a direction, and its part of the operands.
  struct Direction {
    int64_t d;
    const CellMath& math;
    const float *r, *b, *peepholes;
    float* turned_r;  // [hidden, gates * hidden], or null
    float *sums, *h, *c;
    float* product;          // GRU: the vector before or after r scales it
    int64_t product_stride;  // distance between the rows of `product`
    bool product_kept;
  };

  void run_direction(const KernelArgs& args, const SequenceLengths& lengths, int64_t d) const {
    const int64_t H = sizes_.hidden, states = sizes_.batch * H;
    auto* free = reinterpret_cast<float*>(args.workspace);
    Direction direction{.d = d,
                        .math = node_.math[d],
                        .r = of_direction(args, RecurrentIn::r, d, sizes_.sums() * H),
                        .b = of_direction(args, RecurrentIn::b, d, 2 * sizes_.sums()),
                        .peepholes = nullptr,
                        .turned_r = turns_r() ? free + 3 * states : nullptr,
                        .sums = free + 3 * states + (turns_r() ? sizes_.sums() * H : 0),
                        .h = free,
                        .c = free + states,
                        .product = free + 2 * states,
                        .product_stride = H,
                        .product_kept = false};
    if (sizes_.cell == Cell::lstm)
      direction.peepholes = of_direction(args, RecurrentIn::peepholes, d, 3 * H);
    if (trains_)
      direction.sums =
          args.out[sums_of(sizes_.cell)].as<float>() + d * sizes_.rows() * sizes_.sums();
    if (trains_ && sizes_.cell == Cell::gru) {
      direction.product = kept(args, d);
      direction.product_stride = sizes_.row_stride() * H;
      direction.product_kept = true;
    }
    begin(args, direction);
    if (direction.turned_r) turn_r(direction);
    add_inputs(args, direction);
    const RecurrentOrder order = node_.order(d);
    for (int64_t i = 0; i < sizes_.steps; ++i) step(args, lengths, direction, order.at(i));
    end(args, direction);
  }

  float* kept(const KernelArgs& args, int64_t d) const {
    return args.out[kept_of(sizes_.cell)].as<float>() + d * sizes_.rows() * sizes_.hidden;
  }

  // True if R is transposed before the first step. Each product with the state reads R by columns;
  // for a few steps oneDNN does so.
  bool turns_r() const { return sizes_.steps >= 4 && sizes_.batch > 1; }

  void turn_r(const Direction& on) const {
    const int64_t H = sizes_.hidden, G = sizes_.sums();
    constexpr int64_t kSide = 16;  // side of a square block: cache lines are read and written once
    parallel_for((G + kSide - 1) / kSide, 1, node_.threads, [&](int64_t begin, int64_t end) {
      const int64_t last = std::min(G, end * kSide);
      for (int64_t row = begin * kSide; row < last; row += kSide)
        for (int64_t column = 0; column < H; column += kSide)
          for (int64_t k = column; k < std::min(H, column + kSide); ++k)
            for (int64_t g = row; g < std::min(last, row + kSide); ++g)
              on.turned_r[k * G + g] = on.r[g * H + k];
    });
  }

  // y = state R' for some gates; y += state R' if `add`.
  void multiply_r(const Direction& on, MatrixPlace state, int64_t first_gate, int64_t gates,
                  bool add, float* y, int64_t stride) const {
    const int64_t H = sizes_.hidden, G = sizes_.sums();
    const MatrixPlace r = on.turned_r ? MatrixPlace{on.turned_r + first_gate * H, G}
                                      : MatrixPlace{on.r + first_gate * H * H, H};
    multiply_rows(sizes_.batch, gates * H, H, state, r, !on.turned_r, add, y, stride);
  }

  // Sets the first states.
  void begin(const KernelArgs& args, const Direction& on) const {
    const int64_t H = sizes_.hidden;
    const auto first = [&](const float* given, float* state) {
      for (int64_t n = 0; n < sizes_.batch; ++n)
        if (given)
          std::copy_n(given + sizes_.state_at(on.d, n), H, state + n * H);
        else
          std::fill_n(state + n * H, H, 0.0F);
    };
    first(operand<float>(args, RecurrentIn::h), on.h);
    if (sizes_.cell == Cell::lstm) first(operand<float>(args, RecurrentIn::c), on.c);
  }

  // Computes the inputs' part of the sums of all steps: both biases and the product with W. A bias
  // that r scales is added later.
  void add_inputs(const KernelArgs& args, const Direction& on) const {
    const int64_t G = sizes_.sums(), rows = sizes_.rows();
    if (on.b) {
      const int64_t both = node_.scales_product() ? G - sizes_.hidden : G;
      parallel_for(rows, std::max<int64_t>(1, 8192 / G), node_.threads,
                   [&](int64_t begin, int64_t end) {
                     for (int64_t row = begin; row < end; ++row) {
                       float* sums = on.sums + row * G;
                       for (int64_t k = 0; k < both; ++k) sums[k] = on.b[k] + on.b[G + k];
                       std::copy(on.b + both, on.b + G, sums + both);
                     }
                   });
    }
    const float* w = of_direction(args, RecurrentIn::w, on.d, G * sizes_.inputs);
    multiply_rows(rows, G, sizes_.inputs, {args.in[RecurrentIn::x].as<float>(), sizes_.inputs},
                  {w, sizes_.inputs}, true, on.b != nullptr, on.sums, G);
  }

  // sums += state R' for some gates.
  void add_state(const Direction& on, const float* state, int64_t stride, int64_t first_gate,
                 int64_t gates, int64_t t) const {
    const int64_t H = sizes_.hidden, G = sizes_.sums();
    multiply_r(on, {state, stride}, first_gate, gates, true,
               on.sums + sizes_.row(t, 0) * G + first_gate * H, sizes_.row_stride() * G);
  }

  float* product_of(const Direction& on, int64_t t, int64_t n) const {
    const int64_t first = on.product_kept ? sizes_.row(t, 0) * sizes_.hidden : 0;
    return on.product + first + n * on.product_stride;
  }

  void multiply_state(const SequenceLengths& lengths, const Direction& on, int64_t t) const {
    const int64_t H = sizes_.hidden, G = sizes_.sums();
    if (sizes_.cell != Cell::gru) return add_state(on, on.h, H, 0, gates_of(sizes_.cell), t);
    add_state(on, on.h, H, 0, 2, t);
    if (node_.scales_product()) {
      if (on.b)
        node_.for_examples(
            [&](int64_t n) { std::copy_n(on.b + 2 * G - H, H, product_of(on, t, n)); });
      return multiply_r(on, {on.h, H}, 2, 1, on.b != nullptr, product_of(on, t, 0),
                        on.product_stride);
    }
    node_.for_examples([&](int64_t n) {
      float* scaled = product_of(on, t, n);
      if (t < lengths[n])
        on.math.gru_reset(on.sums + sizes_.row(t, n) * G, on.h + n * H, scaled);
      else
        std::fill_n(scaled, H, 0.0F);
    });
    add_state(on, product_of(on, t, 0), on.product_stride, 2, 1, t);
  }

  void step(const KernelArgs& args, const SequenceLengths& lengths, const Direction& on,
            int64_t t) const {
    const int64_t H = sizes_.hidden;
    multiply_state(lengths, on, t);
    float* y = result<float>(args, RecurrentOut::y);
    float* cells = trains_ && sizes_.cell == Cell::lstm ? kept(args, on.d) : nullptr;
    node_.for_examples([&](int64_t n) {
      const int64_t row = sizes_.row(t, n);
      float *sums = on.sums + row * sizes_.sums(), *h = on.h + n * H, *c = on.c + n * H;
      const bool padding = t >= lengths[n];
      if (!padding) {
        if (sizes_.cell == Cell::rnn) on.math.rnn(sums, h);
        if (sizes_.cell == Cell::gru)
          on.math.gru(node_.scales_product() ? product_of(on, t, n) : nullptr, sums, h, h);
        if (sizes_.cell == Cell::lstm) on.math.lstm(on.peepholes, sums, c, c, h);
      }
      const auto keep = [&](const float* state, float* to) {
        if (padding)
          std::fill_n(to, H, 0.0F);
        else
          std::copy_n(state, H, to);
      };
      if (y) keep(h, y + sizes_.y_at(t, on.d, n));
      if (cells) keep(c, cells + row * H);
    });
  }

  void end(const KernelArgs& args, const Direction& on) const {
    node_.write_states(on.d, on.h, result<float>(args, RecurrentOut::last_h));
    if (sizes_.cell == Cell::lstm)
      node_.write_states(on.d, on.c, result<float>(args, RecurrentOut::last_c));
  }

  RecurrentNode node_;
  const RecurrentSizes& sizes_;
  bool trains_;
};

std::unique_ptr<Kernel> prepare_standard(const KernelRequest& request) {
  return std::make_unique<RecurrentKernel>(request, false);
}

std::unique_ptr<Kernel> prepare_train(const KernelRequest& request) {
  return std::make_unique<RecurrentKernel>(request, true);
}

}  // namespace

std::vector<KernelEntry> rnn_cpu() {
  std::vector<KernelEntry> entries;
  const Refusal floats = takes<Float32>();
  for (const std::string type : {"RNN", "GRU", "LSTM"}) {
    entries.push_back({type, "", {{"oneDNN", floats, prepare_standard}}});
    entries.push_back({type + "Train", kOwnDomain, {{"oneDNN", floats, prepare_train}}});
    entries.push_back({type + "Grad", kOwnDomain, {{"oneDNN", floats, prepare_recurrent_grad}}});
  }
  return entries;
}

}  // namespace lockstep
