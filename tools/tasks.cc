#include "tools/tasks.h"

#include "graph/error.h"
#include "tools/classification/task.h"
#include "tools/control/control_task.h"
#include "tools/detection/task.h"
#include "tools/detection/types.h"
#include "tools/text/task.h"
#include "tools/text/types.h"

namespace lockstep {

std::unique_ptr<Task> task_of(const ConfigFiles& files, const std::vector<std::string>& words,
                              int processes) {
  if (is_detector(files, words)) {
    DetectorConfig config = read_detector_config(files, words, processes);
    check(config.misfit.empty(), config.misfit);
    return std::make_unique<DetectionTask>(std::move(config));
  }
  Origins origins;
  if (is_language_model(files, words))
    return std::make_unique<TextTask>(read_text_config(files, words, processes, origins));
  if (is_control(files, words))
    return std::make_unique<ControlTask>(read_control_config(files, words, processes, origins));
  return std::make_unique<ClassificationTask>(read_config(files, words, processes, origins));
}

}  // namespace lockstep
