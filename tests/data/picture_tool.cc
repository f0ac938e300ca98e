// SPDX-License-Identifier: Apache-2.0
// For tests/python/check_picture.py and check_picture_order.py.
//   picture_tool FOLDER COUNT   FOLDER/N.png by the scale in FOLDER/N.scale, N from 0, into
//                               FOLDER/N.floats: blue, green, red rows of float32
//   picture_tool --time FILE.jpg TARGET MOST   prints pictures a second on all cores, decoded and
//   scaled
//   picture_tool --order COUNT BATCH MIRRORED SEED STEPS   prints the pictures of each step, a step
//   a line: their numbers, with an m if mirrored
#include <chrono>
#include <fstream>
#include <iostream>
#include <thread>

#include "data/detection/picture.h"
#include "data/detection/picture_order.h"
#include "graph/file.h"
#include "tests/support/tool_main.h"

namespace lockstep {
namespace {

void scale(const std::string& stem) {
  const Image image = read_image(stem + ".png");
  PictureScale scale;
  std::ifstream(stem + ".scale") >> scale.scale >> scale.height >> scale.width;
  std::vector<float> data(static_cast<std::size_t>(3 * scale.height * scale.width));
  write_picture(image, scale, {{0, 0, 0}}, {data.data(), scale.height, scale.width});
  write_file(stem + ".floats", [&](const FileSink& sink) { sink(std::as_bytes(std::span(data))); });
}

void time_pictures(const std::string& path, int64_t target, int64_t most) {
  constexpr int kEach = 60;
  const unsigned threads = std::thread::hardware_concurrency();
  const auto began = std::chrono::steady_clock::now();
  std::vector<std::thread> pool;
  for (unsigned t = 0; t < threads; ++t)
    pool.emplace_back([&] {
      std::vector<float> data;
      for (int i = 0; i < kEach; ++i) {
        const Image image = read_image(path);
        const PictureScale scale = scale_to(image.height, image.width, target, most);
        const int64_t height = padded(scale.height, 32), width = padded(scale.width, 32);
        data.resize(static_cast<std::size_t>(3 * height * width));
        write_picture(image, scale, {}, {data.data(), height, width});
      }
    });
  for (std::thread& thread : pool) thread.join();
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  std::cout << kEach * threads / seconds << " pictures a second on " << threads << " cores\n";
}

void print_order(const std::vector<std::string>& words) {
  const auto number = [&](std::size_t place) { return std::stoll(words[place]); };
  const PictureOrder order(
      std::vector<int32_t>(static_cast<std::size_t>(number(1)), 0),
      {number(2), number(3) != 0, static_cast<uint64_t>(std::stoull(words[4]))});
  for (int64_t step = 0; step < number(5); ++step) {
    for (const OrderedPicture& each : order.step(step).pictures)
      std::cout << each.picture << (each.mirrored ? "m " : " ");
    std::cout << "\n";
  }
}

int run(const std::vector<std::string>& words) {
  if (words.size() == 6 && words[0] == "--order") {
    print_order(words);
    return 0;
  }
  if (words.size() == 4 && words[0] == "--time") {
    time_pictures(words[1], std::stoi(words[2]), std::stoi(words[3]));
    return 0;
  }
  check(words.size() == 2,
        "picture_tool FOLDER COUNT | --time FILE TARGET MOST | "
        "--order COUNT BATCH MIRRORED SEED STEPS");
  for (int n = 0; n < std::stoi(words[1]); ++n) scale(join(words[0], "/", n));
  return 0;
}

}  // namespace
}  // namespace lockstep

int main(int count, char** words) {
  return lockstep::testing::tool_main(count, words, lockstep::run);
}
