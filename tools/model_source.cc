#include "tools/model_source.h"

#include "builders/net/imported.h"
#include "builders/optimizers/momentum_sgd.h"
#include "builders/step/data_parallel.h"
#include "builders/step/precision.h"
#include "graph/file.h"
#include "graph/io.h"
#include "models/models.h"
#include "operators/all.h"
#include "runtime/device.h"
#include "tools/onnx/network_file.h"
#include "tools/train/config.h"
#include "tools/train/network.h"

namespace lockstep {
namespace {

bool ends_with(const std::string& text, std::string_view end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

std::vector<int64_t> ring_order_of(const ModelRequest& request) {
  try {
    const std::vector<int> order = parse_ring_order(request.ring_order);
    return {order.begin(), order.end()};
  } catch (const Error& error) {
    fail("--ring-order: ", error.what());
  }
}

DataParallelOptions options_for(const ModelRequest& request, const std::vector<Device>& devices) {
  DataParallelOptions options = replicas_on(devices);
  if (!request.all_reduce.empty()) options.all_reduce.spec = parse_all_reduce(request.all_reduce);
  if (!request.ring_order.empty()) {
    const std::vector<int64_t> order = ring_order_of(request);
    options.all_reduce.ring_order.assign(order.begin(), order.end());
  }
  options.all_reduce.wire = parse_wire(request.wire);
  if (!request.precision.empty()) options.precision = parse_precision(request.precision);
  if (!request.topology.empty()) options.all_reduce.topology = parse_topology(request.topology);
  if (!request.packing.empty()) options.all_reduce.packing = parse_packing(request.packing);
  if (!request.buckets.empty()) options.all_reduce.buckets = read_file(request.buckets);
  return options;
}

// The flags that were given, as keys of a configuration.
std::vector<std::string> keys_of(const ModelRequest& request) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : {std::pair{"DEVICES", request.devices},
                                   {"ALL_REDUCE", request.all_reduce},
                                   {"WIRE", request.wire},
                                   {"PRECISION", request.precision},
                                   {"TOPOLOGY", request.topology},
                                   {"PACKING", request.packing},
                                   {"BUCKETS", request.buckets}})
    if (!value.empty()) keys.insert(keys.end(), {key, value});
  if (!request.ring_order.empty())
    keys.insert(keys.end(), {"RING_ORDER", text_of(ring_order_of(request))});
  return keys;
}

TrainingModel step_of_network(const ModelRequest& request) {
  auto file = specialised(load_network(request.source), {});
  ImportedOptions options;
  options.train_batch_norm = request.train_batch_norm;
  options.trainable = trainable_initializers(*file, request.loss, {});
  const auto devices = parse_devices(request.devices.empty() ? "cpu" : request.devices);
  return build_data_parallel_model(all_ops(), imported_model(file, request.loss, options),
                                   MomentumSgd{}, options_for(request, devices));
}

}  // namespace

bool is_yaml(const std::string& path) {
  return ends_with(path, ".yaml") || ends_with(path, ".yml");
}
bool is_onnx(const std::string& path) { return ends_with(path, ".onnx"); }

LoadedModel model_from(const ModelRequest& request) {
  check(request.loss.empty() || is_onnx(request.source), "--loss names a value of a FILE.onnx; '",
        request.source, "' has its own");
  if (!request.loss.empty()) return {step_of_network(request)};
  if (is_onnx(request.source)) return load_model(all_ops(), request.source);
  if (is_yaml(request.source))
    return {build_configured_model(read_config(request.source, keys_of(request)))};
  const auto devices = parse_devices(request.devices.empty() ? "cpu" : request.devices);
  return {build_data_parallel_model(all_ops(),
                                    model_named(request.source, published_options(request.source)),
                                    MomentumSgd{}, options_for(request, devices))};
}

}  // namespace lockstep
