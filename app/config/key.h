// SPDX-License-Identifier: Apache-2.0
// Keys of a configuration. Each key is declared once, as a row: its target, parser and printer, its
// range and its meaning. The reader, the commands' flags, the reference page, a run's own
// configuration, checkpoints and the agreement of processes all use these rows.
#pragma once

#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "app/config/named_sections.h"
#include "lockstep/data_parallel.h"

namespace lockstep {

// A value of the program with a textual form in the file.
struct ParsedText {
  std::function<void(const std::string& text)> read;  // throws for invalid text
  std::function<std::string()> text;                  // read() parses this text to an equal value
  std::vector<std::string> words = {};                // all possible values, if there are few
};
template <class T, class Parse, class Print>
ParsedText parsed(T& value, Parse parse, Print print) {
  return {[&value, parse](const std::string& text) { value = parse(text); },
          [&value, print] { return std::string(print(value)); }};
}

using KeyTarget =
    std::variant<std::string*, ParsedText, int*, int64_t*, float*, double*, bool*,
                 std::vector<int>*, std::vector<int64_t>*, std::vector<double>*,
                 std::vector<std::string>*, NamedSections*, std::vector<PatternFactor>*>;

// Further facts about a key; most keys have none.
struct KeyFacts {
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  std::string detectron = "";   // Detectron's name, if different
  std::string flag = "";        // "--wire": the key's flag on command lines
  std::string flag_alone = "";  // the value of a flag that stands alone; "": the flag needs a value
  // The key decides the meaning of a checkpoint's numbers: a resumed run must have an equal value.
  bool remembered = false;
  // The value may change when a run is resumed. A checkpoint stores the value, and the resumed run
  // says that its bits may differ from an uninterrupted run's.
  bool decides_bits = false;
  // May differ between the processes of a run; all other keys must be equal.
  bool own = false;
  // Accepted in files written for Detectron, without effect. A string key then accepts a value of
  // any kind.
  bool unused = false;
  // A string key whose value may also be a list or a section: the string is one line of YAML
  // (nested.h).
  bool nested = false;
  // Possible words of a text, or of a list's items; shells complete them.
  std::vector<std::string> words = {};
  // The part that must be equal in all processes, if not the whole value.
  std::function<std::string()> alike = nullptr;
};

struct ConfigKey {
  std::string key;
  KeyTarget target;
  std::string meaning;
  KeyFacts facts = {};
};
using ConfigKeys = std::vector<ConfigKey>;

// Concatenates tables, keeping sections together in the order of their first key.
ConfigKeys joined(std::vector<ConfigKeys> tables);

// "SOLVER" of SOLVER.BASE_LR, "" of DEVICES.
std::string section_of(const std::string& key);
// The kind of the key's value: "an integer", ..
std::string kind_of(const ConfigKey& key);
// ", from 1 to 1024", or shorter.
std::string range_of(const ConfigKey& key);
// The largest number allowed by its range or type; infinity if there is no limit.
double most_of(const ConfigKey& key);
std::string text_of_number(double number);
// The values that a shell completes after the key, as words of a command line; empty: any value.
std::vector<std::string> words_of(const ConfigKey& key);

// The value as on a command line: texts unquoted.
std::string text_of(const ConfigKey& key);
// The value as one line of YAML: short floats, texts quoted if necessary.
std::string yaml_of(const ConfigKey& key);

// Every key with its value as text.
std::vector<std::pair<std::string, std::string>> entries_of(const ConfigKeys& keys);
// A YAML file that parses to equal values.
std::string yaml_of(const ConfigKeys& keys);

}  // namespace lockstep
