// Files that are either written whole or not at all.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>

namespace lockstep {

// Appends bytes to the file being written; throws on a full disk.
using FileSink = std::function<void(std::span<const std::byte>)>;

// Writes `path` through a temporary name in the same folder, syncs it, renames it. If anything
// fails the old file is as it was, the temporary one is gone, and an Error names path and reason.
void write_file(const std::string& path, const std::function<void(const FileSink&)>& write);
void write_file(const std::string& path, const std::string& text);

// With those it lies in; throws naming it.
void make_folder(const std::string& path);

std::string read_file(const std::string& path);

}  // namespace lockstep
