// SPDX-License-Identifier: Apache-2.0
#include "lockstep/kernel.h"

#include <algorithm>

#include "runtime/accelerator.h"

namespace lockstep {
namespace {

std::string key_of(std::string_view domain, std::string_view type) {
  return std::string(domain) + ":" + std::string(type);
}

void check_candidates(const std::string& key, const std::vector<Candidate>& candidates) {
  check(!candidates.empty(), "the kernel of ", key, " has no candidate");
  for (std::size_t i = 0; i < candidates.size(); ++i)
    for (std::size_t k = 0; k < i; ++k)
      check(candidates[i].name != candidates[k].name, "the kernel of ", key,
            " has two candidates named '", candidates[i].name, "'");
}

std::string refusal_of(const Candidate& candidate, const KernelRequest& request) {
  return candidate.refuses ? candidate.refuses(request) : "";
}

KernelRequest laid_out(const KernelRequest& request, const Layouts& layouts) {
  KernelRequest changed = request;
  for (std::size_t i = 0; i < changed.in.size(); ++i) changed.in[i].layout = layouts.in[i];
  for (std::size_t i = 0; i < changed.out.size(); ++i) changed.out[i].layout = layouts.out[i];
  return changed;
}

}  // namespace

Layouts row_major(const KernelRequest& request) {
  return {std::vector<Layout>(request.in.size()), std::vector<Layout>(request.out.size())};
}

std::string text_of(const std::vector<Refused>& refused) {
  std::string text;
  for (const Refused& one : refused)
    text += join(text.empty() ? "" : "; ", one.candidate, ": ", one.reason);
  return text;
}

KernelTable::KernelTable(DeviceKind kind, const OpSet& ops, std::vector<KernelEntry> entries,
                         Accelerator* accelerator, Rewrites rewrites)
    : kind_(kind), accelerator_(accelerator), rewrites_(std::move(rewrites)) {
  for (KernelEntry& entry : entries) {
    const std::string key = key_of(entry.domain, entry.type);
    check(ops.find(entry.domain, entry.type) != nullptr, "there is a ", info_of(kind).name,
          " kernel for ", key, ", but no such operator");
    check_candidates(key, entry.candidates);
    check(entries_.emplace(key, std::move(entry.candidates)).second, "the ", info_of(kind).name,
          " kernel of ", key, " is listed twice");
  }
}

bool KernelTable::has(const std::string& domain, const std::string& type) const {
  return entries_.count(key_of(domain, type)) == 1;
}

const std::vector<Candidate>& KernelTable::candidates_of(const Node& node) const {
  auto found = entries_.find(key_of(node.domain(), node.type()));
  supported(found != entries_.end(), node, ": there is no ", info_of(kind_).name, " kernel for ",
            node.type());
  return found->second;
}

std::vector<const Candidate*> KernelTable::takers_of(const KernelRequest& request) const {
  std::vector<const Candidate*> takers;
  for (const Candidate& candidate : candidates_of(request.node))
    if (refusal_of(candidate, request).empty()) takers.push_back(&candidate);
  return takers;
}

ChosenKernel KernelTable::choose(const KernelRequest& request) const {
  ChosenKernel choice;
  for (const Candidate& candidate : candidates_of(request.node)) {
    std::string reason = refusal_of(candidate, request);
    if (reason.empty()) {
      try {
        choice.kernel = candidate.prepare(request);
        choice.candidate = candidate.name;
        check(choice.kernel != nullptr, request.node, ": candidate '", candidate.name,
              "' accepts the request but makes no kernel");
        return choice;
      } catch (const Unsupported& error) {
        reason = error.what();
      }
    }
    choice.refused.push_back({candidate.name, reason});
  }
  fail_as<Unsupported>(request.node, ": no kernel on ", text_of(request.device),
                       " supports it: ", text_of(choice.refused));
}

Layouts KernelTable::preferred_layouts(const KernelRequest& request) const {
  const Layouts plain = row_major(request);
  const std::vector<const Candidate*> takers = takers_of(request);
  if (takers.empty() || !takers[0]->wish) return plain;
  const Layouts wished = takers[0]->wish(request);
  if (wished == plain) return plain;
  const KernelRequest laid = laid_out(request, wished);
  const std::vector<const Candidate*> then = takers_of(laid);
  if (then.empty() || then[0] != takers[0]) return plain;
  // Preparing is expensive, so only done if another candidate could be chosen instead.
  if (then.size() > 1 && choose(laid).candidate != takers[0]->name) return plain;
  return wished;
}

const KernelTable& table_for(const std::vector<KernelTable>& tables, Device device) {
  for (const KernelTable& table : tables)
    if (table.kind() == device.kind) return table;
  fail("this build of Lockstep cannot run on ", text_of(device), ": it has no ", device.info().name,
       " kernels; ", device.info().added);
}

std::vector<int64_t> KernelRequest::integers(std::size_t operand) const {
  supported(operand < constants.size() && constants[operand], "operand ", operand,
            " must be a constant, because shapes are static in a step");
  return constants[operand]->integers();
}

}  // namespace lockstep
