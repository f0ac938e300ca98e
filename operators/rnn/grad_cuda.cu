// SPDX-License-Identifier: Apache-2.0
// Backward. Each step multiplies the gradients of its sums by R for the gradient of the previous
// state. The gradients of x and of the weights are one product each over all steps.
#include "operators/rnn/back_cells_cuda.h"
#include "operators/rnn/recurrence.h"
#include "operators/rnn/row_sums_cuda.h"

namespace lockstep {
namespace {

class RecurrentGradCudaKernel final : public Kernel {
 public:
  explicit RecurrentGradCudaKernel(const KernelRequest& request)
      : node_(request),
        sizes_(node_.sizes),
        in_(sizes_.cell),
        description_(description_of_products(request)) {
    const int64_t B = sizes_.batch, H = sizes_.hidden, G = sizes_.sums(), I = sizes_.inputs,
                  rows = sizes_.rows();
    const bool gru = sizes_.cell == Cell::gru;
    const int64_t most = gru ? 2 * H : G;  // sums with gradients that reach the previous state
    const int64_t step_row = sizes_.row_stride() * G;
    const auto make = [&](const MatrixProduct& of) { return node_.product(request, of); };
    back_ = make({.m = B, .n = H, .k = most, .beta = 1, .row_a = step_row});
    dx_ = make({.m = rows, .n = I, .k = G});
    if (sizes_.directions > 1) more_dx_ = make({.m = rows, .n = I, .k = G, .beta = 1});
    dw_ = make({.trans_a = true, .m = G, .n = I, .k = rows});
    dr_ = make({.trans_a = true, .m = most, .n = H, .k = rows, .row_a = G});
    if (!gru) return;
    if (node_.scales_product()) {
      candidate_back_ = make({.m = B, .n = H, .k = H, .beta = 1, .row_a = sizes_.row_stride() * H});
      candidate_dr_ = make({.trans_a = true, .m = H, .n = H, .k = rows});
    } else {
      candidate_back_ = make({.m = B, .n = H, .k = H, .row_a = step_row});
      candidate_dr_ = make({.trans_a = true, .m = H, .n = H, .k = rows, .row_a = G});
    }
  }

  std::size_t workspace_bytes() const override {
    return CublasProduct::kWorkspace +
           sizeof(float) *
               (3 * node_.states() + sizes_.rows() * (2 * sizes_.hidden + sizes_.sums()));
  }
  std::string describe() const override { return description_; }
  std::string explain(const Fault& fault) const override {
    return Sequences::explain(sizes_.steps)(fault);
  }

  void run(const KernelArgs& args) override {
    const bool lstm = sizes_.cell == Cell::lstm;
    for (int64_t d = 0; d < sizes_.directions; ++d) {
      const Direction on = direction(args, d);
      for_elements(args, node_.states(),
                   BeginStates{on.all, args.fault, operand<float>(args, in_.dlast_h),
                               lstm ? operand<float>(args, in_.dlast_c) : nullptr, on.dh, on.dc});
      for_elements(args, sizes_.rows() * sizes_.hidden, GatherBefore{on.states, on.before});
      for (int64_t i = sizes_.steps; i-- > 0;) step(args, on, on.all.order.at(i));
      for_elements(args, node_.states(),
                   EndStates{on.all, on.dh, on.dc, result<float>(args, RecurrentGradOut::dh),
                             lstm ? result<float>(args, RecurrentGradOut::dc) : nullptr});
      weights(args, on);
      vectors(args, on);
    }
  }

 private:
  // The operands and buffers of a direction.
  struct Direction {
    Sequences all;
    StatesBefore states;
    const float *w, *r, *peepholes, *sums, *kept;
    float *dh = nullptr, *dc = nullptr, *dscaled = nullptr;          // [batch, hidden]
    float *before = nullptr, *dproduct = nullptr, *dsums = nullptr;  // of rows
  };

  Direction direction(const KernelArgs& args, int64_t d) const {
    const int64_t H = sizes_.hidden, G = sizes_.sums(), rows = sizes_.rows();
    const bool lstm = sizes_.cell == Cell::lstm;
    auto* free = reinterpret_cast<float*>(args.workspace + CublasProduct::kWorkspace);
    const auto take = [&](int64_t count) { return std::exchange(free, free + count); };
    const Sequences all = node_.sequences(args, d);
    const float* kept = keeps(sizes_.cell) ? of_direction(args, in_.kept, d, rows * H) : nullptr;
    Direction on{
        .all = all,
        .states = {all, args.in[in_.y].as<float>(), kept, operand<float>(args, RecurrentIn::h),
                   lstm ? operand<float>(args, RecurrentIn::c) : nullptr},
        .w = of_direction(args, RecurrentIn::w, d, G * sizes_.inputs),
        .r = of_direction(args, RecurrentIn::r, d, G * H),
        .peepholes = lstm ? of_direction(args, RecurrentIn::peepholes, d, 3 * H) : nullptr,
        .sums = of_direction(args, in_.sums, d, rows * G),
        .kept = kept};
    for (float** states : {&on.dh, &on.dc, &on.dscaled}) *states = take(node_.states());
    for (float** of_rows : {&on.before, &on.dproduct}) *of_rows = take(rows * H);
    on.dsums = take(rows * G);
    return on;
  }

  void step(const KernelArgs& args, const Direction& on, int64_t t) const {
    const CellCurves& curves = node_.curves[on.all.d];
    const BackBuffers at{on.sums, operand<float>(args, in_.dy), on.dh, on.dsums};
    if (sizes_.cell == Cell::rnn)
      for_elements(args, node_.states(), RnnBack{on.all, t, curves, at});
    else if (sizes_.cell == Cell::lstm)
      for_elements(args, node_.states(),
                   LstmBack{on.all, t, curves, at, on.states, on.peepholes, on.dc});
    else
      gru(args, on, t, at);
    multiply(args, *back_, dsums_of(on, t), on.r, on.dh);
  }

  void gru(const KernelArgs& args, const Direction& on, int64_t t, const BackBuffers& at) const {
    const int64_t H = sizes_.hidden;
    const CellCurves& curves = node_.curves[on.all.d];
    const float* product = node_.scales_product() ? on.kept : nullptr;
    for_elements(args, node_.states(),
                 GruBack{on.all, t, curves, at, on.before, product, on.dproduct});
    const float* r = on.r + 2 * H * H;
    if (product)
      return multiply(args, *candidate_back_, on.dproduct + sizes_.row(t, 0) * H, r, on.dh);
    multiply(args, *candidate_back_, dsums_of(on, t) + 2 * H, r, on.dscaled);
    for_elements(args, node_.states(), GruResetBack{on.all, t, curves, at, on.before, on.dscaled});
  }

  float* dsums_of(const Direction& on, int64_t t) const {
    return on.dsums + sizes_.row(t, 0) * sizes_.sums();
  }

  static void multiply(const KernelArgs& args, CublasProduct& product, const float* a,
                       const float* b, float* y) {
    product.run(stream_of(args), a, b, y, args.workspace);
  }

  void weights(const KernelArgs& args, const Direction& on) const {
    const int64_t H = sizes_.hidden, G = sizes_.sums(), d = on.all.d;
    const float* x = args.in[RecurrentIn::x].as<float>();
    if (float* dx = result<float>(args, RecurrentGradOut::dx))
      multiply(args, d > 0 ? *more_dx_ : *dx_, on.dsums, on.w, dx);
    if (float* dw = result<float>(args, RecurrentGradOut::dw))
      multiply(args, *dw_, on.dsums, x, dw + d * G * sizes_.inputs);
    float* dr = result<float>(args, RecurrentGradOut::dr);
    if (!dr) return;
    dr += d * G * H;
    multiply(args, *dr_, on.dsums, on.before, dr);
    if (sizes_.cell != Cell::gru) return;
    if (node_.scales_product())
      multiply(args, *candidate_dr_, on.dproduct, on.before, dr + 2 * H * H);
    else
      multiply(args, *candidate_dr_, on.dsums + 2 * H, on.kept, dr + 2 * H * H);
  }

  void vectors(const KernelArgs& args, const Direction& on) const {
    const int64_t H = sizes_.hidden, G = sizes_.sums();
    if (float* db = result<float>(args, RecurrentGradOut::db))
      sum_rows(args, sizes_.rows(), 2 * G,
               BiasTerms{H, G, on.dsums, node_.scales_product() ? on.dproduct : nullptr},
               db + on.all.d * 2 * G);
    if (sizes_.cell != Cell::lstm) return;
    if (float* dp = result<float>(args, RecurrentGradOut::dpeepholes))
      sum_rows(args, sizes_.rows(), 3 * H, PeepholeTerms{on.states, on.dsums},
               dp + on.all.d * 3 * H);
  }

  RecurrentCudaNode node_;
  const RecurrentSizes& sizes_;
  RecurrentGradIn in_;
  std::string description_;
  std::shared_ptr<CublasProduct> back_, dx_, more_dx_, dw_, dr_, candidate_back_, candidate_dr_;
};

}  // namespace

std::unique_ptr<Kernel> prepare_recurrent_grad_cuda(const KernelRequest& request) {
  return std::make_unique<RecurrentGradCudaKernel>(request);
}

}  // namespace lockstep
