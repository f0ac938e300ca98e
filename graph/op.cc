// SPDX-License-Identifier: Apache-2.0
#include "lockstep/op.h"

#include <algorithm>

#include "graph/nearest.h"
#include "graph/schema.h"
#include "lockstep/graph.h"

namespace lockstep {
namespace {

std::string key_of(std::string_view domain, std::string_view type) {
  std::string key(domain);
  key += ':';
  key += type;
  return key;
}

std::string full_name(std::string_view domain, std::string_view type) {
  return domain.empty() ? std::string(type) : join(domain, ".", type);
}

}  // namespace

const TensorType& Inference::input(std::size_t i) const {
  check(i < inputs.size() && inputs[i], op, " needs its input ", i);
  return *inputs[i];
}

void Inference::require_ranked() const {
  for (std::size_t i = 0; i < inputs.size(); ++i)
    check(!inputs[i] || inputs[i]->ranked, op, ": the number of dimensions of input ", i,
          " is not known when the graph is built");
}

std::string Inference::name_of(std::size_t i) const {
  if (!signature || signature->inputs.empty()) return join("its input ", i);
  const std::size_t formal = std::min(i, signature->inputs.size() - 1);
  return join("its input ", i, ", ", signature->inputs[formal].name);
}

Value GradientRequest::x(std::size_t i) const {
  return i < node.inputs().size() ? node.inputs()[i] : none;
}

Value GradientRequest::y(std::size_t i) const { return node.outputs()[i]; }

Value BodyRequest::x(std::size_t i) const { return i < operands.size() ? operands[i] : none; }

bool Op::allows_alias(int output, int input) const {
  if (alias_in_pairs) return output == input;
  return std::any_of(may_alias.begin(), may_alias.end(),
                     [&](MayAlias pair) { return pair.output == output && pair.input == input; });
}

OpSet::OpSet(std::vector<Op> ops) : ops_(std::move(ops)) {
  for (std::size_t i = 0; i < ops_.size(); ++i) {
    bool fresh = index_.emplace(key_of(ops_[i].domain, ops_[i].type), i).second;
    check(fresh, "operator ", ops_[i].type, " is listed twice");
    const int said = (ops_[i].body ? 1 : 0) + (ops_[i].no_body ? 1 : 0);
    check(said == (ops_[i].domain == kOwnDomain ? 1 : 0), "operator ", ops_[i].type,
          ": an operator of ai.lockstep needs either a body or no_body, an ONNX operator neither");
  }
  register_schemas(ops_);
}

const Op* OpSet::find(std::string_view domain, std::string_view type) const {
  auto found = index_.find(key_of(domain, type));
  return found == index_.end() ? nullptr : &ops_[found->second];
}

const Op* OpSet::named(std::string_view domain, std::string_view type,
                       std::string_view used_by) const {
  const Op* const found = find(domain, type);
  if (found) return found;
  // Suggests an operator by type alone: callers often omit the domain ai.lockstep. Most unknown
  // operators are not misspellings, and many types are as short as Loop, so few letters may differ.
  std::vector<std::string> types;
  for (const Op& op : ops_) types.push_back(op.type);
  const std::string near = nearest(type, types, (type.size() + 1) / 4);
  const auto meant =
      std::find_if(ops_.begin(), ops_.end(), [&](const Op& op) { return op.type == near; });
  fail("no operator ", full_name(domain, type), " is known (used by ", used_by, ")",
       near.empty() ? "" : "; did you mean " + full_name(meant->domain, near) + "?");
}

}  // namespace lockstep
