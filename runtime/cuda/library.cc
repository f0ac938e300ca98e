// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/library.h"

#include <dlfcn.h>

#include <utility>

#include "lockstep/error.h"

namespace lockstep {

SharedLibrary::SharedLibrary(std::string title, const std::vector<std::string>& files)
    : title_(std::move(title)) {
  for (const std::string& file : files) {
    file_ = file;
    handle_ = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_) return;
    why_not_found_ += join(why_not_found_.empty() ? "" : "; ", dlerror());
  }
}

SharedLibrary::Address SharedLibrary::operator[](const char* function) const {
  check(found(), title_, " was not found (", why_not_found_,
        "); install it, or add its folder to LD_LIBRARY_PATH; see `lockstep doctor`");
  void* address = dlsym(handle_, function);
  check(address != nullptr, file_, " has no function ", function,
        ": it is older than the version that Lockstep was built with; install ", title_,
        " or later");
  return {address};
}

}  // namespace lockstep
