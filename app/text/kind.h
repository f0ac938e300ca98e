// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/task_kind.h"

namespace lockstep {

TaskKind text_kind();

}  // namespace lockstep
