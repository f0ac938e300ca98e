#include "tools/manual.h"

#include <CLI/CLI.hpp>
#include <sstream>

#include "graph/error.h"
#include "tools/version.h"

namespace lockstep {
namespace {

std::vector<const CLI::App*> subcommands(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

std::vector<const CLI::Option*> options(const CLI::App& app) {
  std::vector<const CLI::Option*> named;
  for (const CLI::Option* option : app.get_options())
    if (!option->get_lnames().empty() || !option->get_snames().empty()) named.push_back(option);
  return named;
}

// Escapes leading dots and quotes, backslashes and hyphens, which are special in roff.
std::string roff(const std::string& text) {
  std::string safe;
  for (char letter : text) {
    const bool starts = safe.empty() || safe.back() == '\n';
    if (starts && (letter == '.' || letter == '\'')) safe += "\\&";
    if (letter == '\\')
      safe += "\\e";
    else if (letter == '-')
      safe += "\\-";
    else
      safe += letter;
  }
  return safe;
}

void write_subcommand(std::ostream& out, const CLI::App& command) {
  out << ".SS " << roff(command.get_name()) << "\n" << roff(command.get_description()) << "\n";
  for (const CLI::Option* option : command.get_options()) {
    out << ".TP\n.B " << roff(option->get_name(option->get_positional(), true)) << "\n"
        << roff(option->get_description()) << "\n";
  }
  out << ".PP\n.nf\n" << roff(command.get_footer()) << "\n.fi\n";
}

std::string words(const std::vector<std::string>& list) {
  std::string text;
  for (const std::string& word : list) text += (text.empty() ? "" : " ") + word;
  return text;
}

std::vector<std::string> long_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : options(command))
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

std::vector<std::string> names_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : subcommands(app)) names.push_back(command->get_name());
  return names;
}

// zsh understands bash's completions, too, after bashcompinit.
std::string bash(const CLI::App& app) {
  std::ostringstream out;
  out << "_lockstep() {\n"
         "  local word=${COMP_WORDS[COMP_CWORD]}\n"
         "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
         "    COMPREPLY=($(compgen -W \""
      << words(names_of(app))
      << "\" -- \"$word\"))\n    return\n  fi\n"
         "  case \"$word\" in -*) ;; *) COMPREPLY=($(compgen -f -- \"$word\")); return ;; esac\n"
         "  case \"${COMP_WORDS[1]}\" in\n";
  for (const CLI::App* command : subcommands(app))
    out << "    " << command->get_name() << ") COMPREPLY=($(compgen -W \""
        << words(long_names(*command)) << "\" -- \"$word\")) ;;\n";
  out << "  esac\n}\ncomplete -o filenames -F _lockstep lockstep\n";
  return out.str();
}

std::string quoted(const std::string& text) {
  std::string safe = "'";
  for (char letter : text.substr(0, text.find('\n')))
    safe += letter == '\'' || letter == '\\' ? std::string("\\") + letter : std::string(1, letter);
  return safe + "'";
}

std::string fish(const CLI::App& app) {
  std::ostringstream out;
  for (const CLI::App* command : subcommands(app)) {
    out << "complete -c lockstep -n __fish_use_subcommand -a " << command->get_name() << " -d "
        << quoted(command->get_description()) << "\n";
    for (const CLI::Option* option : options(*command))
      for (const std::string& name : option->get_lnames())
        out << "complete -c lockstep -n '__fish_seen_subcommand_from " << command->get_name()
            << "' -l " << name << " -d " << quoted(option->get_description()) << "\n";
  }
  return out.str();
}

}  // namespace

std::string manual_page(const CLI::App& app) {
  std::ostringstream out;
  const std::string version = version_text();
  out << ".TH LOCKSTEP 1 \"\" \"" << version.substr(0, version.find('\n')) << "\"\n"
      << ".SH NAME\nlockstep \\- " << roff(app.get_description()) << "\n"
      << ".SH SYNOPSIS\n.B lockstep\n.I command\n[options]\n.SH COMMANDS\n";
  for (const CLI::App* command : subcommands(app)) write_subcommand(out, *command);
  out << ".SH EXIT STATUS\n0: success. 1: an internal error. 2: an error that the user can fix, "
         "described on standard error. 130, 143: interrupted by a signal; the run was saved.\n";
  return out.str();
}

std::string completion_script(const CLI::App& app, const std::string& shell) {
  if (shell == "bash") return bash(app);
  if (shell == "zsh") return "autoload -U +X bashcompinit && bashcompinit\n" + bash(app);
  check(shell == "fish", "completion scripts exist for bash, zsh and fish, not for '", shell, "'");
  return fish(app);
}

}  // namespace lockstep
