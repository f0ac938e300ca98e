// SPDX-License-Identifier: Apache-2.0
// Standard output that cannot be written ends every command with code 2.
#pragma once

#include <string>

namespace lockstep {

// Makes it an error to write to a standard stream that the caller has closed. Otherwise the next
// opened file would get the stream's number, and a checkpoint would get the lines meant for people.
void keep_closed_streams_closed();

// Writes the buffered output. Returns "", or the reason why some of the output is lost.
std::string trouble_with_output();

}  // namespace lockstep
