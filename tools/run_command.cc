// SPDX-License-Identifier: Apache-2.0
// The command line of `lockstep`: a file per subcommand. Exit codes: 0 done, 1 internal failure
// (diff: something differs), 2 an error that the user can fix, named on stderr; 128 + signal if a
// signal ended the run.
#include <malloc.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <new>
#include <span>
#include <string>
#include <vector>

#include "app/arrays/own_source.h"
#include "app/version.h"
#include "graph/nearest.h"
#include "graph/printable.h"
#include "graph/refusal.h"
#include "lockstep/command.h"
#include "lockstep/error.h"
#include "tools/command.h"
#include "tools/completion.h"
#include "tools/manual.h"
#include "tools/openmp.h"
#include "tools/standard_output.h"
#include "tools/subcommands.h"

namespace lockstep {
namespace {

// A thread's own heap takes 64 MiB of address space at its first allocation. Under `ulimit -v` a
// heap could take space that another thread has just found free.
void share_one_heap_below_a_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) mallopt(M_ARENA_MAX, 1);
}

// `help` means --help, `help train` for `train --help`, `help bench conv` for
// `bench conv --help`.
void spell_out_help(std::vector<std::string>& words) {
  if (words.empty() || words[0] != "help") return;
  const auto end = std::find_if(words.begin(), words.end(),
                                [](const std::string& word) { return word.starts_with("-"); });
  words.erase(end, words.end());
  words.erase(words.begin());
  words.emplace_back("--help");
}

// Checks the words that name a subcommand, and the words after them. The parser itself would only
// say that a subcommand is required.
void check_commands(const CLI::App& app, const std::string& name,
                    std::span<const std::string> words, bool asks_help) {
  const std::vector<const CLI::App*> known = subcommands(app);
  if (words.empty()) return;
  const std::string& word = words[0];
  if (known.empty())
    return check(!asks_help || word.starts_with("-"), "help: '", name, "' has no subcommand '",
                 word, "'");
  if (word.starts_with("-")) {
    check(app.get_option_no_throw(word) != nullptr, "unknown option '", word, "'; ", name,
          " --help lists the subcommands");
    return;
  }
  std::vector<std::string> names;
  for (const CLI::App* command : known) {
    if (command->get_name() == word)
      return check_commands(*command, name + " " + word, words.subspan(1), asks_help);
    names.push_back(command->get_name());
  }
  const std::string near = nearest(word, names);
  fail("unknown subcommand '", word, "'", near.empty() ? "" : ", did you mean '" + near + "'?",
       near.empty() ? "; " + name + " --help lists them" : "");
}

// The parser's text about an unexpected or missing word. A misspelt option is both, and gets the
// nearest option.
std::string words_of(const CLI::ParseError& error, const CLI::App& command,
                     const std::vector<std::string>& words) {
  const std::string said = error.what();
  const int code = error.get_exit_code();
  const bool is_extra = code == static_cast<int>(CLI::ExitCodes::ExtrasError);
  if (!is_extra && code != static_cast<int>(CLI::ExitCodes::RequiredError)) return said;
  for (const std::string& word : words) {
    if (word == "--") break;
    const std::string name = word.substr(0, word.find('='));
    if (!name.starts_with(is_extra ? "-" : "--") || command.get_option_no_throw(name)) continue;
    if (is_extra && said.find(word) == said.npos) continue;
    std::vector<std::string> names;
    for (const CLI::Option* option : command.get_options())
      for (const std::string& known : option->get_lnames()) names.push_back("--" + known);
    const std::string near = nearest(name, names);
    return join("unknown option '", name, "'",
                near.empty() ? "" : join(", did you mean '", near, "'?"));
  }
  return said;
}

// Prints one line, like every other error.
int refuse(const CLI::App& app, const CLI::ParseError& error,
           const std::vector<std::string>& words) {
  std::string name = "lockstep";
  const CLI::App* command = &app;
  while (!command->get_subcommands().empty()) {
    command = command->get_subcommands().front();
    name += " " + command->get_name();
  }
  std::cerr << "lockstep: " << printable(words_of(error, *command, words)) << "; " << name
            << " --help says what is allowed\n";
  return 2;
}

void add_help(CLI::App& app, Command&) {
  app.add_subcommand("help", "print the help of a command: lockstep help train");
}

void add_completion(CLI::App& app, Command& chosen) {
  auto shell = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("completion", "print a completion script for a shell");
  command->add_option("shell", *shell, "bash, zsh or fish")->required();
  command->footer(
      "Example:  lockstep completion bash > ~/.local/share/bash-completion/completions/lockstep\n"
      "          lockstep completion fish > ~/.config/fish/completions/lockstep.fish\n"
      "zsh: source it in ~/.zshrc.");
  command->callback([shell, &app, &chosen] {
    chosen = [shell, &app] {
      std::cout << completion_script(app, *shell);
      return 0;
    };
  });
}

void add_manual(CLI::App& app, Command& chosen) {
  CLI::App* command = app.add_subcommand("manual", "print the manual page");
  command->footer("Example:  lockstep manual | man -l -");
  command->callback([&app, &chosen] {
    chosen = [&app] {
      std::cout << manual_page(app);
      return 0;
    };
  });
}

int run(const std::vector<std::string>& given) {
  CLI::App app{"Data-parallel training steps as ONNX graphs, planned before they run.", "lockstep"};
  app.require_subcommand(1);
  app.set_version_flag("--version", version_text);
  app.footer("Start with:  lockstep train configs/lenet_digits.yaml");
  Command chosen;
  for (auto add : {add_train,     add_test,       add_infer,  add_export, add_build,   add_inspect,
                   add_plan,      add_simulate,   add_diff,   add_report, add_run,     add_step,
                   add_onnx_test, add_bench,      add_launch, add_keys,   add_weights, add_scenes,
                   add_doctor,    add_completion, add_manual, add_help})
    add(app, chosen);
  std::vector<std::string> words = given;
  try {
    spell_out_help(words);
    check_commands(app, "lockstep", words, words != given);
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
    return chosen();
  } catch (const CLI::ParseError& error) {
    // Help and the version come as errors with code 0.
    return error.get_exit_code() == 0 ? app.exit(error) : refuse(app, error, words);
  } catch (const Error& error) {
    std::cerr << "lockstep: " << printable_lines(error.what()) << "\n";
    return 2;
  } catch (const std::bad_alloc&) {
    std::cerr << "lockstep: out of memory: the command needs more memory than is free; a smaller "
                 "batch, smaller pictures or fewer replicas (DEVICES) need less\n";
    return 2;
  } catch (const std::filesystem::filesystem_error& error) {
    std::cerr << "lockstep: " << printable_lines(refusal_text(error)) << "\n";
    return 2;
  } catch (const std::exception& error) {
    std::cerr << "lockstep: internal error: " << printable_lines(error.what()) << "\n";
    return 1;
  }
}

}  // namespace

int run_command(int argc, char** argv, const std::vector<OwnDataSource>& sources) {
  shares_libgomp_threads();
  share_one_heap_below_a_limit();
  keep_closed_streams_closed();
  std::signal(SIGXFSZ, SIG_IGN);  // exceeding a file size limit becomes a write error with a name
  try {
    set_own_sources(sources);
  } catch (const Error& error) {
    std::cerr << "lockstep: " << printable_lines(error.what()) << "\n";
    return 2;
  }
  const int code = run({argv + std::min(argc, 1), argv + argc});
  const std::string trouble = trouble_with_output();
  if (trouble.empty()) return code;
  std::cerr << "lockstep: " << trouble << "\n";
  return code == 0 ? 2 : code;
}

}  // namespace lockstep
