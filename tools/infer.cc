// SPDX-License-Identifier: Apache-2.0
// lockstep infer: looks at pictures with a trained network, and classifies them or finds objects;
// continues texts.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <limits>
#include <nlohmann/json.hpp>

#include "app/config/not_done.h"
#include "app/detection/types.h"
#include "app/predict/infer_command.h"
#include "app/predict/infer_source.h"
#include "app/predict/output_folder.h"
#include "app/predict/picture_classifier.h"
#include "data/formats/formats.h"
#include "data/picture_folder.h"
#include "graph/printable.h"
#include "tools/command.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

void tell_of_folder(const std::string& folder, const PicturesBelow& below) {
  const std::string left_out = below.left_out.text();
  if (below.nested == 0 && left_out.empty()) return;
  std::cerr << "lockstep: " << printable(folder) << ": " << below.pictures.size() << " pictures";
  if (below.nested > 0) std::cerr << ", " << below.nested << " of them in folders below";
  if (!left_out.empty()) std::cerr << "; left out " << printable(left_out);
  std::cerr << "\n";
}

// A folder means all images below it, in order of their names.
std::vector<std::string> files_of(const std::vector<std::string>& named) {
  std::vector<std::string> files;
  for (const std::string& name : named) {
    if (!fs::is_directory(name)) {
      files.push_back(name);
      continue;
    }
    const PicturesBelow below = pictures_below(name);
    const std::string left_out = below.left_out.text();
    check(!below.pictures.empty(), "'", name, "' contains no ", picture_endings("or"), " file",
          left_out.empty() ? "" : "; left out " + left_out);
    tell_of_folder(name, below);
    files.insert(files.end(), below.pictures.begin(), below.pictures.end());
  }
  return files;
}

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

// `others`: options that this kind of network does not read.
void check_given(const InferOptions& options, const std::vector<std::string>& others,
                 const char* kind) {
  for (const std::string& other : others)
    check(std::find(options.given.begin(), options.given.end(), other) == options.given.end(),
          other, " does not apply to ", options.source, ", which is ", kind);
}

// An unreadable image does not stop the others.
int infer(const InferOptions& options) {
  InferSource source = source_of(options);
  if (auto language = language_model_of(source)) {
    check_given(options, {"--top", "--threshold"}, "a language model");
    return continue_texts(std::move(*language), options.source, options);
  }
  const bool detects = source.config && is_detector(*source.config, {});
  const char* const kind = detects ? "a detector" : "a classifier";
  check_given(options, {detects ? "--top" : "--threshold"}, kind);
  check_given(options, {"--length", "--temperature", "--seed"}, kind);
  const std::vector<std::string> files = files_of(options.pictures);
  if (detects) {
    DetectorConfig detector = read_detector_config(*source.config, {});
    refuse_not_done(keys_of(detector), "infer", detector.origins, detector.path);
    return find_in_pictures(std::move(detector), {source.folder, source.weights}, options, files);
  }
  OutputFolder folder(options.out);
  folder.check_replaceable({kPredictions});
  PictureClassifier classifier(classifier_of(source));
  ordered_json all = ordered_json::array();
  int unreadable = 0;
  for (const std::string& file : files) {
    try {
      all.push_back(look_at(classifier, file, static_cast<std::size_t>(options.top)));
    } catch (const Error& error) {
      std::cout << "  unreadable\n" << std::flush;
      std::cerr << "lockstep: " << printable_lines(error.what()) << "\n";
      all.push_back({{"picture", file}, {"error", error.what()}});
      ++unreadable;
    }
  }
  if (folder.exists())
    folder.write(kPredictions,
                 all.dump(1, ' ', false, ordered_json::error_handler_t::replace) + "\n");
  check(unreadable == 0, unreadable, " of ", files.size(), " pictures could not be read");
  return 0;
}

}  // namespace

void add_infer(CLI::App& app, Command& chosen) {
  auto options = std::make_shared<InferOptions>();
  CLI::App* command =
      app.add_subcommand("infer", "classify pictures, find objects in them, or continue texts");
  command
      ->add_option(
          "model", options->source,
          "a model.onnx (a detector's in its run's folder), a run's folder, or CONFIG.yaml for its "
          "newest run")
      ->required();
  command
      ->add_option("pictures", options->pictures,
                   picture_format_names("or") +
                       " files, or folders of them; of a language model, files of text to continue")
      ->required();
  command->add_option("--weights", options->weights,
                      "weights to use instead of the run's checkpoint.safetensors");
  command
      ->add_option("--top", options->top,
                   "number of classes to print for each picture, most likely first")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  command->add_option(
      "--out", options->out,
      "folder to write to: predictions.json with every class's score for each "
      "picture, or each text; of a detector each picture with boxes, as PNG, and its JSON");
  command->add_option("--threshold", options->threshold, "detectors: the least score of an object")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  command->add_option("--length", options->length, "language models: the characters to write")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  command
      ->add_option("--temperature", options->temperature,
                   "language models: below 1, likely characters become likelier; 0: always the "
                   "likeliest")
      ->check(CLI::Range(0.0, 100.0))
      ->capture_default_str();
  command->add_option("--seed", options->seed, "language models: another seed, another text")
      ->check(CLI::Range(int64_t{0}, std::numeric_limits<int64_t>::max()))
      ->capture_default_str();
  command->footer(
      "Example:  lockstep infer runs/latest/model.onnx cat.jpg dog.png --top 3\n"
      "          lockstep infer configs/detection/scenes_faster_rcnn_fpn.yaml photos --out seen\n"
      "          lockstep infer configs/text/docs_lstm.yaml prompt.txt --length 200\n"
      "Pictures are prepared in the same way as the held-out ones in training.");
  command->callback([options, command, &chosen] {
    for (const char* some : {"--top", "--threshold", "--length", "--temperature", "--seed"})
      if (command->count(some) > 0) options->given.emplace_back(some);
    chosen = [options] { return infer(*options); };
  });
}

}  // namespace lockstep
