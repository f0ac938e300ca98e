// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/library.h"

#include <dlfcn.h>

#include "graph/error.h"

namespace lockstep {

SharedLibrary::SharedLibrary(std::string title, std::vector<std::string> names)
    : title_(std::move(title)), names_(std::move(names)) {
  for (const std::string& name : names_)
    if (!handle_) handle_ = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
}

void* SharedLibrary::address_of(const char* name) const {
  if (!handle_)
    fail(title_, " was not found (", names_.front(),
         "); install it, or add its folder to LD_LIBRARY_PATH; see `lockstep doctor`");
  void* address = dlsym(handle_, name);
  check(address != nullptr, title_, " has no function ", name, "; it is too old");
  return address;
}

}  // namespace lockstep
