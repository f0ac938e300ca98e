#include "tools/tasks.h"

#include "tools/classification/task.h"
#include "tools/detection/types.h"

namespace lockstep {

std::unique_ptr<Task> task_of(const ConfigFiles& files, const std::vector<std::string>& words,
                              int processes) {
  refuse_to_train_detector(files, words, processes);
  Origins origins;
  return std::make_unique<ClassificationTask>(read_config(files, words, processes, origins));
}

}  // namespace lockstep
