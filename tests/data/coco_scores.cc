// SPDX-License-Identifier: Apache-2.0
// For tests/python/check_coco.py.
//   coco_scores KIND FOLDER COUNT
//       scores FOLDER/N.results.json by FOLDER/N.truth.json, N from 0, into FOLDER/N.scores:
//       float64 of COCO's numbers, precision and recall. KIND is boxes, masks or keypoints. Of
//       boxes also the recall of the same boxes as 100 proposals by area; keypoints have the sigmas
//       of FOLDER/N.sigmas, float64. FOLDER/N.again.json gets the results once more.
//   coco_scores --time TRUTH [RESULTS]   prints seconds of reading and scoring, and peak memory
#include <chrono>
#include <cstring>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <thread>

#include "data/coco/evaluation.h"
#include "data/coco/read_annotations.h"
#include "graph/file.h"
#include "tests/support/tool_main.h"

namespace lockstep {
namespace {

struct ScoredSet {
  std::string stem;
  Annotations truth;
  std::vector<Detection> found;
  FoundShapes shapes;
  int threads;

  std::string again() const { return stem + ".again.json"; }
};

void append(std::vector<double>& to, const CocoScores& scores) {
  for (const auto& [name, number] : scores.named_numbers()) to.push_back(number);
  to.insert(to.end(), scores.precision.begin(), scores.precision.end());
  to.insert(to.end(), scores.recall.begin(), scores.recall.end());
}

void score_boxes(const ScoredSet& set, std::vector<double>& numbers) {
  append(numbers, evaluate_boxes(set.truth, set.found, set.threads));
  for (const bool by_class : {false, true}) {
    const ProposalRecall recall =
        evaluate_proposals(set.truth, set.found, 100, set.threads, by_class);
    numbers.insert(numbers.end(), recall.average.begin(), recall.average.end());
  }
  write_results(set.again(), set.truth, set.found);
}

void score_masks(const ScoredSet& set, std::vector<double>& numbers) {
  append(numbers, evaluate_masks(set.truth, set.found, set.shapes.masks, set.threads));
  write_masks(set.again(), set.truth, set.found, set.shapes.masks);
}

void score_keypoints(const ScoredSet& set, std::vector<double>& numbers) {
  const std::string bytes = read_file(set.stem + ".sigmas");
  std::vector<double> sigmas(bytes.size() / sizeof(double));
  std::memcpy(sigmas.data(), bytes.data(), bytes.size());
  append(numbers,
         evaluate_keypoints(set.truth, set.found, set.shapes.keypoints, sigmas, set.threads));
  write_keypoints(set.again(), set.truth, set.found, set.shapes.keypoints);
}

using Score = void (*)(const ScoredSet& set, std::vector<double>& numbers);
const std::map<std::string, Score> kKinds{
    {"boxes", score_boxes}, {"masks", score_masks}, {"keypoints", score_keypoints}};

void score(Score kind, const std::string& stem, int threads) {
  ScoredSet set{stem, read_annotations(stem + ".truth.json"), {}, {}, threads};
  set.found = read_results(stem + ".results.json", set.truth, set.shapes);
  std::vector<double> numbers;
  kind(set, numbers);
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
  FoundShapes shapes;
  std::cout << "results: " << seconds_of([&] { found = read_results(results_path, truth, shapes); })
            << " s\n";
  const auto threads = static_cast<int>(std::thread::hardware_concurrency());
  for (int count : {1, threads}) {
    std::cout << found.size() << " scored on " << count
              << " threads: " << seconds_of([&] { evaluate_boxes(truth, found, count); }) << " s\n";
    if (!shapes.masks.empty())
      std::cout << "their masks: "
                << seconds_of([&] { evaluate_masks(truth, found, shapes.masks, count); }) << " s\n";
  }
}

int run(const std::vector<std::string>& words) {
  if (words.size() >= 2 && words[0] == "--time") {
    time_reading(words[1], words.size() > 2 ? words[2] : "");
    return 0;
  }
  check(words.size() == 3 && kKinds.contains(words[0]),
        "coco_scores boxes|masks|keypoints FOLDER COUNT | --time TRUTH [RESULTS]");
  for (int n = 0; n < std::stoi(words[2]); ++n)
    score(kKinds.at(words[0]), join(words[1], "/", n), 1 + n % 3);
  return 0;
}

}  // namespace
}  // namespace lockstep

int main(int count, char** words) {
  return lockstep::testing::tool_main(count, words, lockstep::run);
}
