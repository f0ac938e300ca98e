// SPDX-License-Identifier: Apache-2.0
// lockstep infer: classifies pictures, finds objects in them, or continues texts, with a trained
// network.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <limits>

#include "app/task_kind.h"
#include "data/formats/formats.h"
#include "lockstep/error.h"
#include "tools/command.h"

namespace lockstep {
namespace {

int infer(const InferOptions& options) {
  InferSource source = source_of(options);
  const TaskKind& kind = *source.kind;
  for (const std::string& given : options.given)
    check(std::find(kind.infer_options.begin(), kind.infer_options.end(), given) !=
              kind.infer_options.end(),
          given, " does not apply to ", options.source, ", which is ", kind.network);
  return kind.infer(std::move(source), options);
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
      ->add_option("pictures", options->files,
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
  command
      ->add_option("--threshold", options->threshold, "detectors: the smallest score of an object")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  command->add_option("--length", options->length, "language models: number of characters to write")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  command
      ->add_option("--temperature", options->temperature,
                   "language models: below 1, likely characters become likelier; 0: always the "
                   "likeliest")
      ->check(CLI::Range(0.0, 100.0))
      ->capture_default_str();
  command->add_option("--seed", options->seed, "language models: seed of the random draws")
      ->check(CLI::Range(int64_t{0}, std::numeric_limits<int64_t>::max()))
      ->capture_default_str();
  command->footer(
      "Example:  lockstep infer runs/latest/model.onnx cat.jpg dog.png --top 3\n"
      "          lockstep infer configs/detection/scenes_faster_rcnn_fpn.yaml photos --out seen\n"
      "          lockstep infer configs/text/docs_lstm.yaml prompt.txt --length 200\n"
      "Pictures are prepared like the held-out pictures in training.");
  command->callback([options, command, &chosen] {
    for (const TaskKind& kind : task_kinds())
      for (const std::string& some : kind.infer_options)
        if (command->count(some) > 0) options->given.push_back(some);
    // A range check lets NaN pass.
    check(!std::isnan(options->threshold), "--threshold is nan, should be from 0 to 1");
    check(!std::isnan(options->temperature), "--temperature is nan, should be from 0 to 100");
    chosen = [options] { return infer(*options); };
  });
}

}  // namespace lockstep
