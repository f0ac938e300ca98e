// SPDX-License-Identifier: Apache-2.0
#include "lockstep/layers.h"

#include <cmath>

#include "lockstep/operators.h"
#include "operators/rnn/recurrence.h"
#include "operators/rnn/rnn.h"

namespace lockstep {
namespace {

// The beginning of a layer's error texts.
std::string of_layer(const Site& site) { return join(site.name, " (", site.where.text(), "): "); }

// Creates the parameters of one layer of a stack.
RecurrentOperands layer_params(Net& net, Cell cell, Value x, int64_t hidden,
                               const RecurrentLayer& options, const std::string& name,
                               const Site& site) {
  const Dim& inputs = net.graph.shape(x)[2];
  check(inputs.known(), of_layer(site), "dimension 2 of ", net.graph.shape(x),
        " must be known to size its parameters");
  const int64_t directions = options.bidirectional ? 2 : 1, sums = gates_of(cell) * hidden;
  const float width = 1 / std::sqrt(static_cast<float>(hidden));
  const auto param = [&](const char* ending, const Dims& dims, const Initializer& first,
                         StateKind kind) {
    return net.param(name + ending, dims, first ? first : uniform(-width, width), kind, site.where);
  };
  RecurrentOperands operands{.x = x, .w = none, .r = none, .lengths = options.lengths};
  operands.w =
      param(net.names.weight, {directions, sums, inputs.size()}, options.weight, StateKind::weight);
  operands.r = param("_r", {directions, sums, hidden}, options.weight, StateKind::weight);
  if (options.bias)
    operands.b = param(net.names.bias, {directions, 2 * sums}, options.first_bias, StateKind::bias);
  return operands;
}

// Concatenates both directions' states of y [steps, directions, batch, hidden], or [batch, steps,
// directions, hidden] with batch_first, in the last dimension.
Value side_by_side(Net& net, Value y, bool batch_first, const Site& site) {
  if (!batch_first) y = transpose(net.graph, y, {0, 2, 1, 3}, Site(site.name + "_t", site.where));
  return reshape(net.graph, y, {0, 0, -1}, site);
}

Value state_of(const std::vector<Value>& given, int64_t layer) {
  return given.empty() ? none : given[layer];
}

RecurrentOutputs stack(Net& net, Cell cell, Value x, int64_t hidden, const RecurrentLayer& options,
                       const Site& site) {
  check(!site.name.empty(), "a layer needs a name (", site.where.text(), ")");
  const Shape& shape = net.graph.shape(x);
  check(shape.size() == 3, of_layer(site), "the data of a recurrent layer is ", shape,
        ", should be [steps, batch, inputs], or [batch, steps, inputs] with batch_first");
  check(hidden > 0 && options.layers > 0, of_layer(site), options.layers, " layers of ", hidden,
        " hidden units: both numbers should be at least 1");
  for (const auto* states : {&options.first_h, &options.first_c})
    check(states->empty() || static_cast<int64_t>(states->size()) == options.layers, of_layer(site),
          states->size(), " first states for ", options.layers, " layers");
  const RecurrentAttrs attrs{.direction = options.bidirectional ? "bidirectional" : "forward",
                             .hidden = hidden,
                             .batch_first = options.batch_first,
                             .linear_before_reset = options.linear_before_reset};
  RecurrentOutputs outputs{x, {}, {}};
  for (int64_t layer = 0; layer < options.layers; ++layer) {
    const std::string name = options.layers > 1 ? join(site.name, "_", layer) : site.name;
    RecurrentOperands operands = layer_params(net, cell, outputs.y, hidden, options, name, site);
    operands.h = state_of(options.first_h, layer);
    operands.c = state_of(options.first_c, layer);
    const RecurrentResults made = recurrent(net.graph, cell, operands, attrs, net.training(),
                                            Site(name + "_states", site.where));
    outputs.y = side_by_side(net, made.y, options.batch_first, Site(name, site.where));
    outputs.last_h.push_back(made.last_h);
    if (made.last_c) outputs.last_c.push_back(made.last_c);
  }
  return outputs;
}

}  // namespace

Value embedding_layer(Net& net, Value numbers, int64_t count, int64_t width,
                      const EmbeddingLayer& options, const Site& site) {
  check(!site.name.empty(), "a layer needs a name (", site.where.text(), ")");
  const DType type = net.graph.dtype(numbers);
  check(type == DType::int64 || type == DType::int32, of_layer(site),
        "an embedding looks up whole numbers, ", "int32 or int64, not ", type);
  check(count > 0 && width > 0, of_layer(site),
        "count and width of an embedding should be at least 1, are ", count, " and ", width);
  const Value table = net.param(site.name + net.names.weight, {count, width}, options.weight,
                                StateKind::weight, site.where);
  return gather(net.graph, table, numbers, 0, site);
}

RecurrentOutputs rnn_layer(Net& net, Value x, int64_t hidden, const RecurrentLayer& options,
                           const Site& site) {
  return stack(net, Cell::rnn, x, hidden, options, site);
}
RecurrentOutputs gru_layer(Net& net, Value x, int64_t hidden, const RecurrentLayer& options,
                           const Site& site) {
  return stack(net, Cell::gru, x, hidden, options, site);
}
RecurrentOutputs lstm_layer(Net& net, Value x, int64_t hidden, const RecurrentLayer& options,
                            const Site& site) {
  return stack(net, Cell::lstm, x, hidden, options, site);
}

}  // namespace lockstep
