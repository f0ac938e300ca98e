// CUDA's bigger libraries are looked for when they are first needed, so that the binary starts, and
// all else works, on machines that do not have them.
#pragma once

#include <string>
#include <vector>

namespace lockstep {

class SharedLibrary {
 public:
  // Tries the names in turn; `title` is what people call it.
  SharedLibrary(std::string title, std::vector<std::string> names);

  bool found() const { return handle_ != nullptr; }
  // Throws saying which library is missing, or that it has no such function.
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
