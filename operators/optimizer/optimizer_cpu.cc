// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <optional>
#include <span>

#include "operators/kit/dispatch.h"
#include "operators/kit/simd/widest.h"
#include "operators/optimizer/layout_copies.h"
#include "operators/optimizer/optimizer.h"
#include "operators/optimizer/rules.h"
#include "operators/optimizer/update_elements.h"
#include "runtime/finite.h"
#include "runtime/threads/parallel.h"

namespace lockstep {
namespace {

constexpr int64_t kGrain = 16384;

// The layouts of a parameter's gradient and copies.
class GradientAndCopies {
 public:
  GradientAndCopies(const TensorDesc& param, const TensorDesc& gradient,
                    std::span<const TensorDesc> copies)
      : copies_(param, copies), order_(UpdateTraversal::in_order(param.count())) {
    if (gradient.layout != param.layout) {
      supported(param.layout.is_rows() && gradient.layout.is_tiles(), "takes no gradient ",
                text_of(gradient), " of ", text_of(param));
      gradient_.emplace(gradient.dims, gradient.layout.tiles());
    }
    if (gradient_ || copies_.any_in_tiles_of_rows()) order_ = UpdateTraversal::by_tiles(param.dims);
    if (gradient_) squares_ = Squares::of(gradient, order_);
    copies_.use_squares(copies, order_);
  }

  const UpdateTraversal& order() const { return order_; }

  // Reads a piece's gradient, if the gradient is stored in squares.
  void begin(const UpdatePiece& piece, const Tensor& gradient, PieceRows& rows) const {
    if (squares_) squares_->read(piece, gradient.data, rows.all());
  }
  // Reads the gradient of a range in row `row` of the piece. The function does not depend on the
  // update rule, so it is compiled once instead of into every rule's loops.
  [[gnu::noinline]] void read(const Tensor& gradient, int64_t first, int64_t count, int64_t row,
                              PieceRows& rows, float* to) const {
    widest([&] {
      with_type<TensorFloats>(gradient.desc.dtype, [&]<class From>() {
        const From* const from = gradient.as<const From>();
        if (gradient_ && !squares_)
          return gradient_->each(first, count, [&](int64_t n, int64_t place) {
            to[n] = static_cast<float>(from[place]);
          });
        const From* const here = squares_ ? rows.at<From>(row) : from + first;
        for (int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(here[i]);
      });
    });
  }
  // Writes the copies of a range in row `row` of the piece.
  [[gnu::noinline]] void write(const float* from, const Tensor* copies, int64_t first,
                               int64_t count, int64_t row, PieceRows& rows) const {
    if (copies_.empty()) return;
    widest([&] { copies_.write(from, copies, first, count, row, rows); });
  }
  void finish(const UpdatePiece& piece, const Tensor* copies, const PieceRows& rows) const {
    copies_.finish(piece, copies, rows);
  }

 private:
  std::optional<PlacesInTiles> gradient_;
  std::optional<Squares> squares_;  // used instead of gradient_
  WrittenCopies copies_;
  UpdateTraversal order_;
};

// Prefetches a parameter's elements and slots.
template <class Rule>
void fetch(const UpdateElements<Rule>& parameter, int64_t first, int64_t count) {
  constexpr int64_t kLine = 64 / sizeof(float);
  for (int64_t i = first; i < first + count; i += kLine) {
    __builtin_prefetch(parameter.param + i, 1);
    for (int s = 0; s < Rule::kSlots; ++s) __builtin_prefetch(parameter.slots[s] + i, 1);
  }
}

struct UpdateRoom {
  PieceRows gradient, copies;
};

// Elements are updated in local arrays that no other function can access. Results may alias
// operands, so the compiler would not vectorise a loop over pointers to both. A per-element test
// for skipping would also prevent vectorisation.
template <class Rule, bool kMany, class Given>
void update_elements(const UpdateElements<Rule>& parameter, const float* gradient, Rule rule,
                     Given given, bool skipped, int64_t begin, int64_t count) {
  constexpr int64_t kMost = kElementsAtOnce;
  float param[kMost], step[kMost], slots[Rule::kSlots][kMost];
  UpdateElements<Rule> here;
  here.param = here.new_param = param;
  for (int s = 0; s < Rule::kSlots; ++s) here.slots[s] = here.new_slots[s] = slots[s];
  here.step = kMany ? nullptr : step;
  here.factor = parameter.factor;
  here.decay = parameter.decay;
  std::copy_n(parameter.param + begin, count, param);
  for (int s = 0; s < Rule::kSlots; ++s) std::copy_n(parameter.slots[s] + begin, count, slots[s]);
  if (skipped)
    for (int64_t i = 0; i < count; ++i) here.update(rule, given, true, i, gradient[i]);
  else
    for (int64_t i = 0; i < count; ++i) here.update(rule, given, false, i, gradient[i]);
  std::copy_n(param, count, parameter.new_param + begin);
  for (int s = 0; s < Rule::kSlots; ++s)
    std::copy_n(slots[s], count, parameter.new_slots[s] + begin);
  if (!kMany) std::copy_n(step, count, parameter.step + begin);
}

template <class Rule>
std::vector<GradientAndCopies> gradients_and_copies(const UpdateOperandsOf<Rule>& operands,
                                                    const KernelRequest& request) {
  const UpdatePlaces places = operands.places();
  std::vector<GradientAndCopies> all;
  for (std::size_t k = 0; k < operands.count(); ++k) {
    const auto [first, end] = operands.copies_of(k);
    all.emplace_back(request.out[places.new_param(k)], request.in[places.gradient(k)],
                     std::span(request.out).subspan(places.new_copy(first), end - first));
  }
  return all;
}

// One sweep over all parameters, even over small ones. `ends` are the ends of the parameters,
// counted from the start of the first parameter, with every piece counted as a whole piece.
template <class Rule, bool kMany>
std::unique_ptr<Kernel> prepare_update(const KernelRequest& request) {
  const UpdateOperandsOf<Rule> operands(request, kMany);
  std::vector<GradientAndCopies> beside = gradients_and_copies(operands, request);
  std::vector<int64_t> ends;
  for (const GradientAndCopies& one : beside)
    ends.push_back((ends.empty() ? 0 : ends.back()) +
                   one.order().pieces() * one.order().elements_of_piece());
  return make_kernel([rule = Rule::read(request.attributes()), operands, beside = std::move(beside),
                      ends, threads = request.threads](const KernelArgs& args) {
    const UpdateNumbers numbers = operands.numbers(args);
    const auto given = rule.given(*numbers.rate, numbers.number);
    const bool skipped = numbers.unless && *numbers.unless >= 0;
    const int64_t count = ends.empty() ? 0 : ends.back();
    parallel_for(count, kGrain, threads, [&](int64_t begin, int64_t end) {
      std::size_t k = std::ranges::upper_bound(ends, begin) - ends.begin();
      for (; begin < end; begin = ends[k++]) {
        const int64_t first = k == 0 ? 0 : ends[k - 1];
        const UpdateTraversal& order = beside[k].order();
        const UpdateElements<Rule> parameter = operands.at(args, k);
        const Tensor& gradient = operands.gradient(args, k);
        const Tensor* copies =
            args.out.data() + operands.places().new_copy(operands.copies_of(k).first);
        // A thread's part begins and ends between two pieces of a parameter.
        const int64_t from = order.pieces_for(begin - first);
        const int64_t to = order.pieces_for(std::min(end, ends[k]) - first);
        UpdateRoom room;
        for (int64_t number = from; number < to; ++number) {
          const UpdatePiece piece = order.piece(number);
          beside[k].begin(piece, gradient, room.gradient);
          order.each_range(piece, [&](int64_t row, int64_t at, int64_t elements) {
            if (order.leaps()) fetch(parameter, order.below(at, elements), elements);
            float slopes[kElementsAtOnce];
            beside[k].read(gradient, at, elements, row, room.gradient, slopes);
            widest([&] {
              update_elements<Rule, kMany>(parameter, slopes, rule, given, skipped, at, elements);
            });
            beside[k].write(parameter.new_param + at, copies, at, elements, row, room.copies);
          });
          beside[k].finish(piece, copies, room.copies);
        }
      }
    });
  });
}

// Layouts of an update. If a parameter has its gradient's layout, the parameter and its slots are
// updated in this layout. The update of many parameters also reads a gradient in tiles if the
// parameter is row-major.
template <class Rule, bool kMany>
Layouts update_wish(const KernelRequest& request) {
  const UpdateOperandsOf<Rule> operands(request, kMany);
  const UpdatePlaces places = operands.places();
  Layouts layouts = row_major(request);
  for (std::size_t k = 0; k < places.params; ++k) {
    const Layout layout = request.in[places.gradient(k)].layout;
    if (layout != request.in[places.param(k)].layout) {
      if (kMany && layout.is_tiles()) layouts.in[places.gradient(k)] = layout;
      continue;
    }
    layouts.in[places.gradient(k)] = layouts.in[places.param(k)] = layout;
    layouts.out[places.new_param(k)] = layout;
    for (std::size_t s = 0; s < places.slots; ++s)
      layouts.in[places.slot(s, k)] = layouts.out[places.new_slot(s, k)] = layout;
    if (!kMany) layouts.out[UpdatePlaces::kStep] = layout;
  }
  return layouts;
}

std::unique_ptr<Kernel> prepare_first_non_finite(const KernelRequest& request) {
  return make_kernel([threads = request.threads](const KernelArgs& args) {
    int64_t& first = *args.out[0].as<int64_t>();
    first = -1;
    for (std::size_t k = 0; k < args.in.size() && first < 0; ++k) {
      const float* x = args.in[k].as<float>();
      std::atomic<bool> finite{true};
      parallel_for(args.in[k].count(), kGrain, threads, [&](int64_t begin, int64_t end) {
        if (!all_finite(x + begin, end - begin)) finite = false;
      });
      if (!finite) first = static_cast<int64_t>(k);
    }
  });
}

}  // namespace

std::vector<KernelEntry> optimizer_cpu() {
  std::vector<KernelEntry> entries{
      {"FirstNonFinite", kOwnDomain, {{"CPU", takes<Float32>(), prepare_first_non_finite}}}};
  for_each_update_rule([&]<class Rule>() {
    entries.push_back(
        {Rule::kType,
         kOwnDomain,
         {{"CPU", takes<Float32>(), prepare_update<Rule, false>, update_wish<Rule, false>}}});
    entries.push_back(
        {type_of_many(Rule::kType),
         kOwnDomain,
         {{"CPU", takes<Float32>(), prepare_update<Rule, true>, update_wish<Rule, true>}}});
  });
  return entries;
}

}  // namespace lockstep
