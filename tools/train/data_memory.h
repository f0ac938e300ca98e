// What the images of a configuration take, before any of it is taken.
#pragma once

#include "tools/train/config.h"

namespace lockstep {

// Throws naming the key whose number asks for more memory than is free, or for more together.
void check_data_memory(const TrainConfig& config);

}  // namespace lockstep
