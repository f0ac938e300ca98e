// SPDX-License-Identifier: Apache-2.0
#include "app/text/infer.h"

#include <iostream>

#include "app/predict/output_folder.h"
#include "app/record/json_text.h"
#include "app/text/network.h"
#include "app/text/sampler.h"
#include "graph/printable.h"
#include "lockstep/operators.h"
#include "lockstep/text.h"
#include "runtime/exec/executor.h"
#include "runtime/exec/states.h"
#include "runtime/exec/workers.h"
#include "runtime/plan/compile.h"
#include "runtime/threads/cores.h"

namespace lockstep {
namespace {

using nlohmann::ordered_json;

// The network with its values, on one CPU replica.
class TextWriter {
 public:
  TextWriter(TrainingModel network, const std::string& path)
      : network_(std::move(network)),
        vocabulary_(vocabulary_of(network_, path)),
        no_state_({}, {}),
        workers_(1, cpu_cores()),
        sampler_(
            network_.inference, fed(), vocabulary_,
            [this](std::span<const Tensor> feeds) { return run(feeds); }, path) {}

  std::string after(const std::string& file, const SampleOptions& options) {
    const JoinedText prompt({file});
    vocabulary_.encode(prompt);  // throws with the position of an unknown character
    return sampler_.after(prompt.bytes(), options);
  }

 private:
  static std::string vocabulary_of(const TrainingModel& network, const std::string& path) {
    std::string bytes = vocabulary_in(network, path);
    check(!bytes.empty(), path, ": the metadata lacks 'lockstep.vocabulary'");
    return bytes;
  }

  std::vector<std::string> fed() const {
    std::vector<std::string> names;
    for (Value input : network_.inference.inputs())
      if (!network_.inference.literal(input)) names.push_back(network_.inference.name(input));
    return names;
  }

  std::span<const Tensor> run(std::span<const Tensor> feeds) {
    if (!executor_) {
      CompileRequest request{.graph = network_.inference,
                             .feeds = fed(),
                             .feed_dims = {},
                             .fetches = {},
                             .states = {},
                             .updates = {},
                             .devices = cpu_devices(1),
                             .kernels = all_kernels(),
                             .options = {.threads = cpu_cores()}};
      for (const Tensor& feed : feeds) request.feed_dims.push_back(feed.desc.dims);
      for (Value output : network_.inference.outputs())
        request.fetches.push_back(network_.inference.name(output));
      executor_ = make_executor(compile(request), no_state_, workers_);
    }
    executor_->run(feeds, {});
    return executor_->fetches();
  }

  TrainingModel network_;
  Vocabulary vocabulary_;
  States no_state_;
  Workers workers_;
  std::unique_ptr<Executor> executor_;
  TextSampler sampler_;
};

}  // namespace

int continue_texts(TrainingModel network, const std::string& path, const InferOptions& options) {
  OutputFolder folder(options.out);
  folder.check_replaceable({kPredictions});
  TextWriter writer(std::move(network), path);
  const std::vector<std::string> files = text_files_named(options.files, "");
  ordered_json all = ordered_json::array();
  int unreadable = 0;
  for (const std::string& file : files) {
    if (files.size() > 1) std::cout << "== " << printable(file) << "\n";
    try {
      const std::string text = writer.after(
          file,
          {.length = options.length, .temperature = options.temperature, .seed = options.seed});
      std::cout << printable_lines(text) << "\n" << std::flush;
      all.push_back({{"prompt", file}, {"text", text}});
    } catch (const Error& error) {
      std::cerr << "lockstep: " << printable_lines(error.what()) << "\n";
      all.push_back({{"prompt", file}, {"error", error.what()}});
      ++unreadable;
    }
  }
  if (folder.exists()) folder.write(kPredictions, json_text(all));
  check(unreadable == 0, unreadable, " of ", files.size(), " texts could not be continued");
  return 0;
}

}  // namespace lockstep
