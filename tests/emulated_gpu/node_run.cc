// SPDX-License-Identifier: Apache-2.0
#include "tests/emulated_gpu/node_run.h"

#include <cstring>

#include "lockstep/operators.h"
#include "lockstep/types.h"
#include "runtime/accelerator.h"
#include "runtime/memory.h"
#include "tests/support/laid_out.h"

namespace lockstep::testing {
namespace {

const KernelTable& table_of(DeviceKind kind) { return table_for(all_kernels(), Device{kind, 0}); }

KernelRequest request_of(const Node& node, const NodeRun& run) {
  const Graph& graph = node.graph();
  const auto descs = [&](std::span<const Value> values, bool channels_last) {
    std::vector<TensorDesc> all;
    for (const Value value : values) {
      TensorDesc desc;
      if (value) desc = {graph.dtype(value), to_dims(graph.shape(value))};
      if (channels_last && desc.dims.size() > 2 && desc.count() > 0)
        desc.layout = Layout::channels_last(desc.dims[1]);
      all.push_back(desc);
    }
    return all;
  };
  KernelRequest request{.node = node,
                        .in = descs(node.inputs(), run.channels_last && !run.results_only),
                        .out = descs(node.outputs(), run.channels_last)};
  if (run.layouts) {
    for (std::size_t i = 0; i < request.in.size(); ++i) request.in[i].layout = run.layouts->in[i];
    for (std::size_t i = 0; i < request.out.size(); ++i)
      request.out[i].layout = run.layouts->out[i];
  }
  for (const Value operand : node.inputs())
    request.constants.push_back(operand ? graph.literal(operand) : nullptr);
  request.device = {run.kind, 0};
  return request;
}

// Moves a tensor from row-major order to its layout, or back.
std::vector<std::byte> moved(const std::byte* from, const TensorDesc& desc, bool there) {
  const std::size_t size = size_of(desc.dtype);
  std::vector<std::byte> to(desc.bytes());
  each_place(desc, [&](int64_t plain, int64_t place) {
    const auto source = static_cast<std::size_t>(there ? plain : place);
    const auto target = static_cast<std::size_t>(there ? place : plain);
    std::memcpy(to.data() + target * size, from + source * size, size);
  });
  return to;
}

}  // namespace

std::vector<Literal> NodeRun::results(const Node& node,
                                      const std::vector<Literal>& operands) const {
  const KernelRequest request = request_of(node, *this);
  const KernelTable& table = table_of(kind);
  const std::unique_ptr<Kernel> kernel = table.choose(request).kernel;
  Accelerator* const device = table.accelerator();
  const auto memory = [&](std::size_t bytes) {
    return device ? device->allocate({kind, 0}, bytes, std::byte{0xAA}) : allocate(bytes);
  };
  std::vector<Memory> held;
  std::vector<Tensor> in, out;
  for (std::size_t i = 0; i < request.in.size(); ++i) {
    in.push_back({request.in[i], nullptr});
    if (!request.in[i].present()) continue;
    check(operands[i].type() == TensorType{request.in[i].dtype, to_shape(request.in[i].dims)},
          "operand ", i, " is ", operands[i].type());
    const auto bytes = moved(operands[i].bytes().data(), request.in[i], true);
    held.push_back(memory(bytes.size()));
    in.back().data = held.back().get();
    std::memcpy(held.back().get(), bytes.data(), bytes.size());
  }
  for (const TensorDesc& desc : request.out) {
    held.push_back(memory(desc.present() ? desc.bytes() : 0));
    out.push_back({desc, desc.present() ? held.back().get() : nullptr});
  }
  held.push_back(memory(kernel->workspace_bytes()));
  const RunContext context;
  Fault fault;
  const std::unique_ptr<Queue> queue = device ? device->queue({kind, 0}) : nullptr;
  kernel->run({in, out, held.back().get(), context, queue.get(), &context, &fault});
  if (queue) queue->finish();
  std::vector<Literal> results;
  for (const Tensor& tensor : out) {
    results.emplace_back(tensor.desc.dtype, tensor.desc.dims);
    if (!tensor.desc.present()) continue;
    const auto bytes = moved(static_cast<const std::byte*>(tensor.data), tensor.desc, false);
    std::memcpy(results.back().bytes().data(), bytes.data(), bytes.size());
  }
  return results;
}

std::string NodeRun::description(const Node& node) const {
  return table_of(kind).choose(request_of(node, *this)).kernel->describe();
}

Literal numbers(DType type, const Dims& dims, const std::vector<float>& values) {
  const auto as = [&]<class T>() {
    std::vector<T> all;
    for (const float value : values) all.push_back(T(value));
    return Literal::of<T>(all, dims);
  };
  if (type == DType::float16) return as.template operator()<Half>();
  if (type == DType::bfloat16) return as.template operator()<BFloat16>();
  check(type == DType::float32, "a test writes ", type);
  return as.template operator()<float>();
}

}  // namespace lockstep::testing
