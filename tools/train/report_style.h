// How report.html looks, and the few lines that show numbers at once under the pointer.
#pragma once

namespace lockstep {

extern const char* const kReportStyle;
extern const char* const kReportScript;

}  // namespace lockstep
