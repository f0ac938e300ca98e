// A file that grows while a run goes on. A full disk is no reason to end a run: what cannot be
// written waits, and comes with what is written next.
#pragma once

#include <string>
#include <string_view>

namespace lockstep {

class AppendedFile {
 public:
  // Throws naming the path when it cannot be opened.
  explicit AppendedFile(std::string path);
  ~AppendedFile();
  AppendedFile(const AppendedFile&) = delete;

  void append(std::string_view bytes);
  // Why something waits, or "".
  const std::string& trouble() const { return trouble_; }

 private:
  std::string path_;
  int descriptor_;
  std::string waiting_;
  std::string trouble_;
};

}  // namespace lockstep
