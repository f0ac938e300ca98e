// SPDX-License-Identifier: Apache-2.0
// Uses the CPU's numbers, so it drops the same elements.
#include "graph/random_stream.h"
#include "lockstep/random.h"
#include "operators/dropout/dropout.h"
#include "operators/kit/dispatch.h"
#include "operators/kit/elements_cuda.h"
#include "operators/layout/layout.h"

namespace lockstep {
namespace {

// Each thread uses one block of four numbers. Operands and the step number are read on the device,
// since a recorded step runs with another step number each time.
template <class T>
struct Dropped {
  int64_t count;
  uint64_t stream;
  const RunContext* context;
  const float* ratio;    // null: 0.5
  const bool* training;  // null: no
  const T* x;
  T* y;        // may alias x
  bool* mask;  // may be null

  __device__ void operator()(int64_t block) const {
    const double share = ratio ? static_cast<double>(*ratio) : 0.5;
    const bool drops = training && *training && share != 0;
    const PhiloxBlock bits =
        philox(context->seed, stream_in_step(context->step, stream), static_cast<uint64_t>(block));
    const auto growth = share < 1 ? static_cast<Computed<T>>(1 / (1 - share)) : Computed<T>(0);
    for (int k = 0; k < 4 && 4 * block + k < count; ++k) {
      const int64_t i = 4 * block + k;
      const bool kept = !drops || uniform_of(bits[k]) > share;
      if (!drops)
        y[i] = x[i];
      else
        y[i] = kept ? stored<T>(computed(x[i]) * growth) : stored<T>(0.0F);
      if (mask) mask[i] = kept;
    }
  }
};

std::unique_ptr<Kernel> prepare(const KernelRequest& request) {
  for (std::size_t i = 1; i < request.in.size(); ++i)
    check(!request.in[i].present() || request.in[i].count() == 1, "operand ", i, " is ",
          request.in[i], ", should be a scalar");
  const auto stream = static_cast<uint64_t>(random_stream_of(request.node));
  return dispatch<AllFloats>(request.in[0].dtype, [&]<class Host>() {
    using T = DeviceType<Host>;
    return make_kernel([stream, count = request.in[0].count()](const KernelArgs& args) {
      auto operand = [&](std::size_t i) -> const void* {
        return i < args.in.size() ? args.in[i].data : nullptr;
      };
      for_elements(
          args, (count + 3) / 4,
          Dropped<T>{count, stream, args.device_context, static_cast<const float*>(operand(1)),
                     static_cast<const bool*>(operand(2)), args.in[0].as<const T>(),
                     args.out[0].as<T>(), args.out.size() > 1 ? args.out[1].as<bool>() : nullptr});
    });
  });
}

}  // namespace

std::vector<KernelEntry> dropout_cuda() {
  const Refusal floats = every({takes<AllFloats>(), takes<Float32>(1)});
  return {{"Dropout", "", {{"GPU", floats, prepare}}},
          {"DropoutGrad", kOwnDomain, {{"GPU", floats, prepare}}}};
}

}  // namespace lockstep
