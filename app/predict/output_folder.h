// SPDX-License-Identifier: Apache-2.0
// The folder that `--out` of `infer` and `test` names, which may hold files of the user's own.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace lockstep {

// Replaces only what it has written itself, now or in an earlier call: the folder's file
// .lockstep_written lists the SHA-256 of all that was ever written there. A file that was changed
// since, or put there by somebody else, is not listed.
class OutputFolder {
 public:
  // Makes the folder, unless the path is empty: then nothing is to be written.
  explicit OutputFolder(const std::string& path);

  bool exists() const { return !path_.empty(); }
  const std::string& path() const { return path_; }
  // Throws naming the first file that write() would replace and that is not its own. For all names
  // at once, before results are computed.
  void check_replaceable(const std::vector<std::string>& names) const;
  void write(const std::string& name, const std::string& content);
  // Lists a file that was written there by other means, such as one too long for a text.
  void list(const std::string& name);

 private:
  void list_digest(const std::string& digest);

  std::string path_;
  std::set<std::string> written_;  // digests
};

}  // namespace lockstep
