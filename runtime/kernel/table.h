// SPDX-License-Identifier: Apache-2.0
// Kernel selection: the kernels of each kind of device, and the one that a node gets. For every
// operator a table lists candidates, best first. A candidate refuses what it can tell from the
// request (types, ranks, counts); its `prepare` throws Unsupported for anything found later (no
// engine for this shape, say). In both cases the reason is kept and the next candidate is tried.
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

// Why a candidate refuses a request ("takes float32, not int64"); "" if it accepts. A null Refusal
// accepts everything.
using Refusal = std::function<std::string(const KernelRequest&)>;
constexpr std::nullptr_t anything = nullptr;  // the refusal of a candidate that accepts everything

using KernelFactory = std::function<std::unique_ptr<Kernel>(const KernelRequest&)>;

// The layout that a kernel prefers for each operand and result.
struct Layouts {
  std::vector<Layout> in;
  std::vector<Layout> out;
  friend bool operator==(const Layouts&, const Layouts&) = default;
};
// Computes the preferred layouts from the request, which holds the operands' current layouts. A
// result's layout in it is what one of its readers reads beside it, as far as that is known.
using LayoutWish = std::function<Layouts(const KernelRequest&)>;

// All operands and results row-major.
Layouts row_major(const KernelRequest& request);

struct Candidate {
  std::string name;  // a noun for error texts: "oneDNN", "loops in float32", "GPU"
  Refusal refuses;
  KernelFactory prepare;
  LayoutWish wish = nullptr;  // null: everything row-major
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

// The kernel that a node gets, and the candidates that refused it.
struct ChosenKernel {
  std::string candidate;
  std::unique_ptr<Kernel> kernel;
  std::vector<Refused> refused;
};

// See rewrite.h.
struct Rewritten;
struct Known;
using Rewrite = Rewritten (*)(const Graph& graph, const Known& known);
// In the order in which they run.
struct Rewrites {
  std::vector<Rewrite> before_layouts = {};
  std::vector<Rewrite> after_layouts = {};
};

// The kernels of one kind of device.
class KernelTable {
 public:
  // `accelerator` is null if kernels work in host memory. Throws for an entry whose operator is not
  // in `ops`, and for two entries of one name.
  KernelTable(DeviceKind kind, const OpSet& ops, std::vector<KernelEntry> entries,
              Accelerator* accelerator = nullptr, Rewrites rewrites = {});

  DeviceKind kind() const { return kind_; }
  Accelerator* accelerator() const { return accelerator_; }
  const Rewrites& rewrites() const { return rewrites_; }
  bool has(const std::string& domain, const std::string& type) const;

  // The first candidate that accepts the request. If none does, throws Unsupported with all
  // reasons.
  ChosenKernel choose(const KernelRequest& request) const;
  // The layouts that the chosen candidate prefers; row-major if another candidate would be chosen
  // with them, since it may not support them.
  Layouts wished_layouts(const KernelRequest& request) const;

 private:
  const std::vector<Candidate>& candidates_of(const Node& node) const;
  std::vector<const Candidate*> takers_of(const KernelRequest& request) const;

  DeviceKind kind_;
  Accelerator* accelerator_;
  Rewrites rewrites_;
  std::unordered_map<std::string, std::vector<Candidate>> entries_;
};

// The table for a device; throws if this build has none.
const KernelTable& table_for(const std::vector<KernelTable>& tables, Device device);

}  // namespace lockstep
