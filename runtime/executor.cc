#include "runtime/executor.h"

#include <cmath>

#include "runtime/queue_executor.h"
#include "runtime/thread_executor.h"

namespace lockstep {
namespace {

template <class T>
bool finite_values(const Tensor& tensor) {
  const T* values = tensor.as<T>();
  for (int64_t i = 0; i < tensor.count(); ++i)
    if (!std::isfinite(values[i])) return false;
  return true;
}

}  // namespace

bool all_finite(const Tensor& tensor) {
  if (tensor.desc.dtype == DType::float32) return finite_values<float>(tensor);
  if (tensor.desc.dtype == DType::float64) return finite_values<double>(tensor);
  return true;
}

std::unique_ptr<Executor> make_executor(Plan plan, const StateStore& state, Workers& workers,
                                        Accelerator* accelerator, Comm* comm) {
  if (accelerator)
    return std::make_unique<QueueExecutor>(std::move(plan), state, *accelerator, comm);
  return std::make_unique<ThreadExecutor>(std::move(plan), state, workers);
}

void Executor::check_feeds(std::span<const Tensor> feeds) const {
  check(feeds.size() == plan_.feeds.size(), plan_.name, " takes ", plan_.feeds.size(),
        " feeds, was given ", feeds.size());
  for (std::size_t i = 0; i < feeds.size(); ++i) {
    if (plan_.feeds[i] < 0) continue;
    const TensorDesc& desc = plan_.slots[plan_.feeds[i]].desc;
    if (feeds[i].desc != desc)
      fail(plan_.name, ": feed ", i, " is ", text_of(feeds[i].desc), ", the plan is for ",
           text_of(desc));
  }
}

void Executor::fail_not_finite(const PlanStep& step, uint64_t number) const {
  fail("step ", number, ": the first value that is not finite is '", plan_.slots[step.out[0]].name,
       "' (", step.type, " on ", worker_name(plan_, step.worker), ")");
}

void Executor::check_guards(std::size_t guard_bytes) const {
  for (const Block& block : plan_.blocks) {
    const std::byte* begin = arena_to_read(block.worker) + block.offset;
    for (std::size_t i = 0; i < guard_bytes; ++i) {
      bool intact = *(begin - 1 - i) == kGuard && begin[block.bytes + i] == kGuard;
      if (intact) continue;
      for (const Slot& slot : plan_.slots)
        if (slot.storage == Storage::arena && &plan_.blocks[slot.index] == &block)
          fail("a kernel wrote outside '", slot.name, "' ", text_of(slot.desc));
      fail("a kernel wrote outside its workspace of ", block.bytes, " bytes");
    }
  }
}

}  // namespace lockstep
