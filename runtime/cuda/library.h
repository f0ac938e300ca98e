// SPDX-License-Identifier: Apache-2.0
// CUDA's larger libraries, loaded on first use, so that the binary works without them on other
// machines.
#pragma once

#include <string>
#include <vector>

namespace lockstep {

// A table of functions has a line for each function:  decltype(ncclSend)* send =
// library["ncclSend"];
class SharedLibrary {
 public:
  // Tries the files in order. `title`: the library's usual name, and a version to install.
  SharedLibrary(std::string title, const std::vector<std::string>& files);

  bool found() const { return handle_ != nullptr; }

  // Converts to a pointer to a function, of the type that the context needs.
  struct Address {
    void* value;
    template <class Function>
    operator Function*() const {
      return reinterpret_cast<Function*>(value);
    }
  };
  // Throws if the library or the function is missing.
  Address operator[](const char* function) const;

 private:
  std::string title_, file_, why_not_found_;
  void* handle_ = nullptr;
};

}  // namespace lockstep
