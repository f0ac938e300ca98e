// The rows are copied. A view would need operands whose addresses change from step to step; plans
// bind them once, and what a GPU has recorded keeps them, too.
#include <algorithm>
#include <cstring>

#include "operators/kit/dispatch.h"
#include "operators/resident/resident.h"
#include "runtime/parallel.h"

namespace lockstep {
namespace {

constexpr int64_t kGrainBytes = 1 << 16;

std::unique_ptr<Kernel> prepare_resident_slice(const KernelRequest& request) {
  const int64_t held = request.in[0].dims[0], rows = request.out[0].dims[0];
  const auto bytes = static_cast<int64_t>(request.out[0].bytes());
  return make_kernel([=, name = request.node.description(),
                      row = bytes / std::max<int64_t>(rows, 1),
                      threads = request.threads](const KernelArgs& args) {
    const int64_t index = *args.in[1].as<int64_t>();
    if (index < 0 || index > held - rows) fail(name, ": ", outside_resident(index, rows, held));
    const std::byte* from = args.in[0].as<std::byte>() + index * row;
    std::byte* to = args.out[0].as<std::byte>();
    parallel_for(bytes, kGrainBytes, threads, [&](int64_t begin, int64_t end) {
      std::memcpy(to + begin, from + begin, static_cast<std::size_t>(end - begin));
    });
  });
}

}  // namespace

std::vector<KernelEntry> resident_cpu() {
  return {{"ResidentSlice", kOwnDomain, {{"CPU", anything, prepare_resident_slice}}}};
}

}  // namespace lockstep
