// SPDX-License-Identifier: Apache-2.0
#include "app/weights/place.h"

#include <filesystem>
#include <vector>

#include "graph/printable.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

constexpr const char* kDetectronsFolder = "/detectron/";
constexpr const char* kConverter = "tools/weights/to_safetensors.py";
constexpr const char* kEnding = ".safetensors";

bool is_url(const std::string& path) { return path.find("://") != path.npos; }

// Detectron's own files keep their folders, as its cache does.
std::string path_of_url(const std::string& url) {
  const std::string path = url.substr(url.find("://") + 3);
  const std::size_t folder = path.find(kDetectronsFolder);
  if (folder != path.npos) return path.substr(folder + std::string(kDetectronsFolder).size());
  return path.substr(path.rfind('/') + 1);
}

std::string with_ending(const std::string& path, const std::string& ending) {
  return std::filesystem::path(path).replace_extension(ending).string();
}

// Files of other formats that people have, by their endings.
bool is_pickle(const std::string& path) {
  const std::string ending = std::filesystem::path(path).extension().string();
  for (const char* other : {".pkl", ".pth", ".pt", ".pickle", ".bin"})
    if (ending == other) return true;
  return false;
}

std::string command_for(const std::string& from, const std::string& to) {
  return join(kConverter, " ", shell_word(from), " ", shell_word(to));
}

}  // namespace

std::string local_file(const WeightsPlace& place) {
  if (!is_url(place.path)) return place.path;
  if (place.cache.empty()) return "";
  return with_ending(place.cache + "/" + path_of_url(place.path), kEnding);
}

std::string weights_file(const WeightsPlace& place) {
  const std::string local = local_file(place);
  if (is_url(place.path)) {
    const std::string pickle =
        place.cache.empty() ? "" : place.cache + "/" + path_of_url(place.path);
    check(!local.empty() && std::filesystem::exists(local), printable(place.path),
          ": is a URL, which is never fetched; the file is expected as ",
          local.empty() ? "a .safetensors file" : printable(local),
          " (DOWNLOAD_CACHE): download it and run  ",
          command_for(pickle.empty() ? "FILE.pkl" : pickle, local.empty() ? "OUT" : local));
    return local;
  }
  check(!is_pickle(local), printable(local),
        ": is a pickle by its name; weights are .safetensors files: run  ",
        command_for(local, with_ending(local, kEnding)), "  and name its result");
  const std::string ending = std::filesystem::path(local).extension().string();
  check(ending != ".onnx", printable(local),
        ": is an ONNX network; weights are .safetensors files, such as the checkpoint of a run");
  for (const char* other : {".npz", ".npy", ".h5", ".hdf5", ".ckpt", ".msgpack"})
    check(ending != other, printable(local), ": ends with ", ending,
          ", but weights are .safetensors files");
  return local;
}

}  // namespace lockstep
