// Dropout (x, ratio, training_mode) -> y, mask. Attribute `seed`, or where it is missing the node's
// name, tells the node's numbers from those of others; the replica does too.
//   DropoutGrad (dy, ratio, training_mode) -> dx   attribute stream: whose numbers to draw again
#include "operators/dropout/dropout.h"

#include "operators/dropout/stream.h"
#include "operators/room.h"

namespace lockstep {
namespace {

void dropout_law(Inference& inference) {
  inference.outputs[0] = inference.input(0);
  if (inference.outputs.size() > 1)
    inference.outputs[1] = {DType::boolean, inference.input(0).shape, inference.input(0).ranked};
}

std::vector<Value> dropout_gradient(const GradientRequest& r) {
  if (!r.dy[0]) return {};
  std::vector<Value> operands{r.dy[0]};
  for (std::size_t i = 1; i < r.node.inputs().size(); ++i) operands.push_back(r.x(i));
  return {r.graph.add_value({.type = "DropoutGrad",
                             .domain = kOwnDomain,
                             .inputs = operands,
                             .attributes = {{"stream", dropout_stream(r.node)}}},
                            gradient_site(r, 0)),
          none, none};
}

}  // namespace

int64_t dropout_stream(const Node& node) {
  AttributeReader reader = node.attributes();
  if (reader.has("stream")) return reader.integer("stream", 0);
  uint64_t hash = 1469598103934665603U;  // FNV-1a
  auto mix = [&](uint8_t byte) { hash = (hash ^ byte) * 1099511628211U; };
  if (reader.has("seed")) {
    const auto seed = static_cast<uint64_t>(reader.integer("seed", 0));
    for (int shift = 0; shift < 64; shift += 8) mix(static_cast<uint8_t>(seed >> shift));
  } else {
    for (char letter : node.name()) mix(static_cast<uint8_t>(letter));
  }
  mix(static_cast<uint8_t>(node.replica()));
  mix(static_cast<uint8_t>(node.replica() >> 8));
  // 32 bits: the generator's stream also carries the step.
  return static_cast<int64_t>((hash ^ (hash >> 32)) & 0xffffffffU);
}

Value dropout(Graph& graph, Value x, float ratio, bool training, const Site& site) {
  const std::string name = site.name.empty() ? "dropout" : site.name;
  Value share = graph.constant(name + "_ratio", Literal::scalar(ratio));
  Value mode = graph.constant(name + "_training", Literal::scalar(training));
  return graph.add_value({.type = "Dropout", .inputs = {x, share, mode}}, site);
}

std::vector<Op> dropout_ops() {
  return {{.type = "Dropout",
           .domain = "",
           .law = dropout_law,
           .differentiable = Differentiable::yes,
           .gradient = dropout_gradient,
           .may_alias = {{0, 0}},
           .random = true,
           .narrow = {Narrow::follows, {1}}},
          {.type = "DropoutGrad",
           .domain = kOwnDomain,
           .signature = Signature{"dy where the forward pass kept x, grown alike, else 0.",
                                  {{"dy"},
                                   {"ratio", "R", Arity::optional},
                                   {"training_mode", "B", Arity::optional}},
                                  {{"dx"}},
                                  {{"stream", AttributeKind::integer, true}}},
           .law = same_as_first,
           .may_alias = {{0, 0}},
           .random = true,
           .narrow = {Narrow::follows, {1}}}};
}

}  // namespace lockstep
