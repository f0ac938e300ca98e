// SPDX-License-Identifier: Apache-2.0
// A network with its loss and twelve rows of data, for tests of `lockstep step`.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "data/npy.h"
#include "graph/file.h"
#include "lockstep/model_files.h"
#include "lockstep/operators.h"
#include "lockstep/random.h"
#include "tests/support/program.h"

namespace lockstep::testing {

// loss = mean((dropped(tanh(x w1 + b1)) w2 - y)^2) for x [N, 3] and y [N, 2].
class StepCommand : public ::testing::Test {
 protected:
  static Literal noise(const Dims& dims, uint64_t stream) {
    PhiloxSequence random(1, stream);
    std::vector<float> values(static_cast<std::size_t>(element_count(dims)));
    for (float& value : values) value = static_cast<float>(0.5 * random.normal());
    return Literal::of<float>(values, dims);
  }

  void SetUp() override {
    save_network(0.0F);
    std::filesystem::create_directory(folder / "in");
    write_npy(folder / "in/x.npy", x);
    write_npy(folder / "in/y.npy", y);
  }

  void save_network(float dropped, const Dim& rows = Dim("N")) const {
    Graph graph(all_ops(), "net");
    const Value in = graph.input("x", {DType::float32, {rows, 3}});
    const Value target = graph.input("y", {DType::float32, {rows, 2}});
    Value hidden = matmul(graph, in, graph.constant("w1", noise({3, 8}, 1)), "product");
    hidden = tanh(graph, add(graph, hidden, graph.constant("b1", noise({8}, 2)), "sum"));
    const Value share = graph.constant("dropped", Literal::scalar(dropped));
    const Value on = graph.constant("on", Literal::scalar(true));
    if (dropped > 0)
      hidden = graph.add_value({.type = "Dropout", .inputs = {hidden, share, on}}, "drop");
    const Value out = matmul(graph, hidden, graph.constant("w2", noise({8, 2}, 3)), "out");
    const Value error = sub(graph, out, target, "error");
    graph.output(out);
    graph.output(reduce_mean(graph, mul(graph, error, error, "square"), {}, false, "loss"));
    TrainingModel model(all_ops());
    model.inference = std::move(graph);
    model.metadata = {{"author", "somebody"}, {"initializers.parameter", "b1\nw1\nw2"}};
    save_model(model, folder / "net.onnx");
  }

  // `more` follows the network, the loss and, unless it has --inputs, the folder of the data.
  Outcome step(const std::vector<std::string>& more) const {
    std::vector<std::string> words{"step", folder / "net.onnx", "--loss", "loss"};
    if (std::find(more.begin(), more.end(), "--inputs") == more.end())
      words.insert(words.end(), {"--inputs", folder / "in"});
    words.insert(words.end(), more.begin(), more.end());
    return run_lockstep(words);
  }
  // Runs the steps and returns what they print.
  std::string run(const std::vector<std::string>& more) const {
    const Outcome outcome = step(more);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return outcome.out;
  }
  std::vector<float> losses(const std::string& out = "out") const {
    const Literal value = read_npy(folder / (out + "/loss.npy"));
    return {value.values<float>().begin(), value.values<float>().end()};
  }
  // The contents of all files below the folder, by path.
  std::map<std::string, std::string> files(const std::string& below = "") const {
    std::map<std::string, std::string> all;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder / below))
      if (entry.is_regular_file())
        all[entry.path().lexically_relative(folder / below)] = read_file(entry.path());
    return all;
  }
  void expect_step_refused(const std::vector<std::string>& words,
                           const std::vector<std::string>& parts) const {
    SCOPED_TRACE(words.at(0) + " " + (words.size() > 1 ? words[1] : ""));
    const auto before = files();
    expect_refused(step(words), parts);
    EXPECT_EQ(files(), before) << "a file was written";
  }

  TemporaryFolder folder;
  const Literal x = noise({12, 3}, 4), y = noise({12, 2}, 5);
};

}  // namespace lockstep::testing
