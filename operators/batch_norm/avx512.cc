// SPDX-License-Identifier: Apache-2.0
// Compiled for one kind of processor: nothing here may be shared with other files, so no function
// of the standard library is used.
#include "operators/kit/simd/avx512.h"
#include "operators/batch_norm/blocks.h"

namespace lockstep::normed {
namespace {

using V = Avx512;
using Vector = V::Vector;

Vector normalised(Vector x, Vector factor, Vector center, Vector bias) {
  return V::add(V::multiply(factor, V::subtract(x, center)), bias);
}

void flush(double* total, Vector sum) {
  float lanes[kChannels];
  V::store(lanes, sum);
  for (int lane = 0; lane < kChannels; ++lane) total[lane] += lanes[lane];
}

struct Terms {
  Vector first, second;
};

// Adds up term(pixel) over the pixels.
template <class Term>
void add_up_terms(int64_t pixels, double* sums, const Term& term) {
  for (int i = 0; i < 2 * kChannels; ++i) sums[i] = 0;
  for (int64_t pixel = 0; pixel < pixels;) {
    Vector first[kWays], second[kWays];
    for (int way = 0; way < kWays; ++way) first[way] = second[way] = V::all(0);
    const auto take = [&](int way, const Terms& terms) {
      first[way] = V::add(first[way], terms.first);
      second[way] = V::add(second[way], terms.second);
    };
    const int64_t stop = pixels - pixel < kStretch ? pixels : pixel + kStretch;
    for (; pixel + kWays <= stop; pixel += kWays)
      for (int way = 0; way < kWays; ++way) take(way, term(pixel + way));
    for (; pixel < stop; ++pixel) take(0, term(pixel));
    for (int way = 0; way < kWays; ++way) {
      flush(sums, first[way]);
      flush(sums + kChannels, second[way]);
    }
  }
}

template <class T>
void add_up(const T* x, int64_t pixels, const float* first, double* sums) {
  const Vector origin = V::load(first);
  add_up_terms(pixels, sums, [&](int64_t pixel) {
    const Vector away = V::subtract(V::load(x + pixel * kChannels), origin);
    return Terms{away, V::multiply(away, away)};
  });
}

template <Ending kEnding, bool kAdds, class T>
void normalise_as(const ForwardBlock<T> block) {
  const Vector factor = V::load(block.factor), center = V::load(block.center),
               bias = V::load(block.bias);
  const Vector low = V::all(block.low), high = V::all(block.high);
  for (int64_t i = 0; i < block.pixels * kChannels; i += kChannels) {
    Vector y = normalised(V::load(block.x + i), factor, center, bias);
    if constexpr (kAdds) y = V::add(V::as_stored(block.z, y), V::load(block.z + i));
    if constexpr (kEnding == Ending::relu)  // NaN stays NaN
      y = V::kept_where(_mm512_cmp_ps_mask(y, V::all(0), _CMP_NLT_UQ), y);
    if constexpr (kEnding == Ending::clip) {
      y = _mm512_mask_mov_ps(y, _mm512_cmp_ps_mask(y, low, _CMP_LT_OQ), low);
      y = _mm512_mask_mov_ps(y, _mm512_cmp_ps_mask(y, high, _CMP_GT_OQ), high);
    }
    V::store(block.y + i, y);
  }
}

template <class T>
void normalise(Ending ending, const ForwardBlock<T>& block) {
  const auto with = [&]<Ending kEnding>() {
    return block.z ? normalise_as<kEnding, true>(block) : normalise_as<kEnding, false>(block);
  };
  switch (ending) {
    case Ending::none:
      return with.template operator()<Ending::none>();
    case Ending::relu:
      return with.template operator()<Ending::relu>();
    case Ending::clip:
      return with.template operator()<Ending::clip>();
  }
}

// The condition under which a part of dy passes.
enum class Gate { open, positive_y, relu, clip };

// Calls use.operator()<gate>().
template <class T, class Use>
void with_gate(Ending ending, const BackwardBlock<T>& block, const Use& use) {
  switch (ending) {
    case Ending::none:
      return use.template operator()<Gate::open>();
    case Ending::relu:
      return block.y ? use.template operator()<Gate::positive_y>()
                     : use.template operator()<Gate::relu>();
    case Ending::clip:
      return use.template operator()<Gate::clip>();
  }
}

template <Gate kGate, class T>
class Passing {
 public:
  explicit Passing(const BackwardBlock<T>& block)
      : dy_(block.dy),
        y_(block.y),
        factor_(V::load(block.factor)),
        center_(V::load(block.center)),
        bias_(kGate == Gate::open ? V::all(0) : V::load(block.bias)),
        low_(V::all(block.low)),
        high_(V::all(block.high)) {}

  Vector operator()(int64_t i, Vector x) const {
    const Vector dy = V::load(dy_ + i);
    if constexpr (kGate == Gate::open) return dy;
    if constexpr (kGate == Gate::positive_y) return V::kept_where(above_zero(V::load(y_ + i)), dy);
    const Vector y = normalised(x, factor_, center_, bias_);
    if constexpr (kGate == Gate::relu) return V::kept_where(above_zero(y), dy);
    return V::kept_where(
        _mm512_cmp_ps_mask(y, low_, _CMP_GE_OQ) & _mm512_cmp_ps_mask(y, high_, _CMP_LE_OQ), dy);
  }

 private:
  static __mmask16 above_zero(Vector y) { return _mm512_cmp_ps_mask(y, V::all(0), _CMP_GT_OQ); }

  const T *dy_, *y_;
  Vector factor_, center_, bias_, low_, high_;
};

template <class T>
void add_up_gradients(Ending ending, const BackwardBlock<T>& block, double* sums) {
  with_gate(ending, block, [&]<Gate kGate>() {
    const Passing<kGate, T> passing(block);
    const Vector center = V::load(block.center);
    add_up_terms(block.pixels, sums, [&](int64_t pixel) {
      const Vector x = V::load(block.x + pixel * kChannels);
      const Vector m = passing(pixel * kChannels, x);
      return Terms{m, V::multiply(m, V::subtract(x, center))};
    });
  });
}

template <Gate kGate, bool kPassesOn, bool kGiven, class T>
void differentiate_as(const BackwardBlock<T> block) {
  const Passing<kGate, T> passing(block);
  const Vector factor = V::load(block.factor), center = V::load(block.center);
  const Vector mean = V::load(block.mean), slope = V::load(block.slope);
  for (int64_t i = 0; i < block.pixels * kChannels; i += kChannels) {
    const Vector x = V::load(block.x + i), m = passing(i, x);
    if constexpr (kPassesOn) V::store(block.dz + i, m);
    Vector rest = m;
    if constexpr (!kGiven)
      rest = V::subtract(V::subtract(m, mean), V::multiply(V::subtract(x, center), slope));
    V::store(block.dx + i, V::multiply(factor, rest));
  }
}

template <class T>
void differentiate(Ending ending, const BackwardBlock<T>& block) {
  with_gate(ending, block, [&]<Gate kGate>() {
    if (block.given)
      return block.dz ? differentiate_as<kGate, true, true>(block)
                      : differentiate_as<kGate, false, true>(block);
    return block.dz ? differentiate_as<kGate, true, false>(block)
                    : differentiate_as<kGate, false, false>(block);
  });
}

}  // namespace

template <class T>
const BlockLoops<T>& avx512_loops() {
  static constexpr BlockLoops<T> loops{add_up<T>, normalise<T>, add_up_gradients<T>,
                                       differentiate<T>};
  return loops;
}

template const BlockLoops<float>& avx512_loops<float>();
template const BlockLoops<BFloat16>& avx512_loops<BFloat16>();

}  // namespace lockstep::normed
