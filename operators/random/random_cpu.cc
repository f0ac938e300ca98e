// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "operators/kit/dispatch.h"
#include "operators/random/random.h"
#include "operators/random/source.h"
#include "operators/random/truths.h"
#include "runtime/threads/parallel.h"

namespace lockstep {
namespace {

constexpr int64_t kGrain = 4096;  // blocks of four numbers

// Calls body(element, word) for each of `count` elements.
template <class Body>
void for_words(const DrawnBlocks& blocks, int64_t count, int threads, const Body& body) {
  parallel_for((count + 3) / 4, kGrain, threads, [&](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block) {
      const PhiloxBlock words = blocks.at(block);
      for (int64_t i = 4 * block; i < std::min(count, 4 * block + 4); ++i) body(i, words[i % 4]);
    }
  });
}

template <class T>
T stored_as(double value) {
  if constexpr (std::is_same_v<T, double>)
    return value;
  else
    return T(static_cast<float>(value));
}

std::unique_ptr<Kernel> prepare_uniform(const KernelRequest& request) {
  const double low = request.attributes().number("low", 0),
               high = request.attributes().number("high", 1);
  const RandomSource source = random_source_of(request.node);
  return dispatch<AllFloats>(request.out[0].dtype, [&]<class T>() {
    return make_kernel([source, low, high, count = request.out[0].count(),
                        threads = request.threads](const KernelArgs& args) {
      T* y = args.out[0].as<T>();
      const uint32_t used = bits_used<T>(source.kind);
      for_words(source.in(args.context), count, threads, [&](int64_t i, uint32_t word) {
        y[i] = stored_as<T>(low + (high - low) * uniform_of(word & used));
      });
    });
  });
}

std::unique_ptr<Kernel> prepare_normal(const KernelRequest& request) {
  const double mean = request.attributes().number("mean", 0),
               scale = request.attributes().number("scale", 1);
  const RandomSource source = random_source_of(request.node);
  return dispatch<AllFloats>(request.out[0].dtype, [&]<class T>() {
    return make_kernel([source, mean, scale, count = request.out[0].count(),
                        threads = request.threads](const KernelArgs& args) {
      T* y = args.out[0].as<T>();
      const DrawnBlocks blocks = source.in(args.context);
      parallel_for((count + 3) / 4, kGrain, threads, [&](int64_t begin, int64_t end) {
        for (int64_t block = begin; block < end; ++block) {
          const PhiloxBlock words = blocks.at(block);
          for (int64_t i = 4 * block, pair = 0; pair < 4; pair += 2) {
            for (const double x : normal_of(words[pair], words[pair + 1])) {
              if (i < count) y[i] = stored_as<T>(mean + scale * x);
              ++i;
            }
          }
        }
      });
    });
  });
}

std::string takes_probabilities(const KernelRequest& request) {
  const DType made = request.out[0].dtype;
  return made != DType::undefined && made != DType::string
             ? takes<AllFloats>()(request)
             : join("makes numbers and booleans, not ", made);
}

std::unique_ptr<Kernel> prepare_bernoulli(const KernelRequest& request) {
  const RandomSource source = random_source_of(request.node);
  const std::string node = request.node.description(),
                    operand = request.node.graph().name(request.node.inputs()[0]);
  return dispatch<AllFloats>(request.in[0].dtype, [&]<class P>() {
    return of_size(request.out[0].dtype, [&]<class Bits>() {
      return make_kernel([=, results = truths_of<Bits>(request.out[0].dtype),
                          count = request.in[0].count(),
                          threads = request.threads](const KernelArgs& args) {
        const P* p = args.in[0].as<P>();
        const auto is_outside = [](P x) {
          const double value = x;
          return value < 0 || value > 1;
        };
        for (int64_t i = 0; i < count; ++i)
          if (is_outside(p[i]))
            fail(node, ": ",
                 text_of_probability(operand, args.in[0].desc.dims, static_cast<double>(p[i]), i));
        auto* y = reinterpret_cast<Bits*>(args.out[0].as<std::byte>());
        for_words(source.in(args.context), count, threads, [&](int64_t i, uint32_t word) {
          y[i] = results.of(uniform_of(word), static_cast<double>(p[i]));
        });
      });
    });
  });
}

// The highest value of a row; NaN if the row has no probability.
template <class T>
double highest_of(const T* row, int64_t classes) {
  double highest = -std::numeric_limits<double>::infinity();
  for (int64_t k = 0; k < classes; ++k) {
    const double value = row[k];
    if (std::isnan(value)) return value;
    highest = std::max(highest, value);
  }
  return std::isinf(highest) ? std::numeric_limits<double>::quiet_NaN() : highest;
}

// Draws a class by the sums of the weights up to each class. A thread has one row of sums.
std::unique_ptr<Kernel> prepare_multinomial(const KernelRequest& request) {
  const RandomSource source = random_source_of(request.node);
  const int64_t rows = request.in[0].dims[0], classes = request.in[0].dims[1],
                samples = request.out[0].dims[1];
  const std::string node = request.node.description(),
                    operand = request.node.graph().name(request.node.inputs()[0]);
  const int threads = std::max(1, request.threads);
  return dispatch<AllFloats>(request.in[0].dtype, [&]<class T>() {
    return dispatch<Integers>(request.out[0].dtype, [&]<class Y>() {
      const auto run = [=](const KernelArgs& args) {
        const T* x = args.in[0].as<T>();
        Y* y = args.out[0].as<Y>();
        for (int64_t row = 0; row < rows; ++row)
          if (std::isnan(highest_of(x + row * classes, classes)))
            fail(node, ": ", text_of_row(operand, row));
        const DrawnBlocks blocks = source.in(args.context);
        auto* all_sums = reinterpret_cast<double*>(args.workspace);
        parallel_for_slots(rows, 1, threads, [&](int slot, int64_t begin, int64_t end) {
          double* sums = all_sums + slot * classes;
          for (int64_t row = begin; row < end; ++row) {
            const T* here = x + row * classes;
            const double highest = highest_of(here, classes);
            double total = 0;
            int64_t last = 0;  // the last class that can be drawn
            for (int64_t k = 0; k < classes; ++k) {
              const double weight = std::exp(static_cast<double>(here[k]) - highest);
              if (weight > 0) last = k;
              sums[k] = total += weight;
            }
            for (int64_t s = 0; s < samples; ++s) {
              const int64_t number = row * samples + s;
              const double target = total * uniform_of(blocks.at(number / 4)[number % 4]);
              const int64_t k = std::upper_bound(sums, sums + classes, target) - sums;
              y[number] = static_cast<Y>(std::min(k, last));
            }
          }
        });
      };
      return make_kernel(run, "", sizeof(double) * classes * threads);
    });
  });
}

}  // namespace

std::vector<KernelEntry> random_cpu() {
  const Candidate uniform{"CPU", makes<AllFloats>(), prepare_uniform},
      normal{"CPU", makes<AllFloats>(), prepare_normal};
  return {{"RandomNormal", "", {normal}},
          {"RandomNormalLike", "", {normal}},
          {"RandomUniform", "", {uniform}},
          {"RandomUniformLike", "", {uniform}},
          {"Bernoulli", "", {{"CPU", takes_probabilities, prepare_bernoulli}}},
          {"Multinomial",
           "",
           {{"CPU", every({takes<AllFloats>(), makes<Integers>()}), prepare_multinomial}}}};
}

}  // namespace lockstep
