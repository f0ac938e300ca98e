// SPDX-License-Identifier: Apache-2.0
// Writes the seeds of fuzzing. fuzz_seeds FOLDER writes FOLDER/TARGET/seed-N and prints one line
// for each target: its name and its maximum useful input size.
#include <filesystem>
#include <fstream>
#include <iostream>

#include "tests/fuzz/fuzz.h"

int main(int argc, char** argv) {
  namespace fs = std::filesystem;
  if (argc != 2) {
    std::cerr << "usage: fuzz_seeds FOLDER\n";
    return 2;
  }
  for (const auto& target : lockstep::fuzz::targets()) {
    const fs::path folder = fs::path(argv[1]) / target.name;
    fs::create_directories(folder);
    int number = 0;
    for (const std::string& seed : target.seeds())
      std::ofstream(folder / ("seed-" + std::to_string(number++)), std::ios::binary) << seed;
    std::cout << target.name << " " << target.longest << "\n";
  }
}
