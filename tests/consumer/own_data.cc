// SPDX-License-Identifier: Apache-2.0
// The program `lockstep` with a data set of its own: a regression without end, whose examples are
// drawn when a step needs them. `own_data network FILE` writes a network for it; all other command
// lines are lockstep's, with DATA.NAME own_regression.
#include <cmath>
#include <string>
#include <vector>

#include <lockstep/command.h>
#include <lockstep/error.h>
#include <lockstep/graph.h>
#include <lockstep/model_files.h>
#include <lockstep/operators.h>
#include <lockstep/random.h>

using namespace lockstep;

constexpr int64_t kWidth = 4;

// Writes an example, which the numbers of its sequence determine.
void draw(PhiloxSequence random, double noise, int64_t row, std::span<const Tensor> tensors) {
  double sum = 0;
  for (int64_t i = 0; i < kWidth; ++i) {
    const double x = random.uniform(-1, 1);
    tensors[0].as<float>()[row * kWidth + i] = static_cast<float>(x);
    sum += std::sin(2 * x) * static_cast<double>(i + 1);
  }
  tensors[1].as<float>()[row] = static_cast<float>(sum + noise * random.normal());
}

std::vector<MinibatchForm> form_of_rows(int64_t count) {
  return {{{"x", {DType::float32, {count, kWidth}}}, {"y", {DType::float32, {count, 1}}}}};
}

// Every row of every step is a new example.
class Endless final : public MinibatchSource {
 public:
  Endless(double noise, const OwnBatches& options)
      : noise_(noise), options_(options), forms_(form_of_rows(options.count)) {}
  const std::vector<MinibatchForm>& forms() const override { return forms_; }
  std::size_t form(int64_t) const override { return 0; }
  int64_t items() const override { return options_.count; }
  void read(int64_t step, int64_t item, std::span<const Tensor> tensors) const override {
    const int64_t row = step * options_.batch + options_.first + item;
    draw(PhiloxSequence(options_.seed, static_cast<uint64_t>(row)), noise_, item, tensors);
  }

 private:
  double noise_;
  OwnBatches options_;
  std::vector<MinibatchForm> forms_;
};

class Regression final : public OwnDataSet {
 public:
  explicit Regression(const OwnDataRequest& request) : held_out_(request.held_out) {
    check(request.text.starts_with("noise="), "'", request.text, "' should be noise=NUMBER");
    noise_ = std::stod(request.text.substr(6));
  }
  int64_t size() const override { return held_out_ ? 200 : 1'000'000; }
  std::string digest() const override { return join("noise ", noise_); }
  std::vector<MinibatchForm> forms(int64_t count) const override { return form_of_rows(count); }
  void read(int64_t example, int64_t row, std::span<const Tensor> tensors) const override {
    constexpr uint64_t kSeedOfTest = 1'000'003;
    draw(PhiloxSequence(kSeedOfTest, static_cast<uint64_t>(example)), noise_, row, tensors);
  }
  std::unique_ptr<MinibatchSource> minibatches(const OwnBatches& options) const override {
    return std::make_unique<Endless>(noise_, options);
  }

 private:
  bool held_out_;
  double noise_ = 0;
};

// out = tanh(x w1 + b1) w2
void write_network(const std::string& path) {
  constexpr int64_t kHidden = 32;
  const auto random = [](const Dims& dims, uint64_t stream) {
    PhiloxSequence sequence(5, stream);
    std::vector<float> values(static_cast<std::size_t>(element_count(dims)));
    for (float& value : values) value = static_cast<float>(sequence.normal());
    return Literal::of<float>(values, dims);
  };
  TrainingModel model(all_ops());
  Graph& graph = model.inference;
  const Value x = graph.input("x", {DType::float32, {"N", kWidth}});
  const Value product = matmul(graph, x, graph.constant("w1", random({kWidth, kHidden}, 1)));
  const Value hidden = tanh(graph, add(graph, product, graph.constant("b1", random({kHidden}, 2))));
  graph.output(matmul(graph, hidden, graph.constant("w2", random({kHidden, 1}, 3)), "out"));
  save_model(model, path);
}

int main(int argc, char** argv) {
  if (argc == 3 && std::string(argv[1]) == "network") {
    write_network(argv[2]);
    return 0;
  }
  const OwnDataSource regression{
      .name = "own_regression",
      .meaning = "sums of sines, new in every step; DATA.TRAIN and DATA.TEST are noise=NUMBER",
      .open = [](const OwnDataRequest& request) { return std::make_unique<Regression>(request); }};
  return run_command(argc, argv, {regression});
}
