// SPDX-License-Identifier: Apache-2.0
// Uses the CPU's words. Uniform numbers and Bernoulli's results have the CPU's bits. Logarithms,
// cosines and exponentials of CUDA may differ in the last bit of a double, which rounding to float
// hides in all but rare cases. Initial values run on the host, so that they have the same bits on
// every device.
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "operators/kit/dispatch.h"
#include "operators/kit/elements_cuda.h"
#include "operators/random/random.h"
#include "operators/random/source.h"
#include "operators/random/truths.h"

namespace lockstep {
namespace {

// Each thread makes the four numbers of one block. The seed and the step are read on the device,
// since a recorded step runs with another step number each time.
template <class Device>
struct DrawnUniform {
  int64_t count;
  RandomSource source;
  const RunContext* context;
  double low, high;
  uint32_t used;
  Device* y;

  __device__ void operator()(int64_t block) const {
    const PhiloxBlock words = source.in(*context).at(block);
    for (int k = 0; k < 4 && 4 * block + k < count; ++k)
      y[4 * block + k] = stored<Device>(
          static_cast<Computed<Device>>(low + (high - low) * uniform_of(words[k] & used)));
  }
};

template <class Device>
struct DrawnNormal {
  int64_t count;
  RandomSource source;
  const RunContext* context;
  double mean, scale;
  Device* y;

  __device__ void operator()(int64_t block) const {
    const PhiloxBlock words = source.in(*context).at(block);
    for (int pair = 0; pair < 4; pair += 2) {
      const double radius = sqrt(-2.0 * log(uniform_of(words[pair])));
      const double angle = 6.283185307179586476925 * uniform_of(words[pair + 1]);
      const int64_t i = 4 * block + pair;
      if (i < count) y[i] = value(radius * cos(angle));
      if (i + 1 < count) y[i + 1] = value(radius * sin(angle));
    }
  }
  __device__ Device value(double x) const {
    return stored<Device>(static_cast<Computed<Device>>(mean + scale * x));
  }
};

template <class Probability, class Bits>
struct DrawnTruth {
  int64_t count;
  RandomSource source;
  const RunContext* context;
  const Probability* p;
  Truths<Bits> results;
  Bits* y;
  Fault* fault;

  __device__ void operator()(int64_t block) const {
    const PhiloxBlock words = source.in(*context).at(block);
    for (int k = 0; k < 4 && 4 * block + k < count; ++k) {
      const int64_t i = 4 * block + k;
      const double probability = computed(p[i]);
      if (probability < 0 || probability > 1) {
        int64_t bits;
        memcpy(&bits, &probability, sizeof bits);
        raise(fault, bits, i);
      }
      y[i] = results.of(uniform_of(words[k]), probability);
    }
  }
};

// Each thread draws one class.
template <class Score, class Class>
struct DrawnClass {
  int64_t classes, samples;
  RandomSource source;
  const RunContext* context;
  const Score* x;
  Class* y;
  Fault* fault;

  __device__ void operator()(int64_t number) const {
    const int64_t row = number / samples;
    const Score* here = x + row * classes;
    double highest = -HUGE_VAL;
    bool valid = true;
    for (int64_t k = 0; k < classes; ++k) {
      const double score = computed(here[k]);
      valid = valid && score == score;
      if (score > highest) highest = score;
    }
    if (!valid || highest == HUGE_VAL || highest == -HUGE_VAL) {
      raise(fault, 0, row);
      y[number] = 0;
      return;
    }
    double total = 0;
    for (int64_t k = 0; k < classes; ++k)
      total += exp(static_cast<double>(computed(here[k])) - highest);
    const double target =
        total *
        uniform_of(source.in(*context).at(number / 4)[static_cast<std::size_t>(number % 4)]);
    double sum = 0;
    int64_t last = 0;  // the last class that can be drawn
    for (int64_t k = 0; k < classes; ++k) {
      const double weight = exp(static_cast<double>(computed(here[k])) - highest);
      if (weight > 0) last = k;
      sum += weight;
      if (sum > target) break;
    }
    y[number] = static_cast<Class>(last);
  }
};

std::unique_ptr<Kernel> prepare_drawn_uniform(const KernelRequest& request) {
  const double low = request.attributes().number("low", 0),
               high = request.attributes().number("high", 1);
  const RandomSource source = random_source_of(request.node);
  return dispatch<AllFloats>(request.out[0].dtype, [&]<class T>() {
    return make_kernel([source, low, high, count = request.out[0].count()](const KernelArgs& args) {
      using Device = DeviceType<T>;
      for_elements(args, (count + 3) / 4,
                   DrawnUniform<Device>{count, source, args.device_context, low, high,
                                        bits_used<T>(source.kind), args.out[0].as<Device>()});
    });
  });
}

std::unique_ptr<Kernel> prepare_drawn_normal(const KernelRequest& request) {
  const double mean = request.attributes().number("mean", 0),
               scale = request.attributes().number("scale", 1);
  const RandomSource source = random_source_of(request.node);
  return dispatch<AllFloats>(request.out[0].dtype, [&]<class T>() {
    return make_kernel(
        [source, mean, scale, count = request.out[0].count()](const KernelArgs& args) {
          using Device = DeviceType<T>;
          for_elements(args, (count + 3) / 4,
                       DrawnNormal<Device>{count, source, args.device_context, mean, scale,
                                           args.out[0].as<Device>()});
        });
  });
}

std::unique_ptr<Kernel> prepare_drawn_truth(const KernelRequest& request) {
  const RandomSource source = random_source_of(request.node);
  const std::string operand = request.node.graph().name(request.node.inputs()[0]);
  const ExplainFault explain = [operand, dims = request.in[0].dims](const Fault& fault) {
    return text_of_probability(operand, dims, std::bit_cast<double>(fault.value), fault.place);
  };
  return dispatch<AllFloats>(request.in[0].dtype, [&]<class P>() {
    return of_size(request.out[0].dtype, [&]<class Bits>() {
      return make_kernel(
          [source, results = truths_of<Bits>(request.out[0].dtype),
           count = request.in[0].count()](const KernelArgs& args) {
            using Device = DeviceType<P>;
            for_elements(args, (count + 3) / 4,
                         DrawnTruth<Device, Bits>{
                             count, source, args.device_context, args.in[0].as<const Device>(),
                             results, static_cast<Bits*>(args.out[0].data), args.fault});
          },
          "", 0, explain);
    });
  });
}

std::unique_ptr<Kernel> prepare_drawn_class(const KernelRequest& request) {
  const RandomSource source = random_source_of(request.node);
  const int64_t classes = request.in[0].dims[1], samples = request.out[0].dims[1];
  const std::string operand = request.node.graph().name(request.node.inputs()[0]);
  const ExplainFault explain = [operand](const Fault& fault) {
    return text_of_row(operand, fault.place);
  };
  return dispatch<AllFloats>(request.in[0].dtype, [&]<class T>() {
    return dispatch<Integers>(request.out[0].dtype, [&]<class Y>() {
      return make_kernel(
          [source, classes, samples, count = request.out[0].count()](const KernelArgs& args) {
            using Device = DeviceType<T>;
            for_elements(args, count,
                         DrawnClass<Device, Y>{classes, samples, source, args.device_context,
                                               args.in[0].as<const Device>(), args.out[0].as<Y>(),
                                               args.fault});
          },
          "", 0, explain);
    });
  });
}

std::string draws_no_initial_values(const KernelRequest& request) {
  return random_source_of(request.node).kind == RandomSource::Kind::initial
             ? "leaves initial values to the host, which gives all devices the same bits"
             : "";
}

}  // namespace

std::vector<KernelEntry> random_cuda() {
  const Refusal makes_floats = every({draws_no_initial_values, makes<AllFloats>()});
  const Candidate uniform{"GPU", makes_floats, prepare_drawn_uniform},
      normal{"GPU", makes_floats, prepare_drawn_normal};
  return {{"RandomNormal", "", {normal}},
          {"RandomNormalLike", "", {normal}},
          {"RandomUniform", "", {uniform}},
          {"RandomUniformLike", "", {uniform}},
          {"Bernoulli",
           "",
           {{"GPU", every({draws_no_initial_values, takes<AllFloats>()}), prepare_drawn_truth}}},
          {"Multinomial",
           "",
           {{"GPU", every({draws_no_initial_values, takes<AllFloats>(), makes<Integers>()}),
             prepare_drawn_class}}}};
}

}  // namespace lockstep
