#include "runtime/kernel.h"

namespace lockstep {

std::vector<int64_t> KernelRequest::integers(std::size_t operand) const {
  supported(operand < constants.size() && constants[operand], node.description(), ": operand ",
            operand, " must be a constant, shapes are static inside a step");
  return constants[operand]->integers();
}

KernelTable::KernelTable(DeviceKind kind, std::vector<KernelEntry> entries) : kind_(kind) {
  for (KernelEntry& entry : entries) {
    bool fresh =
        factories_.emplace(entry.domain + ":" + entry.type, std::move(entry.prepare)).second;
    check(fresh, "the kernel of ", entry.type, " is listed twice");
  }
}

const KernelFactory& KernelTable::at(const Node& node) const {
  auto found = factories_.find(node.domain() + ":" + node.type());
  supported(found != factories_.end(), node.description(), ": there is no ",
            kind_ == DeviceKind::cpu ? "CPU" : "GPU", " kernel for ", node.type());
  return found->second;
}

bool KernelTable::has(const std::string& domain, const std::string& type) const {
  return factories_.count(domain + ":" + type) == 1;
}

}  // namespace lockstep
