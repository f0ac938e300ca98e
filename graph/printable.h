// Names come from files, and files from anywhere: a terminal obeys escape codes, a line feed makes
// a line of its own, and both can show what is not there.
#pragma once

#include <string>
#include <string_view>

namespace lockstep {

// With \n, \t, \x1b and the like in place of what is no character to see: control characters,
// codes that turn the direction of text, and bytes that are no UTF-8.
std::string printable(std::string_view text);

// The same, line feeds left as they are: a whole message.
std::string printable_lines(std::string_view text);

// The same between double quotes, with \" and \\ inside: a string of DOT or of C.
std::string in_quotes(std::string_view text);

}  // namespace lockstep
