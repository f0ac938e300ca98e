// SPDX-License-Identifier: Apache-2.0
// The file that a write to a path replaces, and the kinds of file that are never replaced.
#pragma once

#include <sys/types.h>

#include <string>

namespace lockstep {

// Names the kind of a file: "a folder", "a pipe", ..
std::string file_kind(mode_t mode);

// Returns the file that a write to `path` creates or replaces, with links followed. The file may
// not exist. Throws, naming path and kind, for a folder, device, pipe or socket, and for a link to
// a process's open file, such as /dev/stdout.
std::string write_place(const std::string& path);

// Throws if the name itself, without following a link, is a folder, device, pipe or socket.
void refuse_special(const std::string& path);
// Throws for the kinds of refuse_special(), and for a link: a write would reach another file.
void refuse_special_or_link(const std::string& path);

// Throws if a link makes `path`, a model's file, the file of the model's data.
void check_places_differ(const std::string& path, const std::string& data);

}  // namespace lockstep
