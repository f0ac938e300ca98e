// SPDX-License-Identifier: Apache-2.0
// A task of a run: it trains, is tested meanwhile, and is shown.
#pragma once

#include "app/train/learning.h"
#include "app/train/presentation.h"
#include "app/train/testing.h"

namespace lockstep {

class Task : public Learning, public Testing, public Presentation {};

}  // namespace lockstep
