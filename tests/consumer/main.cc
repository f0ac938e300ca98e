// SPDX-License-Identifier: Apache-2.0
// The first of the three ways of use: build_data_parallel_model from one's own model code.
#include <iostream>
#include <vector>

#include <lockstep/data_parallel.h>
#include <lockstep/layers.h>
#include <lockstep/losses.h>
#include <lockstep/model_files.h>
#include <lockstep/operators.h>
#include <lockstep/optimizers.h>
#include <lockstep/session.h>

using namespace lockstep;

void two_layers(Net& net) {
  Value x = net.input("data", {DType::float32, {"N", 2}});
  x = relu(net.graph, fc_layer(net, x, 8, {}, "fc1"), "relu1");
  classify(net, fc_layer(net, x, 2, {}, "pred"));
}

int main() {
  const auto devices = parse_devices("cpu*2");  // or "gpu*8"
  auto model = build_data_parallel_model(all_ops(), two_layers, MomentumSgd{.momentum = 0.9F},
                                         replicas_on(devices));
  save_model(model, "step.onnx");
  Session session(model, devices, all_kernels(), {.seed = 7});
  session.initialise();

  // Which side of a line is a point on? Replica k gets rows 4k to 4k + 3.
  std::vector<float> points{0, 1, 1, 0, 2, 3, 3, 2, -1, 0, 0, -1, 5, 6, 6, 5};
  std::vector<int64_t> sides{0, 1, 0, 1, 0, 1, 0, 1};
  Feeds feeds(model);
  feeds.set("data", {{DType::float32, {8, 2}}, points.data()});
  feeds.set("label", {{DType::int64, {8}}, sides.data()});
  feeds.set(Role::rate, 0.1F);
  float first = 0, last = 0;
  for (int step = 0; step < 100; ++step) {
    last = session.run_step(feeds, step).loss();
    if (step == 0) first = last;
  }
  std::cout << "loss " << first << " -> " << last << "\n";
  return last < 0.5F * first ? 0 : 1;
}
