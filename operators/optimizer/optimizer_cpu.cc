#include <atomic>

#include "operators/optimizer/optimizer.h"
#include "runtime/finite.h"
#include "runtime/parallel.h"

namespace lockstep {
namespace {

constexpr int64_t kGrain = 16384;

void require_float(const KernelRequest& request) {
  supported(request.in[0].dtype == DType::float32, "has no CPU kernel for ", request.in[0].dtype);
}

std::unique_ptr<Kernel> prepare_scale(const KernelRequest& request) {
  require_float(request);
  auto attributes = request.attributes();
  const float factor = attributes.number("scale", 1);
  return make_kernel(
      [factor, count = request.out[0].count(), threads = request.threads](const KernelArgs& args) {
        const float* x = args.in[0].as<float>();
        float* y = args.out[0].as<float>();
        parallel_for(count, kGrain, threads, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) y[i] = factor * x[i];
        });
      });
}

std::unique_ptr<Kernel> prepare_weighted_sum(const KernelRequest& request) {
  require_float(request);
  return make_kernel(
      [count = request.out[0].count(), threads = request.threads](const KernelArgs& args) {
        float* y = args.out[0].as<float>();
        parallel_for(count, kGrain, threads, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            float total = 0;
            for (std::size_t k = 0; k < args.in.size(); k += 2)
              total += args.in[k].as<float>()[i] * *args.in[k + 1].as<float>();
            y[i] = total;
          }
        });
      });
}

std::unique_ptr<Kernel> prepare_momentum(const KernelRequest& request) {
  require_float(request);
  auto attributes = request.attributes();
  const float mu = attributes.number("momentum", 0);
  const bool nesterov = attributes.integer("nesterov", 0) != 0;
  return make_kernel([mu, nesterov, count = request.out[0].count(),
                      threads = request.threads](const KernelArgs& args) {
    const float* gradient = args.in[0].as<float>();
    const float* momentum = args.in[1].as<float>();
    const float rate = *args.in[2].as<float>();
    const float* param = args.in[3].as<float>();
    float* step = args.out[0].as<float>();
    float* new_momentum = args.out[1].as<float>();
    float* new_param = args.out[2].as<float>();
    const bool given = args.in.size() > 4 && args.in[4].data;
    const float correction = given ? *args.in[4].as<float>() : 1.F;
    const bool stays = args.in.size() > 5 && *args.in[5].as<int64_t>() >= 0;
    parallel_for(count, kGrain, threads, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end && stays; ++i) {
        step[i] = 0;
        new_momentum[i] = correction * momentum[i];
        new_param[i] = param[i];
      }
      for (int64_t i = begin; i < end && !stays; ++i) {
        const float old = correction * momentum[i];
        const float fresh = mu * old + rate * gradient[i];
        const float taken = nesterov ? (1 + mu) * fresh - mu * old : fresh;
        step[i] = taken;
        new_momentum[i] = fresh;
        new_param[i] = param[i] - taken;
      }
    });
  });
}

std::unique_ptr<Kernel> prepare_updates(const KernelRequest& request) {
  require_float(request);
  return make_kernel([attrs = read_updates(request.attributes()),
                      threads = request.threads](const KernelArgs& args) {
    const std::size_t n = attrs.count();
    const float rate = *args.in[3 * n].as<float>(), mu = attrs.momentum.momentum;
    const bool given = args.in.size() > 3 * n + 1 && args.in[3 * n + 1].data;
    const float correction = given ? *args.in[3 * n + 1].as<float>() : 1.F;
    const bool stays = args.in.size() > 3 * n + 2 && *args.in[3 * n + 2].as<int64_t>() >= 0;
    for (std::size_t k = 0; k < n; ++k) {
      const float *momentum = args.in[k].as<float>(), *param = args.in[n + k].as<float>();
      const float* gradient = args.in[2 * n + k].as<float>();
      float *new_momentum = args.out[k].as<float>(), *new_param = args.out[n + k].as<float>();
      const float factor = attrs.factors[k], decay = attrs.decays[k];
      parallel_for(args.out[k].count(), kGrain, threads, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const float old = correction * momentum[i], before = param[i];
          float slope = factor * gradient[i];
          if (decay != 0) slope += before * decay;
          const float fresh = mu * old + rate * slope;
          const float taken = attrs.momentum.nesterov ? (1 + mu) * fresh - mu * old : fresh;
          new_momentum[i] = stays ? old : fresh;
          new_param[i] = stays ? before : before - taken;
        }
      });
    }
  });
}

std::unique_ptr<Kernel> prepare_first_non_finite(const KernelRequest& request) {
  require_float(request);
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
  return {{"Scale", kOwnDomain, prepare_scale},
          {"WeightedSum", kOwnDomain, prepare_weighted_sum},
          {"MomentumSGDUpdate", kOwnDomain, prepare_momentum},
          {"MomentumSGDUpdates", kOwnDomain, prepare_updates},
          {"FirstNonFinite", kOwnDomain, prepare_first_non_finite}};
}

}  // namespace lockstep
