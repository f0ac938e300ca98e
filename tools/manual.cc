// SPDX-License-Identifier: Apache-2.0
#include "tools/manual.h"

#include <sstream>

#include "app/version.h"
#include "tools/subcommands.h"

namespace lockstep {
namespace {

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

void write_subcommand(std::ostream& out, const NamedCommand& named) {
  const CLI::App& command = *named.app;
  out << ".SS " << roff(named.words) << "\n" << roff(command.get_description()) << "\n";
  for (const CLI::Option* option : command.get_options()) {
    out << ".TP\n.B " << roff(option->get_name(option->get_positional(), true)) << "\n"
        << roff(option->get_description()) << "\n";
  }
  out << ".PP\n.nf\n" << roff(command.get_footer()) << "\n.fi\n";
}

}  // namespace

std::string manual_page(const CLI::App& app) {
  std::ostringstream out;
  const std::string version = version_text();
  out << ".TH LOCKSTEP 1 \"\" \"" << version.substr(0, version.find('\n')) << "\"\n"
      << ".SH NAME\nlockstep \\- " << roff(app.get_description()) << "\n"
      << ".SH SYNOPSIS\n.B lockstep\n.I command\n[options]\n.SH COMMANDS\n";
  for (const NamedCommand& command : all_commands(app)) write_subcommand(out, command);
  out << ".SH EXIT STATUS\n0: success. 1: an internal error, or diff: something differs. 2: an "
         "error that the user can fix, "
         "described on standard error. 130, 143: interrupted by a signal; the run was saved.\n";
  return out.str();
}

}  // namespace lockstep
