// SPDX-License-Identifier: Apache-2.0
// Escaping of untrusted names for display: terminals obey escape codes, line feeds start lines, and
// both can fake output.
#pragma once

#include <string>
#include <string_view>

namespace lockstep {

// Escapes what is not a visible character as \n, \t, \x1b and the like: control characters, codes
// that change the direction of text, and invalid UTF-8.
std::string printable(std::string_view text);

// The same, keeping line feeds: for whole messages.
std::string printable_lines(std::string_view text);

// The same in double quotes, with \" and \\ inside: a string of DOT or of C.
std::string in_quotes(std::string_view text);

// A word of a printed command: in single quotes where a shell would split or expand it.
std::string shell_word(std::string_view word);

// The first control character, C0 or C1, escaped as printable() does; "" if there is none.
// `but`: control characters that are allowed.
std::string first_control(std::string_view text, std::string_view but = "");

// The one rule for every text of a configuration and of a file's metadata: throws, beginning with
// `place`, for a control character. No path, name or number needs any, and each is a trap: NUL ends
// a path early, a line feed forges a line of output.
void refuse_control(std::string_view text, std::string_view place, std::string_view but = "");

}  // namespace lockstep
