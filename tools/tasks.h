// The task of a CONFIG.yaml: MODEL.TYPE decides.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tools/config/files.h"
#include "tools/train/task.h"

namespace lockstep {

std::unique_ptr<Task> task_of(const ConfigFiles& files, const std::vector<std::string>& words,
                              int processes);

}  // namespace lockstep
