// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/task_kind.h"

namespace lockstep {

TaskKind control_kind();

}  // namespace lockstep
