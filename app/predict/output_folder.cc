// SPDX-License-Identifier: Apache-2.0
#include "app/predict/output_folder.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <sstream>
#include <system_error>

#include "graph/file.h"
#include "graph/refusal.h"
#include "graph/write_place.h"
#include "lockstep/error.h"
#include "runtime/dist/sha256.h"

namespace lockstep {
namespace {

constexpr const char* kListName = "/.lockstep_written";

std::string sha256_digits(const std::string& content) { return hex_digits(sha256(content)); }

// Appends with one write, so that two commands can share the folder. Begins with a line feed, so
// that a line half written by a killed command damages no other line.
void append_line(const std::string& path, const std::string& line) {
  refuse_special_or_link(path);
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  const std::string text = "\n" + line + "\n";
  const bool whole =
      file >= 0 && ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const int reason = errno;
  if (file >= 0) ::close(file);
  check(whole, "cannot write ",
        refusal_text(path, std::error_code(reason, std::generic_category())));
}

}  // namespace

OutputFolder::OutputFolder(const std::string& path) : path_(path) {
  if (path_.empty()) return;
  make_folder(path_);
  if (!std::filesystem::exists(path_ + kListName)) return;
  std::istringstream lines(read_file(path_ + kListName));
  for (std::string line; std::getline(lines, line);) written_.insert(line);
}

void OutputFolder::check_replaceable(const std::vector<std::string>& names) const {
  if (!exists()) return;
  for (const std::string& name : names) {
    const std::string path = path_ + "/" + name;
    write_place(path);
    check(!std::filesystem::exists(path) || written_.contains(sha256_digits(read_file(path))),
          "--out: '", path,
          "' would be overwritten, but is not a file that `infer` or `test` has written there, or "
          "was changed since; choose an empty folder");
  }
}

void OutputFolder::write(const std::string& name, const std::string& content) {
  // Lists the digest first: a command killed in between leaves no file that the next command
  // refuses.
  list_digest(sha256_digits(content));
  write_file(path_ + "/" + name, content);
}

void OutputFolder::list(const std::string& name) {
  list_digest(sha256_digits(read_file(path_ + "/" + name)));
}

void OutputFolder::list_digest(const std::string& digest) {
  if (written_.insert(digest).second) append_line(path_ + kListName, digest);
}

void check_out(const InferOptions& options, const std::string& outputs) {
  check(!options.out.empty(), "--out is missing: the folder for ", outputs);
}

}  // namespace lockstep
