// SPDX-License-Identifier: Apache-2.0
// CUDA's larger libraries, loaded on first use, so that the binary starts, and everything else
// works, on machines without them.
#pragma once

#include <string>
#include <vector>

namespace lockstep {

class SharedLibrary {
 public:
  // Tries the names in turn; `title` is the library's usual name.
  SharedLibrary(std::string title, std::vector<std::string> names);

  bool found() const { return handle_ != nullptr; }
  // Throws if the library or the function is missing.
  template <class Function>
  void load(Function*& function, const char* name) {
    function = reinterpret_cast<Function*>(address_of(name));
  }

 private:
  void* address_of(const char* name) const;

  std::string title_;
  std::vector<std::string> names_;
  void* handle_ = nullptr;
};

}  // namespace lockstep
