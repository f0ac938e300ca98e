// SPDX-License-Identifier: Apache-2.0
#include "app/onnx/tensor_files.h"

#include <filesystem>
#include <set>

#include "data/npy.h"
#include "graph/file.h"
#include "graph/passes/retype.h"
#include "lockstep/model_files.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

std::string file_name(const std::string& name) {
  std::string escaped;
  for (char letter : name) escaped += letter == '/' ? "%2F" : std::string(1, letter);
  return escaped;
}

void check_type(const std::string& name, const TensorType& wanted, const Literal& value,
                const fs::path& file) {
  bool fits = value.dtype() == wanted.dtype &&
              (!wanted.ranked || wanted.shape.size() == value.dims().size());
  for (std::size_t i = 0; fits && wanted.ranked && i < wanted.shape.size(); ++i)
    fits = !wanted.shape[i].known() || wanted.shape[i].size() == value.dims()[i];
  check(fits, file.string(), ": input '", name, "' is ", wanted, ", but the file contains ",
        value.type());
}

}  // namespace

std::map<std::string, Literal> read_inputs(const Graph& graph, const std::string& folder,
                                           const std::map<std::string, TensorType>& declared) {
  check(fs::is_directory(folder), "'", folder, "' is not a folder");
  std::map<std::string, Literal> values;
  std::set<std::string> used;
  std::string missing;
  int position = 0;
  for (Value input : graph.inputs()) {
    if (graph.literal(input)) continue;  // already a constant
    const std::string& name = graph.name(input);
    const std::string candidates[] = {file_name(name) + ".npy", file_name(name) + ".pb",
                                      join("input_", position, ".pb"),
                                      join("input_", position, ".npy")};
    ++position;
    bool found = false;
    for (const std::string& candidate : candidates) {
      const fs::path file = fs::path(folder) / candidate;
      if (!fs::exists(file)) continue;
      Literal value =
          file.extension() == ".npy" ? read_npy(file.string()) : load_tensor(file.string());
      const auto other = declared.find(name);
      check_type(name, other == declared.end() ? graph.type(input) : other->second, value, file);
      const bool rounded = value.dtype() != graph.dtype(input);
      values.emplace(name, rounded ? in_float32(value) : std::move(value));
      used.insert(candidate);
      found = true;
      break;
    }
    if (!found) missing += join("\n  ", name, " ", graph.type(input), ": ", candidates[0]);
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
  write_npy((fs::path(folder) / (file_name(name) + ".npy")).string(), value);
}

}  // namespace lockstep
