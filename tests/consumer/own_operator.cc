// SPDX-License-Identifier: Apache-2.0
// An operator of one's own: its record (schema, shapes, gradient), its kernel, and a network that
// trains with it. The loss is compared with a network of Lockstep's operators.
#include <cmath>
#include <iostream>
#include <vector>

#include <lockstep/data_parallel.h>
#include <lockstep/kernel.h>
#include <lockstep/layers.h>
#include <lockstep/losses.h>
#include <lockstep/model_files.h>
#include <lockstep/op.h>
#include <lockstep/operators.h>
#include <lockstep/optimizers.h>
#include <lockstep/session.h>

using namespace lockstep;

// y = x * sigmoid(x)
Value swish(Graph& graph, Value x, const Site& site = {}) {
  return graph.add_value({.type = "Swish", .domain = kOwnDomain, .inputs = {x}}, site);
}

Value swish_of_standard_operators(Graph& graph, Value x, const Site& site = {}) {
  return mul(graph, x, sigmoid(graph, x, site.name + "_sigmoid"), site);
}

// dx = dy * (y + s * (1 - y)) with s = sigmoid(x)
std::vector<Value> swish_gradient(const GradientRequest& r) {
  Graph& graph = r.graph;
  const std::string name = r.node.name();
  const Value one = graph.constant(name + "_one", Literal::scalar(1.0F));
  const Value s = sigmoid(graph, r.x(0), name + "_grad_sigmoid");
  const Value rest = mul(graph, s, sub(graph, one, r.y(0), name + "_grad_rest"), name + "_grad_s");
  return {mul(graph, r.dy[0], add(graph, r.y(0), rest, name + "_grad_slope"), name + "_grad")};
}

OpSet ops_with_swish() {
  std::vector<Op> all = all_ops().ops();
  all.push_back({.type = "Swish",
                 .domain = kOwnDomain,
                 .body = [](const BodyRequest& r) -> std::vector<Value> {
                   return {swish_of_standard_operators(r.graph, r.x(0), r.node.name())};
                 },
                 .signature = Signature{"y = x * sigmoid(x)", {{"x"}}, {{"y"}}},
                 .law = [](Inference& inference) { inference.outputs[0] = inference.input(0); },
                 .differentiable = Differentiable::yes,
                 .gradient = swish_gradient,
                 .may_alias = {{0, 0}}});
  return OpSet(std::move(all));
}

KernelEntry swish_kernel() {
  const auto prepare = [](const KernelRequest& request) {
    return make_kernel([count = request.out[0].count()](const KernelArgs& args) {
      const float* x = args.in[0].as<float>();
      float* y = args.out[0].as<float>();
      for (int64_t i = 0; i < count; ++i) y[i] = x[i] / (1 + std::exp(-x[i]));
    });
  };
  const auto refuses = [](const KernelRequest& request) -> std::string {
    return request.in[0].dtype == DType::float32 ? "" : "takes float32";
  };
  return {"Swish", kOwnDomain, {{"loops", refuses, prepare}}};
}

using Activation = Value (*)(Graph& graph, Value x, const Site& site);

float trained_loss(const OpSet& ops, const std::vector<KernelTable>& kernels, Activation activation,
                   const std::string& file) {
  const auto network = [activation](Net& net) {
    Value x = net.input("data", {DType::float32, {"N", 2}});
    x = activation(net.graph, fc_layer(net, x, 8, {}, "fc1"), "act1");
    classify(net, fc_layer(net, x, 2, {}, "pred"));
  };
  const std::vector<Device> devices = cpu_devices(2);
  const TrainingModel model =
      build_data_parallel_model(ops, network, MomentumSgd{}, replicas_on(devices));
  save_model(model, file);
  load_model(ops, file);
  Session session(model, devices, kernels, {.seed = 7});
  session.initialise();
  std::vector<float> points{0, 1, 1, 0, 2, 3, 3, 2, -1, 0, 0, -1, 5, 6, 6, 5};
  std::vector<int64_t> sides{0, 1, 0, 1, 0, 1, 0, 1};
  Feeds feeds(model);
  feeds.set("data", {{DType::float32, {8, 2}}, points.data()});
  feeds.set("label", {{DType::int64, {8}}, sides.data()});
  feeds.set(Role::rate, 0.1F);
  float loss = 0;
  for (int step = 0; step < 50; ++step) loss = session.run_step(feeds, step).loss();
  return loss;
}

int main() {
  const OpSet ops = ops_with_swish();
  const std::vector<KernelTable> kernels = cpu_kernels_with(ops, {swish_kernel()});
  const float own = trained_loss(ops, kernels, swish, "swish.onnx");
  const float standard =
      trained_loss(all_ops(), all_kernels(), swish_of_standard_operators, "standard.onnx");
  std::cout << "loss " << own << " with the operator, " << standard << " without\n";
  return std::abs(own - standard) < 1e-4F && own < 0.5F ? 0 : 1;
}
