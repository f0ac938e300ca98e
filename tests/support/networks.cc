// SPDX-License-Identifier: Apache-2.0
#include "tests/support/networks.h"

#include "lockstep/layers.h"
#include "lockstep/losses.h"
#include "lockstep/operators.h"
#include "lockstep/optimizers.h"

namespace lockstep::testing {
namespace {

Value images(Net& net) { return net.input("data", {DType::float32, {"N", 1, 6, 6}}); }

Value hidden(Net& net, Value x) {
  return relu(net.graph, fc_layer(net, x, 12, {}, "fc1"), "fc1_relu");
}

void plain(Net& net) { classify(net, fc_layer(net, hidden(net, images(net)), 5, {}, "pred")); }

void batch_norm(Net& net) {
  Value x = conv_layer(net, images(net), 4, {.kernel = 3, .pad = 1}, "conv1");
  x = relu(net.graph, batch_norm_layer(net, x, {}, "bn1"), "relu1");
  x = conv_layer(net, x, 4, {.kernel = 3, .pad = 1, .bias = false}, "conv2");
  x = relu(net.graph, batch_norm_layer(net, x, {}, "bn2"), "relu2");
  classify(net, fc_layer(net, x, 5, {}, "pred"));
}

void dropout(Net& net) {
  Value x = dropout_layer(net, hidden(net, images(net)), 0.3F, "drop1");
  x = relu(net.graph, fc_layer(net, x, 12, {}, "fc2"), "fc2_relu");
  classify(net, fc_layer(net, dropout_layer(net, x, 0.3F, "drop2"), 5, {}, "pred"));
}

// Every operator that draws random numbers: a mask of examples and a mask of elements by computed
// probabilities, noise of examples and of units, sampled classes.
void random_numbers(Net& net) {
  Graph& graph = net.graph;
  const auto drawn = [&](const char* type, const std::vector<Value>& inputs, Attributes attributes,
                         const char* name) {
    return graph.add_value({.type = type, .inputs = inputs, .attributes = std::move(attributes)},
                           name);
  };
  const Value share = graph.constant("share_kept", Literal::scalar(0.7F));
  Value x = hidden(net, images(net));
  const Value numbers =
      drawn("RandomUniformLike", {slice(graph, x, 1, 0, 1, "of_rows")}, {}, "numbers");
  const Value kept = graph.add_value({.type = "Less", .inputs = {numbers, share}}, "kept");
  x = mul(graph, x, cast(graph, kept, DType::float32, "mask"), "masked");
  x = relu(graph, fc_layer(net, x, 12, {}, "fc2"), "fc2_relu");
  const Value noise = drawn("RandomNormalLike", {x}, {{"scale", 0.1F}}, "noise");
  const Dims units{12};
  const Value of_units =
      add(graph, drawn("RandomNormal", {}, {{"shape", units}, {"scale", 0.1F}}, "normal"),
          drawn("RandomUniform", {}, {{"shape", units}, {"high", 0.1F}}, "uniform"), "of_units");
  x = add(graph, x, add(graph, noise, of_units, "all_noise"), "noisy");
  const Value p = sigmoid(graph, x, "p");
  x = mul(graph, x, drawn("Bernoulli", {p}, {}, "gates"), "gated");
  const Value scores =
      graph.constant("scores", Literal::of<float>(std::vector<float>{0, -1, 1}, {1, 3}));
  const Value classes = drawn("Multinomial", {scores}, {{"sample_size", int64_t{12}}}, "classes");
  x = add(graph, x, cast(graph, classes, DType::float32, "numbers_of_classes"), "moved");
  classify(net, fc_layer(net, x, 5, {}, "pred"));
}

// The second loss is a penalty on the hidden layer. A metric counts in integers.
void two_losses(Net& net) {
  Value x = hidden(net, images(net));
  classify(net, fc_layer(net, x, 5, {}, "pred"));
  if (!net.training()) return;
  Value square = mul(net.graph, x, x, "fc1_square");
  net.loss("penalty", reduce_mean(net.graph, square, {}, false, "penalty"));
  Value whole = cast(net.graph, x, DType::int64, "whole_numbers");
  net.metric("whole", reduce_sum(net.graph, whole, {}, false, "whole"));
}

void shared_weight(Net& net) {
  Value x = hidden(net, images(net));
  Value w = net.param("shared_w", {12, 12}, xavier());
  for (const char* name : {"first", "second"})
    x = relu(net.graph, gemm(net.graph, x, w, none, {}, name), std::string(name) + "_relu");
  classify(net, fc_layer(net, x, 5, {}, "pred"));
}

void integer_input(Net& net) {
  Value token = net.input("token", {DType::int64, {"N", 3}});
  Value table = net.param("table", {5, 4}, gaussian(0.5F));
  Value words = flatten(net.graph, gather(net.graph, table, token, 0, "words"), 1, "flat_words");
  Value x = concat(net.graph, {hidden(net, images(net)), words}, 1, "both");
  classify(net, fc_layer(net, x, 5, {}, "pred"));
}

// A picture's rows are time steps. An example's first token gives its number of steps.
void recurrent(Net& net) {
  Value token = net.input("token", {DType::int64, {"N", 3}});
  Value first = cast(net.graph, slice(net.graph, token, 1, 0, 1, "first"), DType::int32, "whole");
  RecurrentLayer options{.layers = 2, .bidirectional = true, .batch_first = true};
  options.lengths = reshape(net.graph, first, {-1}, "lengths");
  Value x = reshape(net.graph, images(net), {0, 6, 6}, "rows");
  x = lstm_layer(net, x, 3, options, "lstm").y;
  Value words = embedding_layer(net, token, 5, 4, {}, "words");
  const RecurrentOutputs read = gru_layer(net, words, 3, {.batch_first = true}, "gru");
  Value both =
      concat(net.graph,
             {flatten(net.graph, x, 1, "flat_x"), flatten(net.graph, read.last_h[0], 1, "flat_h")},
             1, "both");
  classify(net, fc_layer(net, both, 5, {}, "pred"));
}

// The loss is the mean over the examples with a first token other than 0.
void padded(Net& net) {
  Graph& graph = net.graph;
  const Value scores = fc_layer(net, hidden(net, images(net)), 5, {}, "pred");
  const Value token = net.input("token", {DType::int64, {"N", 3}});
  if (!net.training()) return net.output("prob", softmax(graph, scores, -1, "prob"));
  const Value one = graph.constant("one", Literal::scalar<int64_t>(1));
  const Value first = reshape(graph, slice(graph, token, 1, 0, 1, "first"), {-1}, "first_token");
  const Value above = graph.add_value({.type = "GreaterOrEqual", .inputs = {first, one}}, "counts");
  const Value label = add(graph, net.input("label", {DType::int64, {"N"}}), one, "label_and_one");
  const Value counted = mul(graph, label, cast(graph, above, DType::int64, "whole"), "or_zero");
  predict_places(net, scores, sub(graph, counted, one, "label_or_none"));
}

void parameter_of_size_zero(Net& net) {
  Value scores = fc_layer(net, hidden(net, images(net)), 5, {.bias = false}, "pred");
  Value bias = net.param("bias", {5}, constant(0), StateKind::bias);
  Value nothing = net.param("nothing", {0}, constant(0), StateKind::bias);
  Value whole = concat(net.graph, {bias, nothing}, 0, "whole_bias");
  classify(net, add(net.graph, scores, whole, "scores"));
}

void unused_input(Net& net) {
  net.input("unused", {DType::float32, {"N", 3}});
  plain(net);
}

}  // namespace

const std::vector<SmallNetwork>& small_networks() {
  static const std::vector<SmallNetwork> all{
      {"plain", plain},
      {"batch_norm", batch_norm},
      {"synchronised", batch_norm, {.synchronised_batch_norm = true}},
      {"dropout", dropout},
      {"random", random_numbers},
      {"frozen", batch_norm, {.frozen = {"conv1_*", "bn1_*"}}},
      {"two_losses", two_losses},
      {"shared_weight", shared_weight},
      {"integer_input", integer_input},
      {"recurrent", recurrent},
      {"padded", padded},
      {"size_zero", parameter_of_size_zero},
      {"unequal_shares", unused_input, {.weighted = true}},
  };
  return all;
}

const SmallNetwork& small_network(const std::string& name) {
  for (const SmallNetwork& network : small_networks())
    if (network.name == name) return network;
  fail("there is no small network '", name, "'");
}

TrainingModel small_bn_net(int replicas, DataParallelOptions options) {
  options.replicas = replicas;
  options.scope = "cpu";
  return build_data_parallel_model(all_ops(), small_network("batch_norm").model, MomentumSgd{},
                                   options);
}

}  // namespace lockstep::testing
