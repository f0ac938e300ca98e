// SPDX-License-Identifier: Apache-2.0
// The place of a weights file: a path, or a URL in a file written for Detectron, which is never
// fetched.
#pragma once

#include <string>

namespace lockstep {

struct WeightsPlace {
  std::string path;        // as the configuration gives it
  std::string cache = "";  // DOWNLOAD_CACHE
};

// The file on this machine, which need not exist: the path, or the place of a URL's file under the
// cache. "" for a URL without a cache.
std::string local_file(const WeightsPlace& place);

// local_file(). Throws for a URL whose file is not in the cache, and for a file that is not
// safetensors by its name; the error gives the command that converts the file.
std::string weights_file(const WeightsPlace& place);

}  // namespace lockstep
