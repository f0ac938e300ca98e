#include "tools/onnx/network_file.h"

#include <set>

#include "graph/passes/fold.h"
#include "operators/all.h"
#include "runtime/fold.h"

namespace lockstep {

std::shared_ptr<const LoadedModel> load_network(const std::string& path) {
  auto file = std::make_shared<LoadedModel>(load_model(all_ops(), path));
  check(file->model.step.node_count() == 0, path,
        ": holds a training step already; a network is asked for");
  Graph& graph = file->model.inference;
  std::set<std::string> kept;
  for (const std::string& name : file->initializers)
    if (Value value = graph.find(name); value && is_floating(graph.dtype(value))) kept.insert(name);
  graph = fold_constants(graph, kept, folder_for(all_kernels()));
  return file;
}

}  // namespace lockstep
