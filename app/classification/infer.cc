// SPDX-License-Identifier: Apache-2.0
#include "app/classification/infer.h"

#include <algorithm>
#include <cstdio>
#include <iostream>

#include "app/classification/picture_classifier.h"
#include "app/predict/output_folder.h"
#include "app/record/json_text.h"
#include "graph/printable.h"

namespace lockstep {
namespace {

using nlohmann::ordered_json;

std::string per_cent(float confidence) {
  char text[16];
  std::snprintf(text, sizeof text, "%.1f %%", 100 * static_cast<double>(confidence));
  return text;
}

ordered_json look_at(PictureClassifier& classifier, const std::string& file, std::size_t top) {
  ordered_json said{{"picture", file}};
  std::cout << printable(file);
  const auto guesses = classifier.classify(file);
  for (std::size_t i = 0; i < std::min(top, guesses.size()); ++i) {
    const auto& [name, confidence] = guesses[i];
    std::cout << (i == 0 ? "  " : ", ") << printable(name) << " " << per_cent(confidence);
    if (i == 0) said.update({{"class", name}, {"confidence", confidence}});
  }
  std::cout << "\n";
  for (const auto& [name, confidence] : guesses) said["scores"][name] = confidence;
  return said;
}

}  // namespace

int classify_pictures(TrainedClassifier network, const InferOptions& options) {
  const std::vector<std::string> files = pictures_named(options.files);
  OutputFolder folder(options.out);
  folder.check_replaceable({kPredictions});
  PictureClassifier classifier(std::move(network));
  ordered_json all = ordered_json::array();
  int unreadable = 0;
  for (const std::string& file : files) {
    try {
      all.push_back(look_at(classifier, file, options.top));
    } catch (const Error& error) {
      std::cout << "  unreadable\n" << std::flush;
      std::cerr << "lockstep: " << printable_lines(error.what()) << "\n";
      all.push_back({{"picture", file}, {"error", error.what()}});
      ++unreadable;
    }
  }
  if (folder.exists()) folder.write(kPredictions, json_text(all));
  check(unreadable == 0, unreadable, " of ", files.size(), " pictures could not be read");
  return 0;
}

}  // namespace lockstep
