// SPDX-License-Identifier: Apache-2.0
// RNN, GRU, LSTM (ONNX)   X, W, R, B, sequence_lens, initial_h (LSTM: initial_c, P) -> Y, Y_h (Y_c)
//   RNNTrain, GRUTrain, LSTMTrain  the same, and the gradient's operands `sums` and `kept`
//   RNNGrad, GRUGrad, LSTMGrad     gradients of all operands but sequence_lens
// The forms for training keep the sums, which are the arguments of the gates' activations, instead
// of the gates: the slopes of all activations, also of clipped ones, are functions of the sums.
#include "operators/rnn/rnn.h"

#include "operators/kit/operator_helpers.h"
#include "operators/rnn/flops.h"

namespace lockstep {
namespace {

// The sizes that the operands of a node have in common.
struct AgreedSizes {
  Cell cell;
  RecurrentAttrs attrs;
  Dim steps, batch, inputs, hidden;
  int64_t directions;
  Shape rows;  // the shape of x without its inputs

  explicit AgreedSizes(const Inference& inference);

  Dim times_hidden(int64_t count) const {
    return hidden.known() ? Dim(count * hidden.size()) : Dim("?");
  }
  Shape of_rows(int64_t blocks) const {
    return {directions, rows[0], rows[1], times_hidden(blocks)};
  }
  Shape state() const {
    return attrs.batch_first ? Shape{batch, directions, hidden} : Shape{directions, batch, hidden};
  }
  Shape y() const {
    return attrs.batch_first ? Shape{batch, steps, directions, hidden}
                             : Shape{steps, directions, batch, hidden};
  }
  Shape bias() const { return {directions, times_hidden(2 * gates_of(cell))}; }
  Shape peepholes() const { return {directions, times_hidden(3)}; }
};

AgreedSizes::AgreedSizes(const Inference& inference)
    : cell(cell_of(inference.op)),
      attrs(read_recurrent(cell, inference.attributes)),
      steps("?"),
      batch("?"),
      inputs("?"),
      hidden("?"),
      directions(attrs.directions()) {
  using In = RecurrentIn;
  for (std::size_t i : {In::x, In::w, In::r}) demand_dims(inference, i, 3);
  const Shape &x = inference.input(In::x).shape, &r = inference.input(In::r).shape;
  rows = {x[0], x[1]};
  steps = x[attrs.batch_first ? 1 : 0];
  batch = x[attrs.batch_first ? 0 : 1];
  inputs = x[2];
  hidden = attrs.hidden > 0 ? Dim(attrs.hidden) : r[2];
  check(!hidden.known() || (hidden.size() > 0 && hidden.size() < (1 << 30)), "its hidden size is ",
        hidden.size());
}

// Checks the lengths if they are known when the graph is built.
void check_lengths(const Inference& inference, const AgreedSizes& sizes) {
  const std::size_t i = RecurrentIn::lengths;
  const Literal* lengths = i < inference.constants.size() ? inference.constants[i] : nullptr;
  if (!lengths || !sizes.steps.known()) return;
  for (int64_t length : lengths->integers())
    check(length >= 0 && length <= sizes.steps.size(), "a sequence has length ", length,
          ", should be in 0..", sizes.steps.size());
}

AgreedSizes demand_operands(const Inference& inference) {
  using In = RecurrentIn;
  inference.require_ranked();
  AgreedSizes sizes(inference);
  const int64_t gates = gates_of(sizes.cell);
  demand_shape(inference, In::w, {sizes.directions, sizes.times_hidden(gates), sizes.inputs});
  demand_shape(inference, In::r, {sizes.directions, sizes.times_hidden(gates), sizes.hidden});
  demand_shape(inference, In::b, sizes.bias());
  demand_shape(inference, In::lengths, {sizes.batch});
  demand_type(inference, In::lengths, DType::int32);
  demand_shape(inference, In::h, sizes.state());
  std::vector<std::size_t> like_x{In::w, In::r, In::b, In::h};
  if (sizes.cell == Cell::lstm) {
    demand_shape(inference, In::c, sizes.state());
    demand_shape(inference, In::peepholes, sizes.peepholes());
    like_x.insert(like_x.end(), {In::c, In::peepholes});
  }
  for (std::size_t i : like_x) demand_type(inference, i, inference.input(In::x).dtype);
  check_lengths(inference, sizes);
  return sizes;
}

// The types of the results of the standard forms, followed by the results that the forms for
// training add.
void recurrent_law(Inference& inference) {
  const AgreedSizes sizes = demand_operands(inference);
  std::vector<Shape> shapes{sizes.y()};
  shapes.resize(sums_of(sizes.cell), sizes.state());
  shapes.push_back(sizes.of_rows(gates_of(sizes.cell)));
  if (keeps(sizes.cell)) shapes.push_back(sizes.of_rows(1));
  for (std::size_t i = 0; i < inference.outputs.size(); ++i)
    inference.outputs[i] = {inference.input(RecurrentIn::x).dtype, shapes.at(i)};
}

void recurrent_grad_law(Inference& inference) {
  using In = RecurrentIn;
  const AgreedSizes sizes = demand_operands(inference);
  const RecurrentGradIn in(sizes.cell);
  const DType dtype = inference.input(In::x).dtype;
  demand_shape(inference, in.y, sizes.y());
  demand_shape(inference, in.sums, sizes.of_rows(gates_of(sizes.cell)));
  if (keeps(sizes.cell)) demand_shape(inference, in.kept, sizes.of_rows(1));
  demand_shape(inference, in.dy, sizes.y());
  for (std::size_t i = in.dlast_h; i < in.count; ++i) demand_shape(inference, i, sizes.state());
  for (std::size_t i = in.y; i < in.count; ++i) demand_type(inference, i, dtype);
  const Shape shapes[] = {inference.input(In::x).shape,
                          inference.input(In::w).shape,
                          inference.input(In::r).shape,
                          sizes.bias(),
                          sizes.state(),
                          sizes.state(),
                          sizes.peepholes()};
  for (std::size_t i = 0; i < inference.outputs.size(); ++i)
    inference.outputs[i] = {dtype, shapes[i]};
}

std::vector<Value> filled_up(std::span<const Value> values, std::size_t count) {
  std::vector<Value> all(values.begin(), values.end());
  all.resize(count, none);
  return all;
}

// The names of the wanted gradients; a kernel does not compute the others.
std::vector<std::string> gradient_names(const GradientRequest& r, Cell cell) {
  std::vector<std::string> names(gradients_of(cell));
  for (std::size_t i = 0; i < r.node.inputs().size(); ++i) {
    if (!r.wanted[i] || i == RecurrentIn::lengths) continue;
    const std::string name = join(r.node.name(), "_grad_", i);
    std::string& free = names[i > RecurrentIn::lengths ? i - 1 : i] = name;
    for (int k = 1; r.graph.find(r.graph.scoped(free)); ++k) free = join(name, "_", k);
  }
  return names;
}

// `made`: the results of the form for training.
std::vector<Value> recurrent_backward(const GradientRequest& r, const std::vector<Value>& made) {
  const Cell cell = cell_of(r.node.type());
  std::vector<Value> operands = filled_up(r.node.inputs(), operands_of(cell));
  operands.push_back(made[RecurrentOut::y]);
  operands.insert(operands.end(), made.begin() + static_cast<std::ptrdiff_t>(sums_of(cell)),
                  made.end());
  const std::vector<Value> dy = filled_up(r.dy, trained_results_of(cell));
  for (std::size_t i = sums_of(cell); i < dy.size(); ++i)
    check(!dy[i], r.node.description(), ": its sums have no gradient");
  operands.insert(operands.end(), dy.begin(),
                  dy.begin() + static_cast<std::ptrdiff_t>(sums_of(cell)));
  const std::vector<std::string> names = gradient_names(r, cell);
  const Node node =
      r.graph.add({.type = join(name_of(cell), "Grad"),
                   .domain = kOwnDomain,
                   .inputs = operands,
                   .attributes = write_recurrent(cell, read_recurrent(cell, r.node.attributes())),
                   .outputs = static_cast<int>(names.size()),
                   .output_names = names},
                  Site(r.node.name() + "_grad"));
  std::vector<Value> dx(node.outputs().begin(), node.outputs().end());
  dx.insert(dx.begin() + RecurrentIn::lengths, none);
  dx.resize(r.node.inputs().size(), none);
  return dx;
}

std::vector<Value> trained_gradient(const GradientRequest& r) {
  return recurrent_backward(r, {r.node.outputs().begin(), r.node.outputs().end()});
}

std::vector<Value> standard_gradient(const GradientRequest& r) {
  const Node node =
      train_recurrent(r.graph, r.node, {r.node.inputs().begin(), r.node.inputs().end()},
                      Site(r.node.name() + "_again"));
  return recurrent_backward(r, {node.outputs().begin(), node.outputs().end()});
}

std::vector<FormalAttribute> formal_attributes(Cell cell) {
  std::vector<FormalAttribute> formal{
      {"direction", AttributeKind::text},         {"hidden_size", AttributeKind::integer},
      {"layout", AttributeKind::integer},         {"clip", AttributeKind::number},
      {"activations", AttributeKind::text},       {"activation_alpha", AttributeKind::numbers},
      {"activation_beta", AttributeKind::numbers}};
  if (cell == Cell::lstm) formal.push_back({"input_forget", AttributeKind::integer});
  if (cell == Cell::gru) formal.push_back({"linear_before_reset", AttributeKind::integer});
  return formal;
}

std::vector<Formal> formal_operands(Cell cell) {
  constexpr Arity kOptional = Arity::optional;
  std::vector<Formal> formal{{"x"},
                             {"w"},
                             {"r"},
                             {"b", "T", kOptional},
                             {"lengths", "I", kOptional},
                             {"h", "T", kOptional},
                             {"c", "T", kOptional},
                             {"peepholes", "T", kOptional}};
  formal.resize(operands_of(cell));
  return formal;
}

Op training_form(Cell cell, const char* type) {
  std::vector<Formal> results{{"y"}, {"last_h"}};
  if (cell == Cell::lstm) results.push_back({"last_c"});
  results.push_back({"sums"});
  if (keeps(cell)) results.push_back({"kept"});
  return {.type = type,
          .domain = kOwnDomain,
          .no_body = kOnlyTrains,
          .signature = Signature{"ONNX's operator, with the results that its gradient needs.",
                                 formal_operands(cell), results, formal_attributes(cell)},
          .law = recurrent_law,
          .differentiable = Differentiable::yes,
          .gradient = trained_gradient,
          .flops = recurrent_flops};
}

Op gradient_form(Cell cell, const char* type) {
  constexpr Arity kOptional = Arity::optional;
  std::vector<Formal> operands = formal_operands(cell);
  operands.insert(operands.end(), {{"y"}, {"sums"}});
  if (keeps(cell)) operands.push_back({"kept"});
  operands.insert(operands.end(), {{"dy", "T", kOptional}, {"dlast_h", "T", kOptional}});
  if (cell == Cell::lstm) operands.push_back({"dlast_c", "T", kOptional});
  std::vector<Formal> results;
  for (const char* name : {"dx", "dw", "dr", "db", "dh", "dc", "dpeepholes"})
    if (results.size() < gradients_of(cell)) results.push_back({name, "T", kOptional});
  return {.type = type,
          .domain = kOwnDomain,
          .no_body = kOnlyTrains,
          .signature = Signature{"Gradients of a recurrent operator.", operands, results,
                                 formal_attributes(cell)},
          .law = recurrent_grad_law,
          .flops = recurrent_flops};
}

Op standard_form(const char* type) {
  return {.type = type,
          .domain = "",
          .law = recurrent_law,
          .differentiable = Differentiable::yes,
          .gradient = standard_gradient,
          .flops = recurrent_flops};
}

std::string train_type(Cell cell) { return join(name_of(cell), "Train"); }

}  // namespace

RecurrentResults recurrent(Graph& graph, Cell cell, const RecurrentOperands& operands,
                           const RecurrentAttrs& attrs, bool training, const Site& site) {
  std::vector<Value> inputs{operands.x,       operands.w, operands.r, operands.b,
                            operands.lengths, operands.h, operands.c, operands.peepholes};
  for (std::size_t i = operands_of(cell); i < inputs.size(); ++i)
    check(!inputs[i], name_of(cell), " ", site.name, ": only an LSTM has c and peepholes");
  inputs.resize(operands_of(cell));
  check(training || attrs.activations.empty(), name_of(cell), " ", site.name,
        ": ONNX writes activations as a list of texts, which only files have");
  const std::string type = training ? train_type(cell) : name_of(cell);
  const Node node =
      graph.add({.type = type,
                 .domain = training ? kOwnDomain : "",
                 .inputs = inputs,
                 .attributes = write_recurrent(cell, attrs),
                 .outputs = static_cast<int>(training ? trained_results_of(cell) : sums_of(cell))},
                site);
  const auto made = node.outputs();
  return {made[0], made[1], cell == Cell::lstm ? made[2] : none};
}

bool is_recurrent(const Node& node) {
  if (!node.domain().empty()) return false;
  return node.type() == "RNN" || node.type() == "GRU" || node.type() == "LSTM";
}

Node train_recurrent(Graph& graph, const Node& node, const std::vector<Value>& operands,
                     const Site& site) {
  const Cell cell = cell_of(node.type());
  return graph.add({.type = train_type(cell),
                    .domain = kOwnDomain,
                    .inputs = operands,
                    .attributes = write_recurrent(cell, read_recurrent(cell, node.attributes())),
                    .outputs = static_cast<int>(trained_results_of(cell))},
                   site);
}

std::vector<Op> rnn_ops() {
  return {standard_form("RNN"),
          standard_form("GRU"),
          standard_form("LSTM"),
          training_form(Cell::rnn, "RNNTrain"),
          training_form(Cell::gru, "GRUTrain"),
          training_form(Cell::lstm, "LSTMTrain"),
          gradient_form(Cell::rnn, "RNNGrad"),
          gradient_form(Cell::gru, "GRUGrad"),
          gradient_form(Cell::lstm, "LSTMGrad")};
}

}  // namespace lockstep
