// SPDX-License-Identifier: Apache-2.0
// One of everything: each public header, and a use of what it declares.
#include <iostream>
#include <string>
#include <vector>

#include <lockstep/all_reduce.h>
#include <lockstep/attributes.h>
#include <lockstep/checkpoint.h>
#include <lockstep/command.h>
#include <lockstep/data_parallel.h>
#include <lockstep/device.h>
#include <lockstep/episodes.h>
#include <lockstep/error.h>
#include <lockstep/feeds.h>
#include <lockstep/graph.h>
#include <lockstep/imported.h>
#include <lockstep/kernel.h>
#include <lockstep/layers.h>
#include <lockstep/loader.h>
#include <lockstep/losses.h>
#include <lockstep/model_files.h>
#include <lockstep/models.h>
#include <lockstep/net.h>
#include <lockstep/op.h>
#include <lockstep/operators.h>
#include <lockstep/optimizers.h>
#include <lockstep/processes.h>
#include <lockstep/random.h>
#include <lockstep/resident.h>
#include <lockstep/results.h>
#include <lockstep/session.h>
#include <lockstep/session_options.h>
#include <lockstep/tensor.h>
#include <lockstep/text.h>
#include <lockstep/training_model.h>
#include <lockstep/types.h>

using namespace lockstep;

// A batch of rows that a loader reads ahead.
class Numbers final : public MinibatchSource {
 public:
  const std::vector<MinibatchForm>& forms() const override { return forms_; }
  std::size_t form(int64_t) const override { return 0; }
  int64_t items() const override { return 4; }
  void read(int64_t step, int64_t item, std::span<const Tensor> tensors) const override {
    PhiloxSequence random(1, static_cast<uint64_t>(step));
    tensors[0].as<float>()[item] = static_cast<float>(random.uniform());
  }

 private:
  std::vector<MinibatchForm> forms_{{{"data", {DType::float32, {4, 1}}}}};
};

int main() try {
  Numbers numbers;
  Loader loader(numbers, 1);
  check(loader.get(0).size() == 1, "a minibatch of one tensor");
  const std::vector<TextRange> ranges = split_text(12'000).training;
  check(!ranges.empty() && !scored_rows(ranges, 64).empty(), "text is split");
  check(!AskedTensor{"data"}.dims, "a tensor of any dimensions");
  check(environment_named("cart_pole").actions == 2, "two actions");

  const std::vector<Device> devices = parse_devices("cpu*2");
  DataParallelOptions options = replicas_on(devices);
  options.all_reduce.spec = parse_all_reduce("xring#2");
  options.all_reduce.packing = parse_packing("ready:1M:25M");
  options.resident.rows = {"data", "label"};
  options.resident.limits = {.minibatch = 2, .capacity = 4};
  const Optimizer optimizers[] = {MomentumSgd{}, Nesterov{}, Adam{}, AdamW{}, RmsProp{},
                                  Adagrad{},     Lars{},     Lamb{}, Lion{}};
  const ModelFn network = mlp({.image = {1, 4, 4}, .classes = 3, .hidden = {5}});
  for (const Optimizer& optimizer : optimizers) {
    const TrainingModel model = build_data_parallel_model(all_ops(), network, optimizer, options);
    Session session(model, devices, all_kernels(), {.seed = 1});
    session.initialise();
    std::vector<float> images(8 * 16, 0.5F);
    std::vector<int64_t> labels{0, 1, 2, 0, 1, 2, 0, 1};
    ResidentBatch batch(session);
    const ResidentLoad& load =
        batch.load({{"data", {{DType::float32, {8, 1, 4, 4}}, images.data()}},
                    {"label", {{DType::int64, {8}}, labels.data()}}});
    batch.feeds().set(Role::rate, learning_rate(LrSchedule{}, 0));
    check(batch.sweep({.epochs = 1}) == 2, text_of(load));
    save_checkpoint(session, "everything.safetensors", {});
    check(!session.read("cpu_0/fc1_w").bytes().empty(), "a state has a value");
    save_model(model, "everything.onnx");
  }

  // A step made of the file of another, by one process of two.
  auto file = std::make_shared<LoadedModel>(load_model(all_ops(), "everything.onnx"));
  const ModelFn again = imported_model(file, "", {});
  const TrainingModel forward = build_data_parallel_model(
      all_ops(), again, MomentumSgd{}, {.replicas = 2, .scope = "cpu", .forward_only = true});
  check(partition(forward, {.rank = 1, .processes = 2}).replicas == 1, "a process has a replica");
  check(join_world({}) == nullptr, "a world of one process");
  const Layout blocks = Layout::blocks(16);
  const TensorDesc desc{DType::bfloat16, {2, 16, 3, 3}, blocks};
  std::cout << text_of(desc) << ", " << text_of(forward).size() << " characters of a model\n";
  return 0;
} catch (const Unsupported& error) {
  std::cerr << "not supported: " << error.what() << "\n";
  return 1;
}
