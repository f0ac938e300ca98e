// SPDX-License-Identifier: Apache-2.0
#include "app/predict/score.h"

#include <filesystem>
#include <iostream>

#include "app/task_kind.h"
#include "app/train/chosen_run.h"
#include "app/train/run_folder.h"
#include "app/train/run_place.h"
#include "app/train/weights.h"
#include "graph/printable.h"
#include "lockstep/checkpoint.h"
#include "lockstep/error.h"
#include "lockstep/operators.h"
#include "lockstep/processes.h"

namespace lockstep {
namespace {

// The checkpoint of the newest run that fits. Throws if no run fits, with the reason of each.
std::string newest_checkpoint(Scorer& scorer, const std::string& config, bool says) {
  const std::string series = scorer.series();
  const ChosenRun chosen = choose_run(series, [&](const std::string& folder) {
    const std::string why = lacks_checkpoint(folder);
    return why.empty() ? scorer.other_network(last_checkpoint_in(folder)) : why;
  });
  check(!chosen.folder.empty() || !chosen.passed_over.empty(), config, ": there is no run in '",
        series, "' yet; `lockstep train ", config,
        "` starts one, and --weights FILE selects other weights");
  check(!chosen.folder.empty(), config, ": no run of '", series,
        "' fits; --weights FILE selects other weights:", reasons_of(chosen));
  if (const std::string said = text_of(chosen); says && !said.empty()) say_on_terminal(said);
  const std::string checkpoint = checkpoint_in(chosen.folder);
  check(std::filesystem::exists(checkpoint), "'", chosen.folder,
        "' contains no checkpoint.safetensors",
        offer_of_previous(chosen.folder, join("use it with:  lockstep test ", shell_word(config),
                                              " --weights ", shell_word(previous_of(checkpoint)))),
        "; --weights FILE selects other weights");
  return checkpoint;
}

std::string weights_for(Scorer& scorer, const ScoreOptions& options, bool says) {
  std::string weights = options.weights.empty() ? scorer.named_weights() : options.weights;
  if (weights.empty()) weights = newest_checkpoint(scorer, options.config, says);
  check_weights(weights);
  return weights;
}

}  // namespace

void Scoring::print_remarks() const {
  for (const std::string& remark : remarks) std::cout << remark << "\n";
}

int score(const ScoreOptions& options, const ConfigFiles& files,
          const std::vector<std::string>& words, Comm* comm) {
  const bool leads = !comm || comm->rank() == 0;
  const auto scorer = task_kind_of(files, words).scorer({files, words, comm ? comm->size() : 1});
  scorer->prepare(comm);
  const std::string weights = weights_for(*scorer, options, leads);
  const std::string folder = options.out.empty() ? scorer->usual_folder() : options.out;
  scorer->check_keeps_inputs(weights, folder);
  OutputFolder results(folder);
  // Only this command writes to the usual folder.
  if (!options.out.empty()) results.check_replaceable(scorer->names_in(folder));
  const TrainSettings& settings = scorer->settings();
  Session session(scorer->step(weights), all_devices(settings.run), all_kernels(),
                  session_options(settings, settings.run.threads, comm));
  const auto report = load_weights(session, scorer->trained_weights(weights));
  const std::string scores = scorer->score({session, weights, report.unchecked, leads, results});
  if (leads && results.exists()) results.write(kScores, scores);
  return scorer->as_expected() ? 0 : 1;
}

}  // namespace lockstep
