// SPDX-License-Identifier: Apache-2.0
// Scores a policy on fresh episodes, in which it takes the likeliest action.
#include <iostream>
#include <nlohmann/json.hpp>

#include "app/control/control_task.h"
#include "app/control/played.h"
#include "app/predict/output_folder.h"
#include "app/predict/test_command.h"
#include "app/texts.h"
#include "app/train/own_steps.h"
#include "app/train/weights.h"
#include "operators/all.h"
#include "runtime/state/safetensors.h"

namespace lockstep {

int test_control(const TestOptions& options, const ConfigFiles& files,
                 const std::vector<std::string>& words, Comm* comm) {
  Origins origins;
  const ControlConfig config = read_control_config(files, words, comm ? comm->size() : 1, origins);
  OutputFolder folder(options.out);
  folder.check_replaceable({kScores});
  ControlTask task(config);
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
  const GreedyResult result = ControlTest(config, session).play();
  if (comm && comm->rank() > 0) return 0;
  const EpisodeMeans means = means_of(result.episodes);
  std::cout << "mean return " << fixed(means.sum, 2) << " over " << result.episodes.size()
            << " episodes, from " << short_number(means.least) << " to " << short_number(means.most)
            << ", weights " << weights << "\n";
  for (const std::string& line : said)
    if (line.find(unchecked_line(weights)) != line.npos) std::cout << line << "\n";
  if (!folder.exists()) return 0;
  nlohmann::ordered_json json{{"weights", weights},
                              {"environment", config.environment},
                              {"mean_return", means.sum},
                              {"episode_length", means.steps}};
  for (const Episode& episode : result.episodes)
    json["episodes"].push_back(
        {{"return", episode.sum}, {"steps", episode.steps}, {"cut", episode.cut}});
  folder.write(kScores, json.dump(1) + "\n");
  return 0;
}

}  // namespace lockstep
