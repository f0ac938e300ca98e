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
    const float old = correction ? *correction * momentum[i] : momentum[i];
    if (unless && *unless >= 0) {
      step[i] = 0;
      new_momentum[i] = old;
      new_param[i] = param[i];
      return;
    }
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

// What a launch is told of many parameters; it travels as the kernel's argument.
constexpr int kMostUpdates = 256;
constexpr int64_t kChunk = 4096;  // elements of a block

struct Updates {
  int count = 0;
  float mu;
  bool nesterov;
  const float *rate, *correction;  // correction may be null
  const int64_t* unless;           // may be null
  int first_block[kMostUpdates + 1] = {0};
  int64_t size[kMostUpdates];
  float factor[kMostUpdates], decay[kMostUpdates];
  const float *gradient[kMostUpdates], *momentum[kMostUpdates], *param[kMostUpdates];
  float *new_momentum[kMostUpdates], *new_param[kMostUpdates];  // may lie over the old ones
};

__global__ void __launch_bounds__(kBlock) run_updates(const __grid_constant__ Updates updates) {
  int low = 0, high = updates.count;  // the parameter whose blocks this one is among
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    (static_cast<int>(blockIdx.x) >= updates.first_block[middle] ? low : high) = middle;
  }
  const bool stays = updates.unless && *updates.unless >= 0;
  const float rate = *updates.rate, mu = updates.mu;
  const float correction = updates.correction ? *updates.correction : 1;
  const float factor = updates.factor[low], decay = updates.decay[low];
  const int64_t begin = (static_cast<int64_t>(blockIdx.x) - updates.first_block[low]) * kChunk;
  const int64_t end = std::min(begin + kChunk, updates.size[low]);
  for (int64_t i = begin + threadIdx.x; i < end; i += kBlock) {
    const float old = correction * updates.momentum[low][i], before = updates.param[low][i];
    const float slope = factor * updates.gradient[low][i] + decay * before;
    const float fresh = mu * old + rate * slope;
    const float taken = updates.nesterov ? (1 + mu) * fresh - mu * old : fresh;
    updates.new_momentum[low][i] = stays ? old : fresh;
    updates.new_param[low][i] = stays ? before : before - taken;
  }
}

std::unique_ptr<Kernel> prepare_updates(const KernelRequest& request) {
  require_float(request);
  return make_kernel([attrs = read_updates(request.attributes())](const KernelArgs& args) {
    const std::size_t n = attrs.count();
    auto scalar = [&](std::size_t i) -> const void* {
      return i < args.in.size() ? args.in[i].data : nullptr;
    };
    for (std::size_t first = 0; first < n; first += kMostUpdates) {
      Updates updates;
      updates.mu = attrs.momentum.momentum;
      updates.nesterov = attrs.momentum.nesterov;
      updates.rate = static_cast<const float*>(scalar(3 * n));
      updates.correction = static_cast<const float*>(scalar(3 * n + 1));
      updates.unless = static_cast<const int64_t*>(scalar(3 * n + 2));
      for (std::size_t k = first; k < std::min(n, first + kMostUpdates); ++k) {
        const int at = updates.count++;
        updates.size[at] = args.out[k].count();
        updates.factor[at] = attrs.factors[k];
        updates.decay[at] = attrs.decays[k];
        updates.momentum[at] = args.in[k].as<const float>();
        updates.param[at] = args.in[n + k].as<const float>();
        updates.gradient[at] = args.in[2 * n + k].as<const float>();
        updates.new_momentum[at] = args.out[k].as<float>();
        updates.new_param[at] = args.out[n + k].as<float>();
        updates.first_block[at + 1] =
            updates.first_block[at] + static_cast<int>((updates.size[at] + kChunk - 1) / kChunk);
      }
      const int blocks = updates.first_block[updates.count];
      if (blocks == 0) continue;
      launch(run_updates, static_cast<unsigned>(blocks), kBlock, stream_of(args), updates);
    }
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
          {"MomentumSGDUpdates", kOwnDomain, prepare_updates},
          {"FirstNonFinite", kOwnDomain, prepare_first_non_finite}};
}

}  // namespace lockstep
