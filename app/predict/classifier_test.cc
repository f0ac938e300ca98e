// SPDX-License-Identifier: Apache-2.0
// Scores a classifier's weights on the held-out images.
#include <iomanip>
#include <iostream>
#include <nlohmann/json.hpp>

#include "app/classification/task.h"
#include "app/predict/output_folder.h"
#include "app/predict/test_command.h"
#include "app/texts.h"
#include "app/train/own_steps.h"
#include "app/train/weights.h"
#include "graph/printable.h"
#include "operators/all.h"
#include "runtime/state/safetensors.h"

namespace lockstep {
namespace {

constexpr std::size_t kMostRows = 40;  // nobody reads a longer table

void print_classes(const TestResult& result, const Dataset& data) {
  if (static_cast<std::size_t>(data.classes()) > kMostRows) return;
  std::cout << "   right      of  class\n";
  for (int64_t label = 0; label < data.classes(); ++label) {
    const auto& row = result.confusion[label];
    std::cout << std::setw(8) << row[label] << std::setw(8) << total(row) << "  "
              << printable(data.class_name(label)) << "\n";
  }
}

std::string json_of(const TestResult& result, const Dataset& data, const std::string& weights) {
  nlohmann::ordered_json said{{"weights", weights},
                              {"accuracy", result.accuracy},
                              {"loss", result.loss},
                              {"pictures", result.pictures}};
  if (!result.left_out.empty()) said["left_out"] = result.left_out;
  for (int64_t label = 0; label < data.classes(); ++label) {
    const auto& row = result.confusion[label];
    said["classes"].push_back(
        {{"name", data.class_name(label)}, {"right", row[label]}, {"of", total(row)}});
  }
  said["confusion"] = result.confusion;
  return said.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace

int test_classifier(const TestOptions& options, const ConfigFiles& files,
                    const std::vector<std::string>& words, Comm* comm) {
  Origins origins;
  const ClassificationConfig config = read_config(files, words, comm ? comm->size() : 1, origins);
  OutputFolder folder(options.out);
  folder.check_replaceable({kScores});
  ClassificationTask task(config);
  const std::vector<TrainingModel> steps = own_steps(task, comm);
  const std::string weights = weights_for(
      {.config = options.config,
       .series = config.output_dir,
       .given = options.weights,
       .other_network = [&](const std::string& file) { return other_network(steps[0], file); },
       .says = !comm || comm->rank() == 0});
  Session session(steps[0], all_devices(config.run), all_kernels(),
                  session_options(config, config.run.threads, comm));
  const auto said = load_weights(session, {.path = weights, .whole = true});
  HeldOut held_out(config, session);
  const TestResult result = held_out.test();
  if (comm && comm->rank() > 0) return 0;
  std::cout << "held-out accuracy " << fixed(100 * result.accuracy, 2) << " % (" << result.hits
            << " of " << result.pictures << "), loss " << fixed(result.loss, 4) << ", weights "
            << weights << "\n";
  for (const std::string& line : said)
    if (line.find(unchecked_line(weights)) != line.npos) std::cout << line << "\n";
  for (const std::string& why : result.left_out)
    std::cout << "left out: " << printable_lines(why) << "\n";
  if (const std::string files = held_out.data().left_out(); !files.empty())
    std::cout << printable_lines(files) << "\n";
  print_classes(result, held_out.data());
  if (!folder.exists()) return 0;
  folder.write(kScores, json_of(result, held_out.data(), weights));
  return 0;
}

}  // namespace lockstep
