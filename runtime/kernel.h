// What the executor runs. Life of a kernel: *prepare* (a factory gets one node with concrete
// shapes, chooses its algorithm and says how much workspace it needs), then *run*, many times, on
// bound pointers. A kernel never allocates in run, never sees a name, never looks at the graph.
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

// What a run is told beside its operands.
struct RunContext {
  uint64_t seed = 0;
  uint64_t step = 0;  // counts runs of the program, from 0
};

// Where a kernel on a device says that it met an operand it cannot work on: a label that is no
// class, say. The host reads it when the run is done.
struct Fault {
  int64_t raised = 0;
  int64_t value = 0;  // see Kernel::explain
};

struct KernelArgs {
  std::span<const Tensor> in;  // data is null where an operand is left out
  std::span<const Tensor> out;
  std::byte* workspace;
  const RunContext& context;  // at the same address in every run of an executor
  // Of a device that works behind the host's back: where the kernel puts its work, and the context
  // in the device's memory. What is recorded is told another step by these, never by value.
  Queue* queue = nullptr;
  const RunContext* device_context = nullptr;
  Fault* fault = nullptr;  // in memory that the host and all devices reach
};

class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual void run(const KernelArgs& args) = 0;
  // Of a collective on devices with queues: what comes behind the run of all its parts.
  virtual void conclude(const KernelArgs&) {}
  virtual std::size_t workspace_bytes() const { return 0; }
  // What a fault of that value means.
  virtual std::string explain(int64_t) const { return ""; }
  // Why a run of it cannot be recorded (runtime/accelerator.h); "": it can.
  virtual std::string not_recordable() const { return ""; }
  // The algorithm taken, for the plan dump.
  virtual std::string describe() const { return ""; }
};

struct KernelRequest {
  const Node& node;
  std::vector<TensorDesc> in = {};
  std::vector<TensorDesc> out = {};
  std::vector<const Literal*> constants = {};  // contents of an operand that is known, else null
  int threads = 1;
  int part = 0;  // of a collective: this worker's share
  int parts = 1;
  Comm* comm = nullptr;                      // to other processes; null when there are none
  Device device = {};                        // where it will run
  std::vector<Device> part_devices = {};     // of a collective: where each of its parts will
  std::vector<Device> operand_devices = {};  // whose memory each operand, then each result lies in
  // Products may take float32 operands with 10 bits behind the point, as a GPU's units for matrices
  // do; they are added up in full. Devices without such units have no use for it.
  bool tf32 = false;

  AttributeReader attributes() const { return node.attributes(); }
  // Contents of a small integer operand; throws when they are not known at plan time.
  std::vector<int64_t> integers(std::size_t operand) const;
};

using ExplainFault = std::function<std::string(int64_t value)>;

// A kernel that is one function of its arguments.
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
  std::string explain(int64_t value) const override { return explain_ ? explain_(value) : ""; }

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
