// Which kernels a kind of device has, and which of them a node gets. A table holds for every
// operator a list of candidates, best first. A candidate refuses what it can tell from the request
// alone (types, ranks, counts); what only preparing finds out (no engine for this shape, say),
// `prepare` throws as Unsupported. Either way the next candidate is asked, and the reason is kept.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/op.h"
#include "runtime/kernel.h"

namespace lockstep {

// Why a candidate does not take a request ("takes float32, not int64"); "" when it does. A null
// Refusal takes everything.
using Refusal = std::function<std::string(const KernelRequest&)>;
constexpr std::nullptr_t anything = nullptr;  // the refusal of a candidate that takes anything

using KernelFactory = std::function<std::unique_ptr<Kernel>(const KernelRequest&)>;

// The channel block (see TensorDesc) that a kernel would like each operand and result to have.
struct Layouts {
  std::vector<int> in;
  std::vector<int> out;
  friend bool operator==(const Layouts&, const Layouts&) = default;
};
// Told in which layouts its operands come as things stand; its results are row-major in the
// request.
using LayoutWish = std::function<Layouts(const KernelRequest&)>;

// Nothing but row-major.
Layouts row_major(const KernelRequest& request);

struct Candidate {
  std::string name;  // a noun for people: "oneDNN", "loops in float32", "GPU"
  Refusal refuses;
  KernelFactory prepare;
  LayoutWish wish = nullptr;  // none: everything row-major
};

struct KernelEntry {
  std::string type;
  std::string domain;
  std::vector<Candidate> candidates;  // in the order they are asked
};

struct Refused {
  std::string candidate;
  std::string reason;
};
std::string text_of(const std::vector<Refused>& refused);  // "oneDNN: takes ..; loops: takes .."

// The kernel that a node gets, and who was asked in vain before.
struct ChosenKernel {
  std::string candidate;
  std::unique_ptr<Kernel> kernel;
  std::vector<Refused> refused;
};

// A pass that a device is better off with: several nodes become one that it has a kernel for.
struct Rewritten {
  Graph graph;
  std::vector<std::string> notes;  // what was done and why, for the plan dump
};
// `known` are values that others read by name.
using Rewrite = Rewritten (*)(const Graph& graph, const std::set<std::string>& known);

// The kernels of one kind of device.
class KernelTable {
 public:
  // `accelerator` is null where kernels work in the host's memory. `rewrites` are done in order.
  // Throws for an entry whose operator is not among `ops`, and for two of one name.
  KernelTable(DeviceKind kind, const OpSet& ops, std::vector<KernelEntry> entries,
              Accelerator* accelerator = nullptr, std::vector<Rewrite> rewrites = {});

  DeviceKind kind() const { return kind_; }
  Accelerator* accelerator() const { return accelerator_; }
  const std::vector<Rewrite>& rewrites() const { return rewrites_; }
  bool has(const std::string& domain, const std::string& type) const;

  // The first candidate that takes the request. Throws Unsupported with everybody's reason when
  // none does.
  ChosenKernel choose(const KernelRequest& request) const;
  // The layouts that the chosen candidate wishes for. Row-major where another one would be chosen
  // under those, since it may not know them.
  Layouts wished_layouts(const KernelRequest& request) const;

 private:
  const std::vector<Candidate>& candidates_of(const Node& node) const;
  std::vector<const Candidate*> takers_of(const KernelRequest& request) const;

  DeviceKind kind_;
  Accelerator* accelerator_;
  std::vector<Rewrite> rewrites_;
  std::unordered_map<std::string, std::vector<Candidate>> entries_;
};

// The table for a device; throws when this build has none.
const KernelTable& table_for(const std::vector<KernelTable>& tables, Device device);

}  // namespace lockstep
