// SPDX-License-Identifier: Apache-2.0
#include "graph/random_stream.h"

#include <bit>
#include <string_view>

#include "graph/attribute_reader.h"
#include "graph/graph_members.h"
#include "graph/onnx.h"

namespace lockstep {
namespace {

constexpr const char* kStream = "__stream";
constexpr const char* kFixed = "__fixed_stream";
constexpr const char* kPart = "__part";

// FNV-1a, folded to 32 bits at the end: the generator's stream also carries the step.
class Hash {
 public:
  Hash() = default;
  explicit Hash(int64_t state) : state_(static_cast<uint64_t>(state)) {}

  void mix(std::string_view text) {
    for (char letter : text) mix_byte(static_cast<uint8_t>(letter));
  }
  void mix(uint64_t number) {
    for (int shift = 0; shift < 64; shift += 8) mix_byte(static_cast<uint8_t>(number >> shift));
  }
  int64_t state() const { return static_cast<int64_t>(state_); }
  int64_t folded() const { return static_cast<int64_t>((state_ ^ (state_ >> 32)) & 0xffffffffU); }

 private:
  void mix_byte(uint8_t byte) { state_ = (state_ ^ byte) * 1099511628211U; }

  uint64_t state_ = 1469598103934665603U;
};

// `name` counts unless the node has a seed, an integer or a float.
int64_t hash_of(const onnx::NodeProto& proto, const std::string& name) {
  Hash hash;
  const onnx::AttributeProto* seed = nullptr;
  for (const auto& attribute : proto.attribute())
    if (attribute.name() == "seed") seed = &attribute;
  if (seed && seed->type() == onnx::AttributeProto::FLOAT)
    hash.mix(uint64_t{std::bit_cast<uint32_t>(seed->f())});
  else if (seed)
    hash.mix(static_cast<uint64_t>(seed->i()));
  else
    hash.mix(name);
  return hash.state();
}
int64_t hash_of_name(const onnx::NodeProto& proto) { return hash_of(proto, proto.name()); }
int64_t hash_of_result(const onnx::NodeProto& proto) { return hash_of(proto, proto.output(0)); }

bool is_source(const Op& op) { return op.random && !op.draws; }

int64_t whole_hash(int64_t of_name, int64_t replica, int64_t part) {
  Hash hash(of_name);
  hash.mix(static_cast<uint64_t>(replica));
  hash.mix(static_cast<uint64_t>(part));
  return hash.folded();
}

}  // namespace

int64_t random_stream_of(const Node& node) {
  AttributeReader reader = node.attributes();
  check(reader.has(kStream), node, ": has no ", kStream, ", so its random numbers are not defined");
  return reader.integer(kStream, 0);
}

std::pair<std::string, AttributeValue> random_stream_attribute(int64_t stream) {
  return {kStream, stream};
}

bool has_random_stream(const Node& node) { return node.attributes().has(kStream); }

std::optional<int64_t> fixed_random_stream_of(const Node& node) {
  AttributeReader reader = node.attributes();
  if (!reader.has(kFixed)) return std::nullopt;
  return reader.integer(kFixed, 0);
}

void name_random_streams(Graph& one) {
  for (int index = 0; index < one.node_count(); ++index) {
    const Node node = one.node(index);
    if (node.op()->draws) {
      one.set_attribute(index, kStream, hash_of_name(proto_of(node)));
    } else if (is_source(*node.op())) {
      one.set_attribute(index, kStream, hash_of_result(proto_of(node)));
      one.drop_attribute(index, kFixed);
    }
  }
}

void fix_random_streams(Graph& prediction) {
  for (int index = 0; index < prediction.node_count(); ++index) {
    const Node node = prediction.node(index);
    if (is_source(*node.op()) && !has_random_stream(node) && !fixed_random_stream_of(node))
      prediction.set_attribute(index, kFixed, whole_hash(hash_of_result(proto_of(node)), 0, 0));
  }
}

void set_random_part(Graph& one, int node, int part) {
  one.set_attribute(node, kPart, int64_t{part});
}

void finish_random_stream(Graph& all, int node, int replica) {
  AttributeReader reader = all.node(node).attributes();
  const int64_t of_name = reader.integer(kStream, 0), part = reader.integer(kPart, 0);
  const bool by_example = all.node(node).op()->draws_by_example;
  const int64_t stream =
      by_example ? whole_hash(of_name, 0, 0) : whole_hash(of_name, replica, part);
  all.set_attribute(node, kStream, stream);
  all.drop_attribute(node, kPart);
}

void write_random_stream(onnx::NodeProto& proto) {
  for (const auto& attribute : proto.attribute())
    if (attribute.name() == kStream) return;
  to_proto(kStream, whole_hash(hash_of_name(proto), 0, 0), *proto.add_attribute());
}

}  // namespace lockstep
