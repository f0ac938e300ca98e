// SPDX-License-Identifier: Apache-2.0
#include "operators/elementwise/bytes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "graph/passes/copy.h"
#include "operators/kit/flops.h"
#include "operators/kit/operator_helpers.h"
#include "runtime/kernel/rewrite.h"

namespace lockstep {
namespace {

constexpr int64_t kBytes = 256;  // values of a byte

void byte_table_law(Inference& inference) {
  demand_type(inference, 0, DType::uint8);
  const TensorType& table = inference.input(1);
  check(computes_in_float32(table.dtype), what_is(inference, 1),
        ", should be of 16-bit floats or float32");
  demand_at_least_dims(inference, 0, 2);
  const Dim channels = inference.input(0).shape[1];
  const bool alike = may_be(table.shape, {Dim(1), Dim(kBytes)});
  if (!alike) demand_shape(inference, 1, {channels, Dim(kBytes)});
  inference.outputs[0] = {table.dtype, inference.input(0).shape};
}

// The result of the chain so far for every byte: a row for each channel, or one row for all
// channels.
struct Table {
  int64_t channels = 1;
  std::vector<float> values;
};

Table of_bytes() {
  Table table;
  for (int64_t byte = 0; byte < kBytes; ++byte) table.values.push_back(static_cast<float>(byte));
  return table;
}

// A constant operand as one number per channel, or as one number for all channels; empty if the
// operand is neither.
std::vector<float> by_channel(const Literal& literal, const Shape& x) {
  if (literal.dtype() != DType::float32) return {};
  const auto values = literal.values<float>();
  const Dims& dims = literal.dims();
  if (dims.size() > x.size()) return {};  // the operand would give the result more dimensions
  if (literal.count() == 1) return {values[0]};
  for (std::size_t back = 1; back <= dims.size(); ++back) {
    const bool is_channel = x.size() - back == 1;
    if (dims[dims.size() - back] != 1 && !(is_channel && x[1] == Dim(dims[dims.size() - back])))
      return {};
  }
  return {values.begin(), values.end()};
}

using Arithmetic = float (*)(float, float);

Arithmetic arithmetic_of(const Node& node) {
  static const std::map<std::string, Arithmetic> known{
      {"Add", [](float a, float b) { return a + b; }},
      {"Sub", [](float a, float b) { return a - b; }},
      {"Mul", [](float a, float b) { return a * b; }},
      {"Div", [](float a, float b) { return a / b; }}};
  const auto found = known.find(node.type());
  return node.domain().empty() && found != known.end() ? found->second : nullptr;
}

bool is_cast(const Node& node) { return node.type() == "Cast" && node.domain().empty(); }

class ByteTables {
 public:
  ByteTables(const Graph& from, const std::set<std::string>& known) : from_(from), known_(known) {}

  Rewritten run() {
    for (int i = 0; i < from_.node_count(); ++i)
      if (is_cast(from_.node(i))) find(from_.node(i));
    GraphCopy copy(from_);
    for (int i = 0; i < from_.node_count(); ++i)
      if (const auto chain = chains_.find(i); chain != chains_.end())
        write(copy, chain->second, from_.node(i));
      else if (!gone_.contains(i))
        copy.copy(from_.node(i));
    return {copy.finish(), copy.moved(), notes()};
  }

 private:
  struct Chain {
    Value bytes;
    Table table;
    std::vector<int> nodes;
  };

  // Collects the chain of nodes from a cast of bytes onward, while each result has one reader.
  void find(const Node& cast) {
    const Value bytes = cast.inputs()[0];
    if (from_.dtype(bytes) != DType::uint8 || from_.shape(bytes).size() < 2 ||
        from_.dtype(cast.outputs()[0]) != DType::float32 || from_.literal(bytes))
      return;
    Chain chain{bytes, of_bytes(), {cast.index()}};
    while (const auto next = only_reader(from_.node(chain.nodes.back()).outputs()[0])) {
      if (next->replica() != cast.replica() || !add(chain, *next)) break;
      chain.nodes.push_back(next->index());
      if (is_cast(*next)) break;
    }
    const int last = chain.nodes.back();
    gone_.insert(chain.nodes.begin(), chain.nodes.end());
    chains_.emplace(last, std::move(chain));
  }

  std::optional<Node> only_reader(Value value) const {
    const auto readers = from_.consumers(value);
    if (readers.size() != 1 || known_.contains(from_.name(value))) return std::nullopt;
    for (Value output : from_.outputs())
      if (output == value) return std::nullopt;
    return from_.node(readers[0]);
  }

  // Applies the node to the table. Returns false if the node cannot be part of the chain.
  bool add(Chain& chain, const Node& node) const {
    const Value made = from_.node(chain.nodes.back()).outputs()[0];
    if (is_cast(node)) return computes_in_float32(from_.dtype(node.outputs()[0]));
    const Arithmetic compute = arithmetic_of(node);
    if (!compute) return false;
    const bool first = node.inputs()[0] == made;
    const Literal* literal = from_.literal(node.inputs()[first ? 1 : 0]);
    if (!literal) return false;
    const std::vector<float> other = by_channel(*literal, from_.shape(made));
    if (other.empty()) return false;
    Table& table = chain.table;
    const Table before = table;
    table.channels = std::max(before.channels, static_cast<int64_t>(other.size()));
    table.values.resize(table.channels * kBytes);
    for (int64_t c = 0; c < table.channels; ++c)
      for (int64_t byte = 0; byte < kBytes; ++byte) {
        const float x = before.values[(before.channels > 1 ? c : 0) * kBytes + byte];
        const float y = other[other.size() > 1 ? c : 0];
        table.values[c * kBytes + byte] = first ? compute(x, y) : compute(y, x);
      }
    return true;
  }

  void write(GraphCopy& copy, const Chain& chain, const Node& last) const {
    const Value result = last.outputs()[0];
    const Value table = copy.to().constant(copy.fresh_name(from_.name(result) + "_of_bytes"),
                                           literal_of(chain.table, from_.dtype(result)));
    copy.replace(
        last, {.type = "ByteTable", .domain = kOwnDomain, .inputs = {copy.of(chain.bytes), table}});
  }

  static Literal literal_of(const Table& table, DType type) {
    return Literal::rounded<float>(type, table.values, {table.channels, kBytes});
  }

  std::vector<std::string> notes() const {
    if (chains_.empty()) return {};
    return {join(chains_.size(), " of casts of bytes and what follows (", gone_.size(),
                 " nodes): a byte's result is looked up")};
  }

  const Graph& from_;
  const std::set<std::string>& known_;
  std::map<int, Chain> chains_;  // by the index of the chain's last node
  std::set<int> gone_;
};

}  // namespace

Rewritten fuse_byte_tables(const Graph& graph, const RewriteContext& context) {
  return ByteTables(graph, context.values).run();
}

Op byte_table_op() {
  return {
      .type = "ByteTable",
      .domain = kOwnDomain,
      .no_body = kOnlyPlanned,
      .signature = Signature{"Looks each byte up in its channel's row of a table; in plans only.",
                             {{"x", "U"}, {"table"}},
                             {{"y"}},
                             {}},
      .law = byte_table_law,
      .flops = no_flops};
}

}  // namespace lockstep
