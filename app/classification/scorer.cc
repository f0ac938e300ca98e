// SPDX-License-Identifier: Apache-2.0
#include "app/classification/scorer.h"

#include <iomanip>
#include <iostream>

#include "app/classification/task.h"
#include "app/format.h"
#include "app/predict/task_scorer.h"
#include "app/record/json_text.h"
#include "graph/printable.h"

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
  return json_text(said);
}

class ClassifierScorer final : public TaskScorer<ClassificationConfig, ClassificationTask> {
 public:
  using TaskScorer::TaskScorer;
  std::string score(const Scoring& with) override;
};

std::string ClassifierScorer::score(const Scoring& with) {
  HeldOut held_out(config(), with.session);
  const TestResult result = held_out.test();
  if (!with.leads) return "";
  std::cout << "held-out accuracy " << fixed(100 * result.accuracy, 2) << " % (" << result.hits
            << " of " << result.pictures << "), loss " << fixed(result.loss, 4) << ", weights "
            << with.weights << "\n";
  with.print_remarks();
  for (const std::string& why : result.left_out)
    std::cout << "left out: " << printable_lines(why) << "\n";
  if (const std::string files = held_out.data().left_out(); !files.empty())
    std::cout << printable_lines(files) << "\n";
  print_classes(result, held_out.data());
  return json_of(result, held_out.data(), with.weights);
}

}  // namespace

std::unique_ptr<Scorer> classifier_scorer(ClassificationConfig config) {
  return std::make_unique<ClassifierScorer>(std::move(config));
}

}  // namespace lockstep
