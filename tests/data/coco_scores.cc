// SPDX-License-Identifier: Apache-2.0
// For tests/python/check_coco.py.
//   coco_scores FOLDER COUNT   scores FOLDER/N.results.json by FOLDER/N.truth.json, N from 0, into
//                              FOLDER/N.scores: float64 of COCO's 12 numbers, precision, recall,
//                              and recall of the same boxes as 100 proposals by area
//   coco_scores --time TRUTH [RESULTS]   prints seconds of reading and scoring, and peak memory
#include <chrono>
#include <fstream>
#include <iostream>
#include <thread>

#include "data/coco/evaluation.h"
#include "data/coco/read_annotations.h"
#include "graph/file.h"
#include "tests/support/tool_main.h"

namespace lockstep {
namespace {

void append(std::vector<double>& to, const CocoNumbers& n) {
  to.insert(to.end(), {n.ap, n.ap50, n.ap75, n.ap_small, n.ap_medium, n.ap_large, n.ar1, n.ar10,
                       n.ar100, n.ar_small, n.ar_medium, n.ar_large});
}

void score(const std::string& stem, int threads) {
  const Annotations truth = read_annotations(stem + ".truth.json");
  const std::vector<Detection> found = read_results(stem + ".results.json", truth);
  const CocoScores scores = evaluate_boxes(truth, found, threads);
  std::vector<double> numbers;
  append(numbers, scores.numbers());
  numbers.insert(numbers.end(), scores.precision.begin(), scores.precision.end());
  numbers.insert(numbers.end(), scores.recall.begin(), scores.recall.end());
  const ProposalRecall recall = evaluate_proposals(truth, found, 100, threads);
  numbers.insert(numbers.end(), recall.average.begin(), recall.average.end());
  write_file(stem + ".scores",
             [&](const FileSink& sink) { sink(std::as_bytes(std::span(numbers))); });
}

double seconds_of(const auto& work) {
  const auto began = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

// The peak memory of this program alone. getrusage() would include the parent program.
std::string peak_memory() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.rfind("VmHWM:", 0) == 0) return line.substr(line.find_first_not_of(" \t", 6));
  return "unknown";
}

void time_reading(const std::string& truth_path, const std::string& results_path) {
  Annotations truth;
  const double reading = seconds_of([&] { truth = read_annotations(truth_path); });
  std::cout << "read " << truth.images.size() << " images, " << truth.objects.size()
            << " objects: " << reading << " s, at most " << peak_memory() << "\n";
  if (results_path.empty()) return;
  std::vector<Detection> found;
  std::cout << "results: " << seconds_of([&] { found = read_results(results_path, truth); })
            << " s\n";
  const auto threads = static_cast<int>(std::thread::hardware_concurrency());
  for (int count : {1, threads})
    std::cout << found.size() << " scored on " << count
              << " threads: " << seconds_of([&] { evaluate_boxes(truth, found, count); }) << " s\n";
}

int run(const std::vector<std::string>& words) {
  if (words.size() >= 2 && words[0] == "--time") {
    time_reading(words[1], words.size() > 2 ? words[2] : "");
    return 0;
  }
  check(words.size() == 2, "coco_scores FOLDER COUNT | --time TRUTH [RESULTS]");
  for (int n = 0; n < std::stoi(words[1]); ++n) score(join(words[0], "/", n), 1 + n % 3);
  return 0;
}

}  // namespace
}  // namespace lockstep

int main(int count, char** words) {
  return lockstep::testing::tool_main(count, words, lockstep::run);
}
