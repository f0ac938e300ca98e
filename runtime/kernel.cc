#include "runtime/kernel.h"

namespace lockstep {

std::vector<int64_t> KernelRequest::integers(std::size_t operand) const {
  supported(operand < constants.size() && constants[operand], node.description(), ": operand ",
            operand, " must be a constant, shapes are static inside a step");
  return constants[operand]->integers();
}

KernelTable::KernelTable(DeviceKind kind, std::vector<KernelEntry> entries,
                         Accelerator* accelerator, std::vector<Rewrite> rewrites)
    : kind_(kind), accelerator_(accelerator), rewrites_(std::move(rewrites)) {
  for (KernelEntry& entry : entries) {
    const std::string key = entry.domain + ":" + entry.type;
    check(entries_.emplace(key, std::move(entry)).second, "the kernel of ", key,
          " is listed twice");
  }
}

const KernelFactory& KernelTable::at(const Node& node) const {
  auto found = entries_.find(node.domain() + ":" + node.type());
  supported(found != entries_.end(), node.description(), ": there is no ",
            kind_ == DeviceKind::cpu ? "CPU" : "GPU", " kernel for ", node.type());
  return found->second.prepare;
}

bool KernelTable::has(const std::string& domain, const std::string& type) const {
  return entries_.count(domain + ":" + type) == 1;
}

const LayoutWish* KernelTable::wish(const Node& node) const {
  auto found = entries_.find(node.domain() + ":" + node.type());
  return found == entries_.end() || !found->second.wish ? nullptr : &found->second.wish;
}

}  // namespace lockstep
