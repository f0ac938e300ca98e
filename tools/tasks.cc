#include "tools/tasks.h"

#include "graph/error.h"
#include "tools/classification/task.h"
#include "tools/detection/task.h"
#include "tools/detection/types.h"

namespace lockstep {

std::unique_ptr<Task> task_of(const ConfigFiles& files, const std::vector<std::string>& words,
                              int processes) {
  if (is_detector(files, words)) {
    DetectorConfig config = read_detector_config(files, words, processes);
    check(config.misfit.empty(), config.misfit);
    return std::make_unique<DetectionTask>(std::move(config));
  }
  Origins origins;
  return std::make_unique<ClassificationTask>(read_config(files, words, processes, origins));
}

}  // namespace lockstep
