// SPDX-License-Identifier: Apache-2.0
// lockstep onnx-test: ONNX's own backend test cases.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>

#include "app/onnx/inference_run.h"
#include "app/onnx/network_file.h"
#include "app/onnx/tensor_files.h"
#include "graph/load.h"
#include "lockstep/model_files.h"
#include "lockstep/operators.h"
#include "tools/command.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

constexpr double kRelative = 1e-3, kAbsolute = 1e-7;  // the tolerances of ONNX's own runner
constexpr double kTruncated = 0x1p-7;  // ONNX's cases cut floats to bfloat16, instead of rounding

struct Totals {
  int pass = 0, fail = 0, unsupported = 0;
};

double number_at(const Literal& literal, int64_t i) {
  switch (literal.dtype()) {
    case DType::float32:
      return literal.values<float>()[i];
    case DType::float16:
      return literal.values<Half>()[i];
    case DType::bfloat16:
      return literal.values<BFloat16>()[i];
    case DType::float64:
      return literal.values<double>()[i];
    case DType::int64:
      return static_cast<double>(literal.values<int64_t>()[i]);
    case DType::int32:
      return literal.values<int32_t>()[i];
    case DType::uint64:
      return static_cast<double>(literal.values<uint64_t>()[i]);
    case DType::uint32:
      return literal.values<uint32_t>()[i];
    case DType::uint16:
      return literal.values<uint16_t>()[i];
    case DType::int16:
      return literal.values<int16_t>()[i];
    case DType::int8:
      return literal.values<int8_t>()[i];
    case DType::uint8:
      return literal.values<uint8_t>()[i];
    case DType::boolean:
      return literal.values<bool>()[i];
    default:
      throw Unsupported(join("outputs of ", literal.dtype(), " are not compared"));
  }
}

// The tensor of a case's file. The files store bfloat16 as uint16.
Literal tensor_in(const fs::path& file, DType declared) {
  Literal tensor = load_tensor(file.string());
  if (declared != DType::bfloat16 || tensor.dtype() != DType::uint16) return tensor;
  Literal same(declared, tensor.dims());
  std::copy(tensor.bytes().begin(), tensor.bytes().end(), same.bytes().begin());
  return same;
}

// Some files have another shape than their model declares.
Literal operand_in(const fs::path& file, const TensorType& type) {
  Literal tensor = tensor_in(file, type.dtype);
  supported(dims_fit_type(tensor.dims(), type), file.string(), " is ", tensor.type(),
            ", declared as ", type);
  return tensor;
}

// `values`: false if only the type and the shape are expected.
void compare(const Literal& ours, const Literal& expected, const std::string& name, bool values) {
  check(ours.dtype() == expected.dtype() && ours.dims() == expected.dims(), "output '", name,
        "' is ", ours.type(), ", should be ", expected.type());
  if (!values) return;
  const double relative = ours.dtype() == DType::bfloat16 ? kTruncated : kRelative;
  for (int64_t i = 0; i < ours.count(); ++i) {
    const double a = number_at(ours, i), b = number_at(expected, i);
    const bool same = a == b || (std::isnan(a) && std::isnan(b)) ||
                      std::abs(a - b) <= kAbsolute + relative * std::abs(b);
    check(same, "output '", name, "' element ", i, " is ", a, ", should be ", b);
  }
}

// The model of a case, and the names of its inputs: input_0.pb, input_1.pb, .. are their values.
struct Case {
  LoadedModel loaded;
  std::vector<std::string> inputs;
};

// If operands must be constant, small inputs of a case with one data set become constants.
Case load_case(const fs::path& folder) {
  constexpr int64_t kSmall = 64;
  const std::string path = (folder / "model.onnx").string();
  try {
    LoadedModel loaded = read_model(path);
    std::vector<std::string> names;
    for (Value input : loaded.model.inference.inputs())
      names.push_back(loaded.model.inference.name(input));
    return {std::move(loaded), std::move(names)};
  } catch (const Unsupported&) {
    if (fs::exists(folder / "test_data_set_1")) throw;
    std::vector<std::string> names = input_names(path);
    std::map<std::string, Literal> constants;
    for (std::size_t i = 0; i < names.size(); ++i) {
      const fs::path file = folder / "test_data_set_0" / join("input_", i, ".pb");
      if (!fs::exists(file)) continue;
      try {
        Literal value = load_tensor(file.string());
        if (value.count() <= kSmall) constants.emplace(names[i], std::move(value));
      } catch (const Error&) {
        continue;  // a sequence, an optional or strings
      }
    }
    if (constants.empty()) throw;
    return {read_model(path, constants), std::move(names)};
  }
}

void run_data_set(const Case& of, const fs::path& folder, bool values) {
  const Graph& graph = of.loaded.model.inference;
  std::map<std::string, Literal> inputs;
  for (std::size_t i = 0; i < of.inputs.size(); ++i) {
    const fs::path file = folder / join("input_", i, ".pb");
    const Value input = graph.find(of.inputs[i]);
    if (input && !graph.literal(input) && fs::exists(file))
      inputs.emplace(of.inputs[i], operand_in(file, graph.type(input)));
  }
  std::vector<Literal> outputs = run_inference(graph, inputs, all_kernels());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    fs::path file = folder / join("output_", i, ".pb");
    if (fs::exists(file))
      compare(outputs[i], tensor_in(file, outputs[i].dtype()), graph.name(graph.outputs()[i]),
              values);
  }
}

// The first operator that draws random numbers, or null. Random numbers differ between engines.
const Op* random_operator(const Graph& graph) {
  for (int i = 0; i < graph.node_count(); ++i)
    if (graph.node(i).op()->random) return graph.node(i).op();
  return nullptr;
}

// Puts the text of an error on one line.
std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

void run_case(const fs::path& folder, Totals& totals) {
  const std::string name = folder.filename().string();
  try {
    const Case of = load_case(folder);
    const Graph& graph = of.loaded.model.inference;
    const Op* random = random_operator(graph);
    const bool values = !random || random->draws;
    for (int set = 0; fs::exists(folder / join("test_data_set_", set)); ++set) {
      try {
        run_data_set(of, folder / join("test_data_set_", set), values);
      } catch (const Error&) {
        if (!random || !values) throw;
        throw Unsupported(
            join(random->type, " draws random numbers, which differ between engines"));
      }
    }
    std::cout << "pass " << name << (values ? "\n" : " (types and shapes; values are random)\n");
    ++totals.pass;
  } catch (const Unsupported& error) {
    std::cout << "unsupported " << name << " " << one_line(error.what()) << "\n";
    ++totals.unsupported;
  } catch (const std::exception& error) {
    std::cout << "fail " << name << " " << one_line(error.what()) << "\n";
    ++totals.fail;
  }
}

int run_cases(const std::vector<std::string>& folders) {
  Totals totals;
  for (const std::string& folder : folders) {
    check(fs::is_directory(folder), "'", folder, "' is not a folder");
    if (fs::exists(fs::path(folder) / "model.onnx")) {
      run_case(folder, totals);
      continue;
    }
    std::vector<fs::path> cases;
    for (const auto& entry : fs::directory_iterator(folder))
      if (fs::exists(entry.path() / "model.onnx")) cases.push_back(entry.path());
    check(!cases.empty(), "'", folder,
          "' contains no test case: neither model.onnx nor folders with one");
    std::sort(cases.begin(), cases.end());
    for (const fs::path& one : cases) run_case(one, totals);
  }
  std::cout << totals.pass << " pass, " << totals.fail << " fail, " << totals.unsupported
            << " unsupported\n";
  return totals.fail == 0 ? 0 : 1;
}

}  // namespace

void add_onnx_test(CLI::App& app, Command& chosen) {
  auto folders = std::make_shared<std::vector<std::string>>();
  CLI::App* command = app.add_subcommand("onnx-test", "run ONNX backend test cases");
  command->add_option("folders", *folders, "folder of a test case, or of several")->required();
  command->footer(
      "Example:  lockstep onnx-test /usr/share/libonnx-testdata/data/node\n"
      "A test case is a folder with model.onnx and test_data_set_0, .. The command prints a line\n"
      "for each case (pass NAME, fail NAME REASON or unsupported NAME REASON), then the totals.");
  command->callback([folders, &chosen] { chosen = [folders] { return run_cases(*folders); }; });
}

}  // namespace lockstep
