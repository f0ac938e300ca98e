#include "operators/elementwise/cast_cuda.h"

#include "operators/dispatch.h"
#include "operators/elements_cuda.h"

namespace lockstep {
namespace {

template <class To>
struct Converted {
  template <class From>
  __device__ To operator()(From x) const {
    return stored<To>(x);
  }
};

}  // namespace

std::unique_ptr<Kernel> cast_cuda(const KernelRequest& request) {
  return dispatch<float, double, int32_t, int64_t, bool, Half, BFloat16>(
      request.in[0].dtype, [&]<class From>() {
        return dispatch<float, double, int32_t, int64_t, bool, Half, BFloat16>(
            request.out[0].dtype, [&]<class To>() {
              return map_one<DeviceType<From>, DeviceType<To>>(
                  request, Converted<Computed<DeviceType<To>>>());
            });
      });
}

}  // namespace lockstep
