// SPDX-License-Identifier: Apache-2.0
// Scores a language model's weights on the held-out text.
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "app/predict/output_folder.h"
#include "app/predict/test_command.h"
#include "app/text/network.h"
#include "app/text/task.h"
#include "app/texts.h"
#include "app/train/own_steps.h"
#include "app/train/run_folder.h"
#include "app/train/weights.h"
#include "operators/all.h"
#include "runtime/state/safetensors.h"

namespace lockstep {
namespace {

// That of the run whose weights they are: the text may have changed since.
std::string vocabulary_of(const std::string& weights) {
  const std::string step = step_in(std::filesystem::path(weights).parent_path().string());
  if (!std::filesystem::exists(step)) return "";
  return vocabulary_in(load_model(all_ops(), step).model, step);
}

// Each run has a vocabulary of its own, which decides the sizes of its parameters.
std::string other_model(const TextConfig& config, const std::string& weights) {
  const auto characters = static_cast<int64_t>(vocabulary_of(weights).size());
  return characters == 0 ? "" : other_network(build_language_step(config, characters), weights);
}

}  // namespace

int test_language_model(const TestOptions& options, const ConfigFiles& files,
                        const std::vector<std::string>& words, Comm* comm) {
  Origins origins;
  const TextConfig config = read_text_config(files, words, comm ? comm->size() : 1, origins);
  OutputFolder folder(options.out);
  folder.check_replaceable({kScores});
  const std::string weights = weights_for(
      {.config = options.config,
       .series = config.output_dir,
       .given = options.weights,
       .other_network = [&](const std::string& file) { return other_model(config, file); },
       .says = !comm || comm->rank() == 0});
  TextTask task(config, vocabulary_of(weights));
  const std::vector<TrainingModel> steps = own_steps(task, comm);
  Session session(steps[0], all_devices(config.run), all_kernels(),
                  session_options(config, config.run.threads, comm));
  const auto said = load_weights(session, {.path = weights, .whole = true});
  HeldOutText held_out(task.corpus(), config.network.length, session);
  const TextScore score = held_out.test();
  if (comm && comm->rank() > 0) return 0;
  std::cout << "held out " << fixed(score.bits_per_character(), 3) << " bits per character, loss "
            << fixed(score.loss, 4) << ", perplexity " << fixed(score.perplexity(), 3) << ", "
            << score.characters << " characters, weights " << weights << "\n";
  for (const std::string& line : said)
    if (line.find(unchecked_line(weights)) != line.npos) std::cout << line << "\n";
  if (!folder.exists()) return 0;
  const nlohmann::ordered_json scores{{"weights", weights},
                                      {"bits_per_character", score.bits_per_character()},
                                      {"loss", score.loss},
                                      {"perplexity", score.perplexity()},
                                      {"characters", score.characters}};
  folder.write(kScores,
               scores.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
  return 0;
}

}  // namespace lockstep
