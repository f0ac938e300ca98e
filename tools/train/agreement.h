// What all processes of a run must have alike in their configurations. Folders, threads, and which
// devices of its host they are, are each process's own (KeyFacts::own, alike).
#pragma once

#include "runtime/dist/agree.h"
#include "tools/train/config.h"

namespace lockstep {

Entries to_be_agreed_on(const TrainConfig& config);

}  // namespace lockstep
