// SPDX-License-Identifier: Apache-2.0
// The style of report.html, and a short script that shows numbers under the pointer.
#pragma once

namespace lockstep {

extern const char* const kReportStyle;
extern const char* const kReportScript;

}  // namespace lockstep
