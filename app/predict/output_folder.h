// SPDX-License-Identifier: Apache-2.0
// The folder of `--out` of `infer` and `test`, which may also contain the user's files.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "app/predict/infer.h"

namespace lockstep {

// Replaces only files that these commands wrote: the folder's file .lockstep_written lists the
// SHA-256 of everything ever written there. A file that was changed since, or that came from
// elsewhere, is not listed.
class OutputFolder {
 public:
  // Makes the folder. An empty path means that nothing is written.
  explicit OutputFolder(const std::string& path);

  bool exists() const { return !path_.empty(); }
  const std::string& path() const { return path_; }
  // Throws naming the first file that write() would replace and that is not listed. Called for all
  // names at once, before results are computed.
  void check_replaceable(const std::vector<std::string>& names) const;
  void write(const std::string& name, const std::string& content);
  // Lists a file that was written by other means, such as a file too long for a string.
  void list(const std::string& name);

 private:
  void list_digest(const std::string& digest);

  std::string path_;
  std::set<std::string> written_;  // digests
};

// Throws without --out, the folder for these outputs.
void check_out(const InferOptions& options, const std::string& outputs);

}  // namespace lockstep
