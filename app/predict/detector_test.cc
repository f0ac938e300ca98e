// SPDX-License-Identifier: Apache-2.0
// Scores a detector's weights on each data set of TEST.DATASETS, and writes what it has found.
#include <algorithm>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <nlohmann/json.hpp>

#include "app/config/not_done.h"
#include "app/detection/data_sets.h"
#include "app/detection/fed_proposals.h"
#include "app/detection/network.h"
#include "app/detection/task.h"
#include "app/detection/test_report.h"
#include "app/predict/output_folder.h"
#include "app/predict/test_command.h"
#include "app/texts.h"
#include "app/train/agreement.h"
#include "app/train/weights.h"
#include "app/written_files.h"
#include "builders/step/partition.h"
#include "graph/listed.h"
#include "graph/printable.h"
#include "operators/all.h"
#include "runtime/dist/agree.h"
#include "runtime/state/safetensors.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr std::size_t kMostClassesSaid = 100;  // of classes, on the terminal

std::string number_text(double number) { return number < 0 ? "-" : fixed(number, 3); }

void print_classes(const CocoScores& scores, const Annotations& table) {
  if (table.categories.size() > kMostClassesSaid) return;
  std::cout << "      AP    AP50  class\n";
  for (std::size_t i = 0; i < table.categories.size(); ++i)
    std::cout << std::setw(8) << number_text(scores.average_precision(0, i)) << std::setw(8)
              << number_text(scores.average_precision_at(0, i)) << "  "
              << printable(table.categories[i].name) << "\n";
}

ordered_json json_of(const BoxTestResult& result, const Annotations& table) {
  ordered_json said{{"pictures", table.images.size() - result.left_out.size()}};
  if (!result.left_out.empty()) said["left_out"] = result.left_out_texts();
  for (const auto& [name, number] : numbers_of(result)) said[name] = number;
  if (!result.scores) return said;
  for (std::size_t i = 0; i < table.categories.size(); ++i)
    said["classes"].push_back({{"name", table.categories[i].name},
                               {"ap", result.scores->average_precision(0, i)},
                               {"ap50", result.scores->average_precision_at(0, i)}});
  return said;
}

// The step of any size will do: prediction has graphs of its own over the same states.
TrainingModel own_model(DetectorConfig& config, Comm* comm) {
  const PictureSize size{config.network.shape.height, config.network.shape.width};
  if (!comm) return detector_step(config, size);
  check_agreement(*comm, to_be_agreed_on(keys_of(config)));
  return partition(detector_step(config, size, comm->size()), {comm->rank(), comm->size()});
}

std::string default_folder(const DetectorConfig& config) {
  return join(config.output_dir, "/test/", listed(config.test.data.datasets, "+"), "/",
              config.network.model.type);
}

std::string name_in_folder(const std::string& path) { return fs::path(path).filename().string(); }

// In the folder that results go to.
std::vector<std::string> names_written(const DetectorConfig& config, const std::string& folder) {
  std::vector<std::string> names{kScores};
  for (const std::string& set : config.test.data.datasets)
    names.push_back(name_in_folder(found_path(folder, set, config.network.model.rpn_only)));
  return names;
}

// No result takes the place of what it is made from.
void check_keeps_inputs(const DetectorConfig& config, const ConfigFiles& files,
                        const std::string& weights, const std::string& folder) {
  const DetectionData& data = config.test.data;
  std::vector<std::string> written;
  for (const std::string& name : names_written(config, folder))
    written.push_back(folder + "/" + name);
  std::vector<std::string> kept = annotation_files(config, data.datasets);
  kept.insert(kept.end(), data.proposal_files.begin(), data.proposal_files.end());
  for (const ConfigFile& file : files) kept.push_back(file.path);
  kept.push_back(weights);
  check_kept(written, kept, "--out");
}

}  // namespace

int test_detector(const TestOptions& options, const ConfigFiles& files,
                  const std::vector<std::string>& words, Comm* comm) {
  DetectorConfig config = read_detector_config(files, words, comm ? comm->size() : 1);
  refuse_not_done(keys_of(config), "test", config.origins, config.path);
  const bool leads = !comm || comm->rank() == 0;
  const std::string folder = options.out.empty() ? default_folder(config) : options.out;
  check_sets_named(config, "TEST.DATASETS", config.test.data.datasets);
  check(!config.network.model.rpn_only || config.test.data.datasets.size() == 1,
        "TEST.DATASETS names ", config.test.data.datasets.size(),
        " sets, but proposals of one are written at a time");
  const TrainingModel model = own_model(config, comm);
  const std::string weights = weights_for(
      {.config = options.config,
       .series = series_of(config),
       .given = options.weights.empty() ? config.test.data.weights : options.weights,
       .other_network = [&](const std::string& file) { return other_network(model, file); },
       .says = leads});
  check_keeps_inputs(config, files, weights, folder);
  OutputFolder results(folder);
  // A folder below OUTPUT_DIR is the command's own.
  if (!options.out.empty()) results.check_replaceable(names_written(config, folder));
  Session session(model, all_devices(config.run), all_kernels(),
                  session_options(config, config.run.threads, comm));
  const auto said = load_weights(session, {.path = weights, .whole = true});
  if (leads) {
    std::cout << "weights " << weights << "\n";
    for (const std::string& line : said)
      if (line.find(unchecked_line(weights)) != line.npos) std::cout << line << "\n";
  }
  ordered_json all{{"weights", weights}};
  for (const std::string& set : config.test.data.datasets) {
    const auto pictures = open_pictures(config, {set}, "TEST.DATASETS");
    BoxTest test(config, session, *pictures, proposals_for_testing(config, {set}));
    const BoxTestResult result = test.test();
    if (!leads) continue;
    const Annotations& table = pictures->annotations();
    const std::string written = write_found(folder, set, table, result);
    results.list(name_in_folder(written));
    const HeldOutLine line = line_of(result);
    std::cout << set << "  " << line.headline << "  " << line.detail << "  "
              << table.images.size() - result.left_out.size() << " pictures -> " << written << "\n";
    for (const std::string& why : result.left_out_texts())
      std::cout << "left out: " << printable_lines(why) << "\n";
    if (result.scores) print_classes(*result.scores, table);
    all["sets"][set] = json_of(result, table);
  }
  if (leads)
    results.write(kScores, all.dump(1, ' ', false, ordered_json::error_handler_t::replace) + "\n");
  return 0;
}

}  // namespace lockstep
