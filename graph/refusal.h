// SPDX-License-Identifier: Apache-2.0
// Errors of the file system in plain words: the path, the reason and the remedy.
#pragma once

#include <filesystem>
#include <string>
#include <system_error>

namespace lockstep {

// "'runs/x': Read-only file system; choose a folder that you can write to"
std::string refusal_text(const std::string& path, const std::error_code& reason);
// Returns a text that begins with "cannot use". For a move, the text names both paths.
std::string refusal_text(const std::filesystem::filesystem_error& error);
// Throws "cannot create 'runs/x': ..", with the reason from errno. `what` is the action that the
// system call refused.
[[noreturn]] void fail_errno(const std::string& path, const char* what);

}  // namespace lockstep
