// SPDX-License-Identifier: Apache-2.0
// Escaping of untrusted names for display: terminals obey escape codes, line feeds start lines, and
// both can fake output.
#pragma once

#include <string>
#include <string_view>

namespace lockstep {

// Escapes invisible characters as \n, \t, \x1b and so on: control characters, codes that change the
// direction of text, and invalid UTF-8.
std::string printable(std::string_view text);

// Like printable(), but keeps line feeds; for whole messages.
std::string printable_lines(std::string_view text);

// Like printable(), in double quotes, with \" and \\ inside: a string of DOT or C.
std::string in_quotes(std::string_view text);

// The text, or its first `most` bytes and `..`: for names in tables and pictures, which a file may
// make a megabyte long. Does not cut within a UTF-8 character.
std::string shortened(std::string_view text, std::size_t most = 120);

// Quotes a word of a printed command if a shell would split or expand the word.
std::string shell_word(std::string_view word);

// Returns the first control character, C0 or C1, escaped as printable() does; "" if there is none.
// `but`: control characters that are allowed.
std::string first_control(std::string_view text, std::string_view but = "");

// Throws for a control character in a text of a configuration or of a file's metadata. The error
// begins with `place`. No path, name or number needs a control character, and each is a trap: NUL
// ends a path early, a line feed forges a line of output.
void refuse_control(std::string_view text, std::string_view place, std::string_view but = "");

}  // namespace lockstep
