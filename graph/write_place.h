// SPDX-License-Identifier: Apache-2.0
// Where a file that is written under a name really goes, and what is never replaced.
#pragma once

#include <sys/types.h>

#include <string>

namespace lockstep {

// "a folder", "a pipe", .. of a file's mode.
std::string file_kind(mode_t mode);

// The file that writing to `path` creates or replaces: the one at the end of its links, whether it
// exists or not. Throws naming path and kind for a folder, device, pipe or socket, and for a link
// to a process's open file, such as /dev/stdout.
std::string write_place(const std::string& path);

// Throws if the name itself, without following a link, is a folder, device, pipe or socket.
void refuse_special(const std::string& path);
// The same, and for a link: a write through a link would reach another file.
void refuse_special_or_link(const std::string& path);

}  // namespace lockstep
