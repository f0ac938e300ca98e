// SPDX-License-Identifier: Apache-2.0
#include "operators/layout/padding.h"

#include <cstring>

#include "operators/layout/layout.h"
#include "runtime/threads/parallel.h"
#include "runtime/threads/thread_limit.h"

namespace lockstep {
namespace {

// The request with padding counted as channels.
KernelRequest with_all_places(const KernelRequest& request) {
  KernelRequest whole = request;
  for (std::vector<TensorDesc>* descs : {&whole.in, &whole.out})
    for (TensorDesc& desc : *descs) desc.dims = desc.stored();
  return whole;
}

}  // namespace

Candidate keeping_zeros(Candidate candidate) {
  candidate.prepare = [prepare = std::move(candidate.prepare)](const KernelRequest& request) {
    return prepare(with_all_places(request));
  };
  candidate.wish = flat_padded;
  return candidate;
}

void clear_padding(const Tensor& tensor) {
  const TensorDesc& desc = tensor.desc;
  if (!desc.padded()) return;
  const int64_t block = desc.block(), own = desc.dims[1] % block;
  const int64_t blocks = desc.dims[1] / block + 1;
  const int64_t plane = desc.count() / (desc.dims[0] * desc.dims[1]);
  const auto size = static_cast<int64_t>(size_of(desc.dtype));
  const std::size_t cleared = (block - own) * size;
  auto* bytes = tensor.as<std::byte>();
  parallel_for(desc.dims[0], 1, threads_of_this_thread(), [=](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n)
      for (int64_t p = 0; p < plane; ++p) {
        const int64_t pixel = (((n + 1) * blocks - 1) * plane + p) * block;
        std::memset(bytes + (pixel + own) * size, 0, cleared);
      }
  });
}

}  // namespace lockstep
