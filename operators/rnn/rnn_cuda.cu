// SPDX-License-Identifier: Apache-2.0
// Forward. One matrix product computes the inputs' part of all steps' sums. In each step, a small
// product adds the state's part, and a kernel with a thread per unit does the rest.
#include "operators/rnn/rnn.h"

#include "operators/kit/dispatch.h"
#include "operators/rnn/cells_cuda.h"
#include "operators/rnn/recurrence.h"

namespace lockstep {
namespace {

class RecurrentCudaKernel final : public Kernel {
 public:
  RecurrentCudaKernel(const KernelRequest& request, bool trains)
      : node_(request),
        sizes_(node_.sizes),
        trains_(trains),
        description_(description_of_products(request)) {
    const int64_t B = sizes_.batch, H = sizes_.hidden, G = sizes_.sums();
    const int64_t gates = sizes_.cell == Cell::gru ? 2 : gates_of(sizes_.cell);
    const bool biased = request.in.size() > RecurrentIn::b && request.in[RecurrentIn::b].present();
    const int64_t sums_row = sizes_.row_stride() * G, product_row = sizes_.row_stride() * H;
    with_inputs_ = node_.product(request, {.trans_b = true,
                                           .m = sizes_.rows(),
                                           .n = G,
                                           .k = sizes_.inputs,
                                           .beta = biased ? 1.0F : 0.0F});
    with_state_ = node_.product(
        request, {.trans_b = true, .m = B, .n = gates * H, .k = H, .beta = 1, .row_y = sums_row});
    if (sizes_.cell != Cell::gru) return;
    MatrixProduct candidate{.trans_b = true, .m = B, .n = H, .k = H};
    (node_.scales_product() ? candidate.row_y : candidate.row_a) = trains_ ? product_row : H;
    if (!node_.scales_product()) {
      candidate.beta = 1;
      candidate.row_y = sums_row;
    }
    with_candidate_ = node_.product(request, candidate);
  }

  std::size_t workspace_bytes() const override {
    const int64_t kept = trains_ ? 0 : sizes_.rows() * sizes_.sums();
    return CublasProduct::kWorkspace + sizeof(float) * (3 * node_.states() + kept);
  }
  std::string describe() const override { return description_; }
  std::string explain(const Fault& fault) const override {
    return Sequences::explain(sizes_.steps)(fault);
  }

  void run(const KernelArgs& args) override {
    for (int64_t d = 0; d < sizes_.directions; ++d) {
      const Direction on = direction(args, d);
      for_elements(args, node_.states(),
                   BeginStates{on.all, args.fault, operand<float>(args, RecurrentIn::h), on.first_c,
                               on.h, on.c});
      add_inputs(args, on);
      for (int64_t i = 0; i < sizes_.steps; ++i) step(args, on, on.all.order.at(i));
      float* last_c =
          sizes_.cell == Cell::lstm ? result<float>(args, RecurrentOut::last_c) : nullptr;
      for_elements(
          args, node_.states(),
          EndStates{on.all, on.h, on.c, result<float>(args, RecurrentOut::last_h), last_c});
    }
  }

 private:
  // The buffers of a direction, and its part of the operands.
  struct Direction {
    Sequences all;
    const float *r, *b, *first_c, *peepholes;
    float *sums, *h, *c, *y, *kept;
    GruProduct product;
  };

  Direction direction(const KernelArgs& args, int64_t d) const {
    const int64_t H = sizes_.hidden, G = sizes_.sums(), states = node_.states();
    const bool lstm = sizes_.cell == Cell::lstm;
    auto* free = reinterpret_cast<float*>(args.workspace + CublasProduct::kWorkspace);
    float* kept = trains_ && keeps(sizes_.cell)
                      ? args.out[kept_of(sizes_.cell)].as<float>() + d * sizes_.rows() * H
                      : nullptr;
    return {.all = node_.sequences(args, d),
            .r = of_direction(args, RecurrentIn::r, d, G * H),
            .b = of_direction(args, RecurrentIn::b, d, 2 * G),
            .first_c = lstm ? operand<float>(args, RecurrentIn::c) : nullptr,
            .peepholes = lstm ? of_direction(args, RecurrentIn::peepholes, d, 3 * H) : nullptr,
            .sums = trains_ ? args.out[sums_of(sizes_.cell)].as<float>() + d * sizes_.rows() * G
                            : free + 3 * states,
            .h = free,
            .c = free + states,
            .y = result<float>(args, RecurrentOut::y),
            .kept = kept,
            .product = {kept ? kept : free + 2 * states, kept != nullptr}};
  }

  void add_inputs(const KernelArgs& args, const Direction& on) const {
    const int64_t G = sizes_.sums();
    if (on.b)
      for_elements(args, sizes_.rows() * G,
                   BiasesOfSums{G, node_.scales_product() ? G - sizes_.hidden : G, on.b, on.sums});
    const float* w = of_direction(args, RecurrentIn::w, on.all.d, G * sizes_.inputs);
    with_inputs_->run(stream_of(args), args.in[RecurrentIn::x].data, w, on.sums, args.workspace);
  }

  void step(const KernelArgs& args, const Direction& on, int64_t t) const {
    const CellCurves& curves = node_.curves[on.all.d];
    float* sums = on.sums + sizes_.row(t, 0) * sizes_.sums();
    with_state_->run(stream_of(args), on.h, on.r, sums, args.workspace);
    if (sizes_.cell == Cell::rnn)
      return for_elements(args, node_.states(), RnnStep{on.all, t, curves, on.sums, on.h, on.y});
    if (sizes_.cell == Cell::lstm)
      return for_elements(
          args, node_.states(),
          LstmStep{on.all, t, curves, on.peepholes, on.sums, on.h, on.c, on.y, on.kept});
    candidate(args, on, t, sums + 2 * sizes_.hidden);
    const float* bias = on.b ? on.b + 2 * sizes_.sums() - sizes_.hidden : nullptr;
    for_elements(
        args, node_.states(),
        GruStep{on.all, t, curves, node_.scales_product(), bias, on.product, on.sums, on.h, on.y});
  }

  // GRU: the product with the last part of R.
  void candidate(const KernelArgs& args, const Direction& on, int64_t t, float* sums) const {
    const int64_t H = sizes_.hidden;
    const float* r = on.r + 2 * H * H;
    float* product = on.product.at + (on.product.of_rows ? sizes_.row(t, 0) * H : 0);
    if (node_.scales_product())
      return with_candidate_->run(stream_of(args), on.h, r, product, args.workspace);
    for_elements(args, node_.states(),
                 GruResetStep{on.all, t, node_.curves[on.all.d], on.sums, on.h, on.product});
    with_candidate_->run(stream_of(args), product, r, sums, args.workspace);
  }

  RecurrentCudaNode node_;
  const RecurrentSizes& sizes_;
  bool trains_;
  std::string description_;
  std::shared_ptr<CublasProduct> with_inputs_, with_state_, with_candidate_;
};

std::unique_ptr<Kernel> prepare_standard(const KernelRequest& request) {
  return std::make_unique<RecurrentCudaKernel>(request, false);
}

std::unique_ptr<Kernel> prepare_train(const KernelRequest& request) {
  return std::make_unique<RecurrentCudaKernel>(request, true);
}

// Refuses empty operands, which run on the host.
std::string no_numbers(const KernelRequest& request) {
  for (const std::size_t i : {RecurrentIn::x, RecurrentIn::r})
    if (request.in[i].count() == 0) return "takes no empty tensors";
  return "";
}

}  // namespace

std::vector<KernelEntry> rnn_cuda() {
  std::vector<KernelEntry> entries;
  const Refusal floats = every({takes<Float32>(), no_numbers});
  for (const std::string type : {"RNN", "GRU", "LSTM"}) {
    entries.push_back({type, "", {{"cuBLASLt", floats, prepare_standard}}});
    entries.push_back({type + "Train", kOwnDomain, {{"cuBLASLt", floats, prepare_train}}});
    entries.push_back(
        {type + "Grad", kOwnDomain, {{"cuBLASLt", floats, prepare_recurrent_grad_cuda}}});
  }
  return entries;
}

}  // namespace lockstep
