// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/fuzz.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>

#include "graph/file.h"
#include "lockstep/error.h"
#include "tests/fuzz/readers.h"
#include "tests/support/temporary_folder.h"

namespace lockstep::fuzz {

const std::vector<Target>& targets() {
  static const std::vector<Target> all{
      {"onnx", read_onnx, onnx_seeds, 16384},
      {"metadata", read_metadata, metadata_seeds, 4096},
      {"safetensors", read_safetensors_file, safetensors_seeds, 4096},
      {"config", read_configuration, config_seeds, 4096},
      {"coco", read_coco, coco_seeds, 4096},
      {"masks", read_mask, mask_seeds, 1024},
      {"voc", read_voc_file, voc_seeds, 2048},
      {"npy", read_npy_file, npy_seeds, 1024},
      {"npz", read_npz_arrays, npz_seeds, 2048},
      {"csv", read_csv_arrays, csv_seeds, 1024},
      {"picture", read_picture, picture_seeds, 4096},
      {"webp", read_picture, webp_seeds, 4096},
      {"bmp", read_picture, bmp_seeds, 2048},
      {"exif", read_exif, exif_seeds, 256},
      {"specification", read_specification, specification_seeds, 256},
      {"devices", read_devices, devices_seeds, 64},
      {"episodes", read_episodes, episodes_seeds, 1024},
      {"store", read_store_messages, store_seeds, 1024},
  };
  return all;
}

const Target& target_named(const std::string& name) {
  std::string known;
  for (const Target& target : targets()) {
    if (target.name == name) return target;
    known += " " + target.name;
  }
  fail("no fuzz target is called '", name, "'; there are", known);
}

void try_reading(const Target& target, const std::string& bytes) {
  accepts([&] { target.read(bytes); });
}

bool accepts(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error&) {
    return false;
  }
  return true;
}

void expect(bool holds) {
  if (!holds) std::abort();
}

MemoryFile::MemoryFile(std::string_view bytes) : descriptor_(memfd_create("bytes", MFD_CLOEXEC)) {
  check(descriptor_ >= 0 &&
            write(descriptor_, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()),
        "no file in memory for ", bytes.size(), " bytes");
  path_ = join("/proc/self/fd/", descriptor_);
}

MemoryFile::~MemoryFile() { close(descriptor_); }

std::string written(const std::function<void(const std::string& path)>& write) {
  testing::TemporaryFolder folder;
  write(folder / "file");
  return read_file(folder / "file");
}

}  // namespace lockstep::fuzz
