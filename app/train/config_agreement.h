// SPDX-License-Identifier: Apache-2.0
// The part of the configuration that must be equal on all processes of a run. Folders, threads, and
// the choice of devices may differ (KeyFacts::own, alike).
#pragma once

#include "app/config/key.h"
#include "runtime/dist/agree.h"

namespace lockstep {

Entries to_be_agreed_on(const ConfigKeys& keys);

}  // namespace lockstep
