// SPDX-License-Identifier: Apache-2.0
// CUDA's larger libraries, loaded on first use, so that the binary starts, and everything else
// works, on machines without them.
#pragma once

#include <string>
#include <vector>

namespace lockstep {

// A table of functions has a line for each:  decltype(ncclSend)* send = library["ncclSend"];
class SharedLibrary {
 public:
  // Tries the files in turn. `title`: the library's usual name, and a version to install.
  SharedLibrary(std::string title, const std::vector<std::string>& files);

  bool found() const { return handle_ != nullptr; }

  // Becomes a pointer to a function of the type that the place of use has.
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
