// SPDX-License-Identifier: Apache-2.0
// Kernels, as the executor runs them. *Prepare* (a factory) gets one node with concrete shapes,
// chooses the algorithm and states the workspace it needs. *Run* is called many times on bound
// pointers. It never allocates, never sees a name, never looks at the graph.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "graph/attributes.h"
#include "graph/graph.h"
#include "runtime/accelerator.h"
#include "runtime/comm.h"
#include "runtime/device.h"
#include "runtime/tensor.h"

namespace lockstep {

// The arguments of a run besides its operands.
struct RunContext {
  uint64_t seed = 0;
  uint64_t step = 0;  // counts runs of the program, from 0
};

// An invalid operand reported by a kernel on a device, such as a label out of range. The host reads
// it after the run.
struct Fault {
  int64_t raised = 0;
  int64_t value = 0, place = 0;  // see Kernel::explain
};

struct KernelArgs {
  std::span<const Tensor> in;  // data is null for an omitted operand
  std::span<const Tensor> out;
  std::byte* workspace;
  const RunContext& context;  // at the same address in every run of an executor
  // Asynchronous devices only: the queue for the kernel's work, and the context in device memory.
  // Recorded work must read the step from it, since values are fixed when recorded.
  Queue* queue = nullptr;
  const RunContext* device_context = nullptr;
  Fault* fault = nullptr;  // in memory that the host and all devices can access
};

class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual void run(const KernelArgs& args) = 0;
  // Collectives on devices with queues: called after the run of all parts.
  virtual void conclude(const KernelArgs&) {}
  virtual std::size_t workspace_bytes() const { return 0; }
  // Bytes that a run reads and writes to move operands and results between the layouts of the plan
  // and of the algorithm.
  virtual std::size_t reordered_bytes() const { return 0; }
  // The error text of a fault that a run has raised.
  virtual std::string explain(const Fault&) const { return ""; }
  // Why its run cannot be recorded (runtime/accelerator.h); "": it can.
  virtual std::string not_recordable() const { return ""; }
  // The algorithm chosen, for the plan dump.
  virtual std::string describe() const { return ""; }
};

struct KernelRequest {
  const Node& node;
  std::vector<TensorDesc> in = {};
  std::vector<TensorDesc> out = {};
  std::vector<const Literal*> constants = {};  // contents of each constant operand, else null
  int threads = 1;
  int part = 0;  // collectives: this worker's share
  int parts = 1;
  Comm* comm = nullptr;                      // to other processes; null if there are none
  Device device = {};                        // the device it will run on
  std::vector<Device> part_devices = {};     // collectives: the device of each part
  std::vector<Device> operand_devices = {};  // the device that holds each operand, then each result
  // Matrix products may round float32 operands to a 10-bit mantissa (TF32) and accumulate in
  // float32. Devices without such units ignore it.
  bool tf32 = false;
  // Convolutions of float32 must be sums of products of their operands, not of operands that were
  // transformed (Winograd), which round more.
  bool exact = false;

  AttributeReader attributes() const { return node.attributes(); }
  // The contents of a small integer operand; throws if they are not known at plan time.
  std::vector<int64_t> integers(std::size_t operand) const;
};

using ExplainFault = std::function<std::string(const Fault&)>;

// A kernel made of one function of its arguments.
template <class Run>
class FunctionKernel final : public Kernel {
 public:
  FunctionKernel(Run run, std::string description, std::size_t workspace, ExplainFault explain)
      : run_(std::move(run)),
        description_(std::move(description)),
        workspace_(workspace),
        explain_(std::move(explain)) {}
  void run(const KernelArgs& args) override { run_(args); }
  std::size_t workspace_bytes() const override { return workspace_; }
  std::string describe() const override { return description_; }
  std::string explain(const Fault& fault) const override { return explain_ ? explain_(fault) : ""; }

 private:
  Run run_;
  std::string description_;
  std::size_t workspace_;
  ExplainFault explain_;
};

template <class Run>
std::unique_ptr<Kernel> make_kernel(Run run, std::string description = "",
                                    std::size_t workspace = 0, ExplainFault explain = nullptr) {
  return std::make_unique<FunctionKernel<Run>>(std::move(run), std::move(description), workspace,
                                               std::move(explain));
}

}  // namespace lockstep
