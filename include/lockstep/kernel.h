// SPDX-License-Identifier: Apache-2.0
// An operator's kernels. A factory (Candidate::prepare) gets a node with concrete shapes, chooses
// the algorithm and returns a Kernel that states its workspace. Kernel::run is called many times on
// bound pointers: it never allocates, never sees a name, never reads the graph.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "lockstep/attributes.h"
#include "lockstep/device.h"
#include "lockstep/graph.h"
#include "lockstep/tensor.h"

namespace lockstep {

class Accelerator;
class Comm;
class Queue;

// The arguments of a run besides the operands.
struct RunContext {
  uint64_t seed = 0;
  uint64_t step = 0;  // counts runs of the program, from 0
};

// An invalid operand reported by a kernel on a device, such as a label out of range. The host reads
// the fault after the run.
struct Fault {
  int64_t raised = 0;            // 1: the fault has happened
  int64_t value = 0, place = 0;  // set by the kernel, for its explain()
};

// The arguments of a run. They are valid during the run only.
struct KernelArgs {
  std::span<const Tensor> in;  // data is null for an omitted operand
  std::span<const Tensor> out;
  std::byte* workspace;       // Kernel::workspace_bytes() bytes
  const RunContext& context;  // at the same address in every run of an executor
  // Asynchronous devices only: the queue for the kernel's work, and the context in device memory.
  // Recorded work must read the step from device memory, because recorded values are fixed.
  Queue* queue = nullptr;
  const RunContext* device_context = nullptr;
  Fault* fault = nullptr;  // in memory that the host and all devices can access
};

class Kernel {
 public:
  virtual ~Kernel() = default;
  // Computes the results. On a device with queues, enqueues the work and returns.
  virtual void run(const KernelArgs& args) = 0;
  // For collectives on devices with queues: called after all parts have run.
  virtual void conclude(const KernelArgs&) {}
  virtual std::size_t workspace_bytes() const { return 0; }
  // Bytes that a run reads and writes to move operands and results between the layouts of the plan
  // and of the algorithm.
  virtual std::size_t reordered_bytes() const { return 0; }
  // Bytes of host memory that the kernel itself holds, outside the plan's arenas.
  virtual std::size_t scratch_bytes() const { return 0; }
  // The error text of a fault that a run has raised.
  virtual std::string explain(const Fault&) const { return ""; }
  // The reason why a run cannot be recorded and replayed; "" if it can.
  virtual std::string not_recordable() const { return ""; }
  // The algorithm chosen, for the text of a plan.
  virtual std::string describe() const { return ""; }
};

// The arguments of a factory: a node, its operands and results, and the place where it runs.
struct KernelRequest {
  const Node& node;
  std::vector<TensorDesc> in = {};
  std::vector<TensorDesc> out = {};
  std::vector<const Literal*> constants = {};  // contents of each constant operand, else null
  int threads = 1;
  int part = 0;  // collectives: this worker's part
  int parts = 1;
  Comm* comm = nullptr;                      // to other processes; null for a single process
  Device device = {};                        // the device that runs the kernel
  std::vector<Device> part_devices = {};     // collectives: the device of each part
  std::vector<Device> operand_devices = {};  // the device that holds each operand, then each result
  // True if matrix products may round float32 operands to a 10-bit mantissa (TF32) and accumulate
  // in float32. Devices without such units ignore it.
  bool tf32 = false;
  // True if float32 convolutions must be sums of products of their operands. Winograd's method,
  // which transforms operands and rounds more, is then excluded.
  bool exact = false;

  AttributeReader attributes() const { return node.attributes(); }
  // The contents of a small integer operand; throws if the plan does not know them.
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

// Makes a kernel of a function. `workspace`: bytes.
template <class Run>
std::unique_ptr<Kernel> make_kernel(Run run, std::string description = "",
                                    std::size_t workspace = 0, ExplainFault explain = nullptr) {
  return std::make_unique<FunctionKernel<Run>>(std::move(run), std::move(description), workspace,
                                               std::move(explain));
}

// ---- Selection. For every operator a table lists candidates, best first. `refuses` rejects a
// request by its types, ranks and counts; `prepare` throws Unsupported for a reason that is found
// later, such as a missing engine for a shape. In both cases the reason is kept and the next
// candidate is tried.

// Returns the reason why a candidate refuses a request ("takes float32, not int64"), or "" if it
// accepts. A null Refusal accepts everything.
using Refusal = std::function<std::string(const KernelRequest&)>;
constexpr std::nullptr_t anything = nullptr;  // the refusal of a candidate that accepts everything

using KernelFactory = std::function<std::unique_ptr<Kernel>(const KernelRequest&)>;

// The layout that a kernel prefers for each operand and result.
struct Layouts {
  std::vector<Layout> in;
  std::vector<Layout> out;
  friend bool operator==(const Layouts&, const Layouts&) = default;
};
// Computes the preferred layouts from the request, which holds the operands' current layouts. The
// layout of a result in the request is the layout of another operand of one of the result's
// readers, if it is known.
using LayoutPreference = std::function<Layouts(const KernelRequest&)>;

// All operands and results row-major.
Layouts row_major(const KernelRequest& request);

struct Candidate {
  std::string name;  // a noun for error texts: "oneDNN", "loops in float32", "GPU"
  Refusal refuses;
  KernelFactory prepare;
  LayoutPreference wish = nullptr;  // null: everything row-major
};

struct KernelEntry {
  std::string type;
  std::string domain;
  std::vector<Candidate> candidates;  // in the order they are tried
};

struct Refused {
  std::string candidate;
  std::string reason;
};
std::string text_of(const std::vector<Refused>& refused);  // "oneDNN: takes ..; loops: takes .."

// The kernel chosen for a node, and the candidates that refused the node.
struct ChosenKernel {
  std::string candidate;
  std::unique_ptr<Kernel> kernel;
  std::vector<Refused> refused;
};

// Rewrites of a graph before and after layouts are chosen, such as fusions
// (runtime/kernel/rewrite.h).
struct Rewritten;
struct RewriteContext;
using Rewrite = Rewritten (*)(const Graph& graph, const RewriteContext& context);
// Both in the order in which they run.
struct Rewrites {
  std::vector<Rewrite> before_layouts = {};
  std::vector<Rewrite> after_layouts = {};
};

// The kernels of one kind of device.
class KernelTable {
 public:
  // `accelerator` is null if kernels use host memory, and must outlive the table. Throws for an
  // entry whose operator is not in `ops`, for two entries of one operator, and for an entry without
  // candidates or with two candidates of one name.
  KernelTable(DeviceKind kind, const OpSet& ops, std::vector<KernelEntry> entries,
              Accelerator* accelerator = nullptr, Rewrites rewrites = {});

  DeviceKind kind() const { return kind_; }
  Accelerator* accelerator() const { return accelerator_; }
  const Rewrites& rewrites() const { return rewrites_; }
  bool has(const std::string& domain, const std::string& type) const;

  // Returns the kernel of the first candidate that accepts the request. If none does, throws
  // Unsupported with all reasons.
  ChosenKernel choose(const KernelRequest& request) const;
  // The layouts that the chosen candidate prefers. Row-major if another candidate would be chosen
  // with the preferred layouts, because it may not support them.
  Layouts preferred_layouts(const KernelRequest& request) const;

 private:
  const std::vector<Candidate>& candidates_of(const Node& node) const;
  std::vector<const Candidate*> takers_of(const KernelRequest& request) const;

  DeviceKind kind_;
  Accelerator* accelerator_;
  Rewrites rewrites_;
  std::unordered_map<std::string, std::vector<Candidate>> entries_;
};

// The table for a device's kind. Throws if there is none, because this build lacks the kind.
const KernelTable& table_for(const std::vector<KernelTable>& tables, Device device);

}  // namespace lockstep
