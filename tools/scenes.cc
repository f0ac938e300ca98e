// SPDX-License-Identifier: Apache-2.0
// lockstep scenes: generated pictures with annotations in COCO's form, as files.
#include "data/scenes/scenes.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <limits>

#include "data/coco/write_annotations.h"
#include "graph/file.h"
#include "tools/command.h"

namespace lockstep {
namespace {

struct ScenesOptions {
  SceneOptions scenes;
  std::string out;
};

// Writes the annotations last: if they exist, all pictures exist.
int write_scenes(const ScenesOptions& options) {
  const Scenes scenes(options.scenes);
  const Annotations& table = scenes.annotations();
  make_folder(options.out + "/images");
  for (std::size_t i = 0; i < table.images.size(); ++i)
    write_file(options.out + "/images/" + table.images[i].file, jpeg_of(scenes.picture(i)));
  write_annotations(options.out + "/annotations.json", table);
  std::cout << table.images.size() << " pictures in " << options.out << "/images, "
            << table.objects.size() << " objects in " << options.out << "/annotations.json\n";
  return 0;
}

}  // namespace

void add_scenes(CLI::App& app, Command& chosen) {
  auto options = std::make_shared<ScenesOptions>();
  CLI::App* command = app.add_subcommand(
      "scenes", "write generated pictures to detect objects in, with COCO annotations");
  command->add_option("--images", options->scenes.count, "number of pictures")
      ->required()
      ->check(CLI::Range(int64_t{1}, int64_t{1000000}));
  command->add_option("--out", options->out, "folder for images/ and annotations.json")->required();
  command->add_option("--seed", options->scenes.seed, "seed of every pixel")
      ->check(CLI::Range(int64_t{0}, std::numeric_limits<int64_t>::max()))
      ->capture_default_str();
  command->add_flag("--val", options->scenes.held_out,
                    "the pictures of scenes_val instead of scenes_train");
  command->footer(
      "Example:  lockstep scenes --images 1000 --out scenes/train\n"
      "          lockstep scenes --images 200 --val --out scenes/val");
  command->callback([options, &chosen] { chosen = [options] { return write_scenes(*options); }; });
}

}  // namespace lockstep
