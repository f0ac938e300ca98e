// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "operators/kit/dispatch.h"
#include "operators/kit/elements_cuda.h"
#include "operators/resident/resident.h"

namespace lockstep {
namespace {

// Copies instead of moving a view: a recorded graph keeps the addresses of its operands.
template <class T>
struct TakeResidentRows {
  int64_t row, last;  // elements of a row; the last row at which a minibatch may begin
  const int64_t* index;
  Fault* fault;
  const T* from;
  T* to;
  __device__ void operator()(int64_t element) const {
    if (*index >= 0 && *index <= last)
      to[element] = from[*index * row + element];
    else
      raise(fault, *index);
  }
};

std::unique_ptr<Kernel> prepare_resident_slice(const KernelRequest& request) {
  const int64_t held = request.in[0].dims[0], rows = request.out[0].dims[0],
                count = request.out[0].count();
  return of_size(request.in[0].dtype, [&]<class T>() {
    return make_kernel(
        [=, row = count / std::max<int64_t>(rows, 1)](const KernelArgs& args) {
          for_elements(
              args, count,
              TakeResidentRows<T>{row, held - rows, args.in[1].as<const int64_t>(), args.fault,
                                  args.in[0].as<const T>(), args.out[0].as<T>()});
        },
        "", 0, [=](const Fault& fault) { return outside_resident(fault.value, rows, held); });
  });
}

}  // namespace

std::vector<KernelEntry> resident_cuda() {
  return {{"ResidentSlice", kOwnDomain, {{"GPU", anything, prepare_resident_slice}}}};
}

}  // namespace lockstep
