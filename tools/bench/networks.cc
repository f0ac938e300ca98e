// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/networks.h"

#include "app/classification/network.h"
#include "lockstep/layers.h"
#include "lockstep/losses.h"
#include "lockstep/models.h"
#include "lockstep/operators.h"

namespace lockstep {
namespace {

constexpr int64_t kLstmSteps = 64, kLstmWidth = 512, kLstmClasses = 10;

void lstm_of_steps(Net& net) {
  Value x = net.input("data", {DType::float32, {"N", kLstmSteps, kLstmWidth}});
  x = transpose(net.graph, x, {1, 0, 2}, "steps");
  const RecurrentOutputs read = lstm_layer(net, x, kLstmWidth, {.layers = 2}, "lstm");
  classify(net,
           fc_layer(net, flatten(net.graph, read.last_h[1], 2, "last"), kLstmClasses, {}, "pred"));
}

}  // namespace

BenchNetwork bench_network(const std::string& name, bool bytes) {
  check(!bytes || name != "lstm", "--bytes is for images; an lstm reads none");
  if (name == "lstm") return {lstm_of_steps, kLstmClasses};
  const ClassifierOptions published = bytes ? published_for_bytes(name) : published_options(name);
  return {model_named(name, published), published.classes};
}

}  // namespace lockstep
