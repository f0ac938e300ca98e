// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <iostream>

#include "app/classification/config.h"
#include "app/config/page.h"
#include "app/control/control_config.h"
#include "app/detection/detector_config.h"
#include "app/text/config.h"
#include "tools/command.h"

namespace lockstep {
namespace {

constexpr const char* kClassification =
    "# Keys of a configuration\n\n"
    "`lockstep train CONFIG.yaml` reads these keys, and `KEY VALUE` pairs on the command line "
    "override them. `test`, `build`, `plan`\n"
    "and `inspect` take the same keys. Keys follow Detectron; the last column gives "
    "Detectron's name where it differs. Some keys\n"
    "have a flag, which means the same: `--wire float16` is `WIRE float16`. `lockstep keys` "
    "prints this list, `lockstep keys CLIP`\n"
    "prints the keys with CLIP in their name, and `lockstep keys --markdown` writes this "
    "page. Every run saves its configuration\n"
    "as `config.yaml`.\n\n"
    "`_BASE_: FILE` or `_BASE_: [FILE, FILE]` reads other files first, later ones over earlier "
    "ones "
    "and this file over all; paths are relative to\n"
    "the file that names them. A file is one YAML document that sets at least one key. No text of "
    "a "
    "configuration may hold a control\n"
    "character, such as a line feed or a tab: no key needs one.\n";

constexpr const char* kDetection =
    "# Keys of a detector's configuration\n\n"
    "A CONFIG.yaml with the `MODEL.TYPE` of a detector has these keys; [detectors]"
    "(detection.md#configuration) says how they are read.\n"
    "Every other file has [the keys of classification](configuration.md) or [of language "
    "models](text_keys.md). `train`, `test`,\n`build`, `plan` and `inspect` take the "
    "file, and `KEY VALUE` pairs on the command line override it. The last column gives "
    "Detectron's name of a key; it is empty for\n"
    "Lockstep's own keys. `lockstep keys --task detection` prints this list, and with "
    "`--markdown` it writes this page.\n";

constexpr const char* kText =
    "# Keys of a language model's configuration\n\n"
    "A CONFIG.yaml whose `MODEL.TYPE` is char_lstm, char_gru or char_rnn has these keys; "
    "[text](text.md) says how to use them.\n"
    "`train`, `test`, `build`, `plan` and `inspect` take the file, and `KEY VALUE` pairs on the "
    "command line override it.\n"
    "`lockstep keys --task text` prints this list, and with `--markdown` it writes this page.\n";
constexpr const char* kControl =
    "# Keys for control\n\n"
    "A CONFIG.yaml with `MODEL.TYPE: actor_critic` has these keys; [control](control.md) says what "
    "such a run does. `train`, `test`, `build`,\n"
    "`plan` and `inspect` take the file, and `KEY VALUE` pairs on the command line override it. "
    "The last column gives Detectron's name\n"
    "of a key where it differs. `lockstep keys --task control` prints this list, and with "
    "`--markdown` it writes this page.\n";

}  // namespace

void add_keys(CLI::App& app, Command& chosen) {
  struct Options {
    std::string part;
    std::string task = "classification";
    bool markdown = false;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("keys", "list the keys of a CONFIG.yaml");
  command->add_option("part", options->part, "print only the keys whose name contains this");
  command->add_option("--task", options->task, "classification, detection, text or control")
      ->check(CLI::IsMember({"classification", "detection", "text", "control"}))
      ->capture_default_str();
  command->add_flag("--markdown", options->markdown,
                    "print Markdown, as in docs/configuration.md, docs/detection_keys.md, "
                    "docs/text_keys.md or docs/control_keys.md");
  command->footer("Example:  lockstep keys CLIP");
  command->callback([options, &chosen] {
    chosen = [options] {
      ClassificationConfig config;
      DetectorConfig detector;
      TextConfig text;
      ControlConfig control;
      const auto is = [&](const char* task) { return options->task == task; };
      const ConfigKeys keys = is("detection") ? keys_of(detector)
                              : is("text")    ? keys_of(text)
                              : is("control") ? keys_of(control)
                                              : keys_of(config);
      const char* intro = is("detection") ? kDetection
                          : is("text")    ? kText
                          : is("control") ? kControl
                                          : kClassification;
      std::cout << (options->markdown ? markdown_of(keys, intro) : listing_of(keys, options->part));
      return 0;
    };
  });
}

}  // namespace lockstep
