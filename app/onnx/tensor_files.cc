// SPDX-License-Identifier: Apache-2.0
#include "app/onnx/tensor_files.h"

#include <filesystem>
#include <set>
#include <vector>

#include "data/npy.h"
#include "graph/file.h"
#include "graph/file_name.h"
#include "graph/passes/retype.h"
#include "lockstep/model_files.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

void check_type(const std::string& name, const TensorType& wanted, const Literal& value,
                const fs::path& file) {
  check(value.dtype() == wanted.dtype && dims_fit_type(value.dims(), wanted), file.string(),
        ": input '", name, "' is ", wanted, ", but the file contains ", value.type());
}

// The names of files that may hold an input, best first.
std::vector<std::string> files_of_input(const Graph& graph, Value input) {
  int position = 0;  // among the inputs that the file gives no value
  for (Value other : graph.inputs()) {
    if (other == input) break;
    if (!graph.literal(other)) ++position;
  }
  const std::string name = file_name_of(graph.name(input));
  return {name + ".npy", name + ".pb", join("input_", position, ".pb"),
          join("input_", position, ".npy")};
}

}  // namespace

bool dims_fit_type(const Dims& dims, const TensorType& declared) {
  if (!declared.ranked) return true;
  if (dims.size() != declared.shape.size()) return false;
  for (std::size_t i = 0; i < dims.size(); ++i)
    if (declared.shape[i].known() && declared.shape[i].size() != dims[i]) return false;
  return true;
}

std::string file_of_input(const Graph& graph, Value input, const std::string& folder) {
  for (const std::string& file : files_of_input(graph, input))
    if (fs::exists(fs::path(folder) / file)) return file;
  return "";
}

Literal read_input(const Graph& graph, Value input, const std::string& path,
                   const std::map<std::string, TensorType>& declared) {
  const fs::path file(path);
  Literal value = file.extension() == ".npy" ? read_npy(path) : load_tensor(path);
  const auto other = declared.find(graph.name(input));
  check_type(graph.name(input), other == declared.end() ? graph.type(input) : other->second, value,
             file);
  return value.dtype() == graph.dtype(input) ? value : in_float32(value);
}

std::map<std::string, Literal> read_inputs(const Graph& graph, const std::string& folder,
                                           const std::map<std::string, TensorType>& declared) {
  check(fs::is_directory(folder), "'", folder, "' is not a folder");
  std::map<std::string, Literal> values;
  std::set<std::string> used;
  std::string missing;
  for (Value input : graph.inputs()) {
    if (graph.literal(input)) continue;  // already a constant
    const std::string& name = graph.name(input);
    const std::string file = file_of_input(graph, input, folder);
    if (file.empty()) {
      missing += join("\n  ", name, " ", graph.type(input), ": ", file_name_of(name), ".npy");
      continue;
    }
    values.emplace(name, read_input(graph, input, (fs::path(folder) / file).string(), declared));
    used.insert(file);
  }
  check(missing.empty(), folder, " lacks these inputs:", missing);
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    const bool tensor = entry.path().extension() == ".npy" || entry.path().extension() == ".pb";
    // ONNX's test data has output_0.pb, ... beside the inputs.
    check(!tensor || used.count(name) || name.rfind("output_", 0) == 0, entry.path().string(),
          ": the graph has no such input");
  }
  return values;
}

void write_tensor(const std::string& folder, const std::string& name, const Literal& value) {
  make_folder(folder);
  write_npy((fs::path(folder) / (file_name_of(name) + ".npy")).string(), value);
}

}  // namespace lockstep
