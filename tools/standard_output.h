// SPDX-License-Identifier: Apache-2.0
// Standard output that is not lost in silence: what cannot be written ends every command with 2.
#pragma once

#include <string>

namespace lockstep {

// Makes a standard stream that the caller has closed an error to write to. Without that the next
// file that is opened would take its number, and a checkpoint would get the lines meant for people.
void keep_closed_streams_closed();

// Writes what is still held back. Returns "", or the reason why some of the output is lost.
std::string trouble_with_output();

}  // namespace lockstep
