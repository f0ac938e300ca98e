#include "operators/elements_cuda.h"
#include "operators/optimizer/optimizer.h"

namespace lockstep {
namespace {

void require_float(const KernelRequest& request) {
  supported(request.in[0].dtype == DType::float32, "has no GPU kernel for ", request.in[0].dtype);
}

struct Times {
  float factor;
  __device__ float operator()(float x) const { return factor * x; }
};

std::unique_ptr<Kernel> prepare_scale(const KernelRequest& request) {
  require_float(request);
  auto attributes = request.attributes();
  return map_one<float, float>(request, Times{attributes.number("scale", 1)});
}

constexpr int kMostTerms = 16;

// Weights are operands: they lie in the device's memory.
struct WeightedTerms {
  int count;
  const float* term[kMostTerms];
  const float* weight[kMostTerms];
  float* y;
  __device__ void operator()(int64_t i) const {
    float total = 0;
    for (int k = 0; k < count; ++k) total += term[k][i] * *weight[k];
    y[i] = total;
  }
};

std::unique_ptr<Kernel> prepare_weighted_sum(const KernelRequest& request) {
  require_float(request);
  supported(request.in.size() <= 2 * kMostTerms, "adds up more than ", kMostTerms, " terms");
  return make_kernel([count = request.out[0].count()](const KernelArgs& args) {
    WeightedTerms body{static_cast<int>(args.in.size() / 2), {}, {}, args.out[0].as<float>()};
    for (int k = 0; k < body.count; ++k) {
      body.term[k] = args.in[static_cast<std::size_t>(2 * k)].as<float>();
      body.weight[k] = args.in[static_cast<std::size_t>(2 * k + 1)].as<float>();
    }
    for_elements(args, count, body);
  });
}

struct Momentum {
  float mu;
  bool nesterov;
  const float *gradient, *momentum, *rate, *param, *correction;
  const int64_t* unless;
  float *step, *new_momentum, *new_param;

  __device__ void operator()(int64_t i) const {
    if (unless && *unless >= 0) {
      step[i] = 0;
      new_momentum[i] = momentum[i];
      new_param[i] = param[i];
      return;
    }
    const float old = correction ? *correction * momentum[i] : momentum[i];
    const float fresh = mu * old + *rate * gradient[i];
    const float taken = nesterov ? (1 + mu) * fresh - mu * old : fresh;
    const float before = param[i];  // results may lie over operands
    step[i] = taken;
    new_momentum[i] = fresh;
    new_param[i] = before - taken;
  }
};

std::unique_ptr<Kernel> prepare_momentum(const KernelRequest& request) {
  require_float(request);
  auto attributes = request.attributes();
  const float mu = attributes.number("momentum", 0);
  const bool nesterov = attributes.integer("nesterov", 0) != 0;
  return make_kernel([mu, nesterov, count = request.out[0].count()](const KernelArgs& args) {
    auto in = [&](std::size_t k) {
      return k < args.in.size() ? args.in[k].as<const float>() : nullptr;
    };
    for_elements(
        args, count,
        Momentum{mu, nesterov, in(0), in(1), in(2), in(3), in(4),
                 args.in.size() > 5 ? args.in[5].as<const int64_t>() : nullptr,
                 args.out[0].as<float>(), args.out[1].as<float>(), args.out[2].as<float>()});
  });
}

struct Answer {
  int64_t* to;
  int64_t value;
  __device__ void operator()(int64_t) const { *to = value; }
};
struct AnswerIfNotFinite {
  const float* x;
  int64_t* to;
  int64_t value;
  __device__ void operator()(int64_t i) const {
    if (!isfinite(x[i])) *to = value;  // whoever writes, writes the same
  }
};

// From the last operand to the first, so that the first that is not finite writes last.
std::unique_ptr<Kernel> prepare_first_non_finite(const KernelRequest& request) {
  require_float(request);
  return make_kernel([](const KernelArgs& args) {
    auto* first = args.out[0].as<int64_t>();
    for_elements(args, 1, Answer{first, -1});
    for (std::size_t k = args.in.size(); k-- > 0;)
      for_elements(args, args.in[k].count(),
                   AnswerIfNotFinite{args.in[k].as<const float>(), first, static_cast<int64_t>(k)});
  });
}

}  // namespace

std::vector<KernelEntry> optimizer_cuda() {
  return {{"Scale", kOwnDomain, prepare_scale},
          {"WeightedSum", kOwnDomain, prepare_weighted_sum},
          {"MomentumSGDUpdate", kOwnDomain, prepare_momentum},
          {"FirstNonFinite", kOwnDomain, prepare_first_non_finite}};
}

}  // namespace lockstep
