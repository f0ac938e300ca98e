#include "graph/random_stream.h"

#include <string_view>

#include "graph/onnx.h"

namespace lockstep {
namespace {

constexpr const char* kStream = "__stream";

// FNV-1a, folded to 32 bits: the generator's stream also carries the step.
class Hash {
 public:
  void mix(std::string_view text) {
    for (char letter : text) mix_byte(static_cast<uint8_t>(letter));
  }
  void mix(uint64_t number) {
    for (int shift = 0; shift < 64; shift += 8) mix_byte(static_cast<uint8_t>(number >> shift));
  }
  int64_t folded() const { return static_cast<int64_t>((state_ ^ (state_ >> 32)) & 0xffffffffU); }

 private:
  void mix_byte(uint8_t byte) { state_ = (state_ ^ byte) * 1099511628211U; }

  uint64_t state_ = 1469598103934665603U;
};

int64_t stream_named(const onnx::NodeProto& proto, std::string_view name, const BatchPart& part) {
  Hash hash;
  const onnx::AttributeProto* seed = nullptr;
  for (const auto& attribute : proto.attribute())
    if (attribute.name() == "seed") seed = &attribute;
  if (seed)
    hash.mix(static_cast<uint64_t>(seed->i()));
  else
    hash.mix(name);
  hash.mix(static_cast<uint64_t>(part.replica));
  hash.mix(static_cast<uint64_t>(part.part));
  return hash.folded();
}

}  // namespace

int64_t random_stream_of(const Node& node) {
  AttributeReader reader = node.attributes();
  check(reader.has(kStream), node.description(), ": has no ", kStream,
        ", so what it draws is open");
  return reader.integer(kStream, 0);
}

std::pair<std::string, AttributeValue> random_stream_attribute(int64_t stream) {
  return {kStream, stream};
}

void number_random_streams(Graph& graph, int first, const std::string& scope,
                           const BatchPart& part) {
  for (int index = first; index < graph.node_count(); ++index) {
    const Node node = graph.node(index);
    if (!node.op()->draws) continue;
    std::string_view name = node.name();
    if (!scope.empty() && name.substr(0, scope.size() + 1) == scope + "/")
      name.remove_prefix(scope.size() + 1);
    graph.set_attribute(index, kStream, stream_named(node.proto(), name, part));
  }
}

void write_random_stream(onnx::NodeProto& proto) {
  for (const auto& attribute : proto.attribute())
    if (attribute.name() == kStream) return;
  to_proto(kStream, stream_named(proto, proto.name(), {}), *proto.add_attribute());
}

}  // namespace lockstep
