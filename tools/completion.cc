// SPDX-License-Identifier: Apache-2.0
#include "tools/completion.h"

#include <algorithm>
#include <sstream>
#include <vector>

#include "app/task_kind.h"
#include "graph/print.h"
#include "lockstep/error.h"
#include "lockstep/models.h"
#include "tools/subcommands.h"

namespace lockstep {
namespace {

std::string words(const std::vector<std::string>& list) {
  std::string text;
  for (const std::string& word : list) text += (text.empty() ? "" : " ") + word;
  return text;
}

std::vector<std::string> long_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

std::vector<std::string> names_of(const std::vector<const CLI::App*>& commands) {
  std::vector<std::string> names;
  for (const CLI::App* command : commands) names.push_back(command->get_name());
  return names;
}

// Commands that accept KEY VALUE pairs.
std::vector<const CLI::App*> commands_with_keys(const CLI::App& app) {
  std::vector<const CLI::App*> taking = subcommands(app);
  std::erase_if(taking, [](const CLI::App* command) { return !command->get_allow_extras(); });
  return taking;
}

// Commands with a first word that may be a built-in network.
std::vector<const CLI::App*> commands_with_networks(const CLI::App& app) {
  std::vector<const CLI::App*> taking = commands_with_keys(app);
  std::erase_if(taking, [](const CLI::App* command) {
    return command->get_option_no_throw("model") == nullptr;
  });
  return taking;
}

// `build\ 2\ *`: the place of a word that may be a network, and any word before it. The command
// `diff` has two such words.
std::string places_of_networks(const CLI::App& app) {
  std::string patterns;
  for (const CLI::App* command : commands_with_networks(app))
    for (const char* place : {"2", "3"})
      if (*place == '2' || command->get_option_no_throw("other"))
        patterns += (patterns.empty() ? "" : "|") + command->get_name() + "\\ " + place + "\\ *";
  return patterns;
}

// Networks that `--model` accepts: benchmarks also have a network of sequences.
std::vector<std::string> networks_of_benchmarks() {
  std::vector<std::string> names = model_names();
  names.emplace_back("lstm");
  return names;
}

// Commands that only group other commands.
std::vector<const CLI::App*> groups(const CLI::App& app) {
  std::vector<const CLI::App*> all = subcommands(app);
  std::erase_if(all, [](const CLI::App* command) { return subcommands(*command).empty(); });
  return all;
}

std::vector<std::string> names_of(const std::vector<CompletedKey>& keys) {
  std::vector<std::string> names;
  for (const CompletedKey& key : keys) names.push_back(key.key);
  return names;
}

// The values of an option with a few choices, as its help text lists them: TEXT:{a,b}.
std::vector<std::string> choices_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::size_t begin = type.find('{'), end = type.find('}');
  std::vector<std::string> choices;
  if (begin == type.npos || end == type.npos) return choices;
  std::istringstream list(type.substr(begin + 1, end - begin - 1));
  for (std::string choice; std::getline(list, choice, ',');) choices.push_back(choice);
  return choices;
}

struct CompletedOption {
  std::string command, name;
  std::vector<std::string> choices;
};
std::vector<CompletedOption> options_with_choices(const CLI::App& app) {
  std::vector<CompletedOption> all;
  for (const NamedCommand& command : all_commands(app))
    for (const CLI::Option* option : command.app->get_options())
      if (const auto choices = choices_of(*option); !choices.empty())
        for (const std::string& name : option->get_lnames())
          all.push_back({command.words, "--" + name, choices});
  return all;
}

std::string alternatives(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : "|") + name;
  return text;
}

std::string bash(const CLI::App& app) {
  const std::vector<CompletedKey> keys = keys_to_complete();
  std::ostringstream out;
  out << "_lockstep() {\n"
         "  local line=(\"${COMP_WORDS[@]}\") at=$COMP_CWORD i=2\n"
         "  COMPREPLY=()\n"
         "  if [ \"${line[1]}\" = launch ]; then\n"  // its command is a separate line
         "    while [ \"$i\" -lt \"$at\" ] && [ \"${line[i]}\" != -- ]; do i=$((i+1)); done\n"
         "    if [ \"$i\" -lt \"$at\" ]; then\n"
         "      line=(\"${line[@]:i+1}\") at=$((at-i-1))\n"
         "      if [ \"$at\" -eq 0 ]; then _lockstep_commands \"${line[0]}\"; return; fi\n"
         "    fi\n"
         "  fi\n"
         "  if [ \"${line[1]}\" = help ] && [ \"$at\" -gt 1 ]; then\n"
         "    line=(\"${line[0]}\" \"${line[@]:2}\") at=$((at-1))\n"
         "  fi\n"
         "  local word=${line[at]} before=${line[at-1]}\n"
         "  if [ \"$at\" -lt \"$COMP_CWORD\" ] && [ \"${line[0]##*/}\" != lockstep ]; then\n"
         "    _lockstep_files; return\n"
         "  fi\n"
         "  if [ \"$at\" -eq 1 ]; then\n"
         "    _lockstep_words \""
      << words(names_of(subcommands(app)))
      << "\"\n    return\n  fi\n"
         "  local command=${line[1]}\n"
         "  case \"$command\" in\n";
  for (const CLI::App* group : groups(app))
    out << "    " << group->get_name() << ") if [ \"$at\" -eq 2 ]; then\n      _lockstep_words \""
        << words(names_of(subcommands(*group)))
        << "\"\n      return\n    fi\n    command=\"$command ${line[2]}\" ;;\n";
  out << "  esac\n"
         "  case \"$word\" in -*)\n"
         "    case \"$command\" in\n";
  for (const NamedCommand& command : all_commands(app))
    out << "      \"" << command.words << "\") _lockstep_words \""
        << words(long_names(*command.app)) << "\" ;;\n";
  out << "    esac\n    return ;;\n  esac\n"
         "  case \"$command $before\" in\n";
  for (const CompletedOption& option : options_with_choices(app))
    out << "    \"" << option.command << " " << option.name << "\") _lockstep_words \""
        << words(option.choices) << "\"; return ;;\n";
  // A key may follow, too, if there is no such folder.
  out << "    train\\ --resume) _lockstep_words auto; _lockstep_folders\n"
         "      [ \"${#COMPREPLY[@]}\" -gt 0 ] && return ;;\n"
         "  esac\n"
         "  case \"${line[1]}\" in "
      << alternatives(names_of(commands_with_keys(app)))
      << ")\n"
         "    case \"$before\" in\n";
  for (const CompletedKey& key : keys)
    if (!key.words.empty())
      out << "      " << key.key << (key.flag.empty() ? "" : "|" + key.flag)
          << ") _lockstep_words \"" << words(key.words) << "\"; return ;;\n";
  out << "      " << alternatives(names_of(keys))
      << ") ;;\n"
         "      *) [ \"$at\" -gt 2 ] && _lockstep_words \""
      << words(names_of(keys))
      << "\" ;;\n"
         "    esac ;;\n"
         "  esac\n"
         "  case \"${line[1]} $at $before\" in\n"
         "    "
      << places_of_networks(app);
  out << ") _lockstep_words \"" << words(model_names())
      << "\" ;;\n"
         "    *\\ --model) _lockstep_words \""
      << words(networks_of_benchmarks())
      << "\" ;;\n"
         "  esac\n"
         "  _lockstep_files\n"
         "}\n"
         "_lockstep_words() { COMPREPLY+=($(compgen -W \"$1\" -- \"$word\")); }\n"
         "_lockstep_files() { local IFS=$'\\n'; COMPREPLY+=($(compgen -f -- \"$word\")); }\n"
         "_lockstep_folders() { local IFS=$'\\n'; COMPREPLY+=($(compgen -d -- \"$word\")); }\n"
         "_lockstep_commands() { COMPREPLY+=($(compgen -W lockstep -- \"$1\"; compgen -c -- "
         "\"$1\")); }\n"
         "complete -o filenames -F _lockstep lockstep\n";
  return out.str();
}

// Bash's script, which zsh runs after bashcompinit. A sourced script ends there. A file with this
// first line in a folder of completions runs as a function when Tab is first pressed, and must
// complete then, too.
std::string zsh(const CLI::App& app) {
  return "#compdef lockstep\nautoload -U +X bashcompinit && bashcompinit\n" + bash(app) +
         "[ \"${funcstack[1]}\" != _lockstep ] || _bash_complete -o filenames -F _lockstep\n";
}

std::string quoted(const std::string& text) {
  std::string safe = "'";
  for (char letter : text.substr(0, text.find('\n')))
    safe += letter == '\'' || letter == '\\' ? std::string("\\") + letter : std::string(1, letter);
  return safe + "'";
}

// Fish's condition that all of these words have been typed.
std::string after_words(const std::string& words) {
  const std::size_t end = words.find(' ');
  const std::string first = "__fish_seen_subcommand_from " + words.substr(0, end);
  return end == words.npos ? first : first + "; and " + after_words(words.substr(end + 1));
}

std::string fish(const CLI::App& app) {
  std::ostringstream out;
  const auto follows = [&](const std::string& condition, const CLI::App& command) {
    out << "complete -c lockstep -n '" << condition << "' -a " << command.get_name() << " -d "
        << quoted(command.get_description()) << "\n";
  };
  for (const CLI::App* command : subcommands(app)) follows("__fish_use_subcommand", *command);
  for (const CLI::App* group : groups(app))
    for (const CLI::App* command : subcommands(*group))
      follows(after_words(group->get_name()), *command);
  for (const NamedCommand& command : all_commands(app))
    for (const CLI::Option* option : command.app->get_options())
      for (const std::string& name : option->get_lnames())
        out << "complete -c lockstep -n '" << after_words(command.words) << "' -l " << name
            << " -d " << quoted(option->get_description()) << "\n";
  const std::string with_keys =
      "__fish_seen_subcommand_from " + words(names_of(commands_with_keys(app)));
  out << "function __lockstep_after; contains -- (commandline -opc)[-1] $argv; end\n";
  for (const CompletedKey& key : keys_to_complete()) {
    out << "complete -c lockstep -n '" << with_keys << "' -a " << key.key << "\n";
    if (!key.words.empty())
      out << "complete -c lockstep -n '__lockstep_after " << key.key
          << (key.flag.empty() ? "" : " " + key.flag) << "' -a " << quoted(words(key.words))
          << "\n";
  }
  for (const CompletedOption& option : options_with_choices(app))
    out << "complete -c lockstep -n '" << after_words(option.command) << "; and __lockstep_after "
        << option.name << "' -a " << quoted(words(option.choices)) << "\n";
  out << "complete -c lockstep -n '__lockstep_after --resume' -a 'auto "
         "(__fish_complete_directories)'\n";
  out << "complete -c lockstep -n '__lockstep_after --model' -a "
      << quoted(words(networks_of_benchmarks())) << "\n"
      << "complete -c lockstep -n '__lockstep_after "
      << words(names_of(commands_with_networks(app))) << "' -a " << quoted(words(model_names()))
      << "\n";
  return out.str();
}

}  // namespace

std::string completion_script(const CLI::App& app, const std::string& shell) {
  if (shell == "bash") return bash(app);
  if (shell == "zsh") return zsh(app);
  check(shell == "fish", "completion scripts exist for bash, zsh and fish, not for '", shell, "'");
  return fish(app);
}

}  // namespace lockstep
