// SPDX-License-Identifier: Apache-2.0
// Keys of a configuration. Each is declared once, as a row: the place of its value, how to read and
// print it, its range, its meaning. The reader, the commands' flags, the reference page, a run's
// own configuration, checkpoints and the agreement of processes all use these rows.
#pragma once

#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "app/config/named_sections.h"

namespace lockstep {

// A value of the program with a textual form in the file.
struct ParsedText {
  std::function<void(const std::string& text)> read;  // throws for invalid text
  std::function<std::string()> text;                  // read() parses it to the same value
  std::vector<std::string> words = {};                // all that it may be, if these are few
};
template <class T, class Parse, class Print>
ParsedText parsed(T& value, Parse parse, Print print) {
  return {[&value, parse](const std::string& text) { value = parse(text); },
          [&value, print] { return std::string(print(value)); }};
}

using KeyTarget = std::variant<std::string*, ParsedText, int*, int64_t*, float*, double*, bool*,
                               std::vector<int>*, std::vector<int64_t>*, std::vector<double>*,
                               std::vector<std::string>*, NamedSections*>;

// A wish of a key that this version does not fulfil. Commands whose scores or files would lack
// something refuse the key; others note it.
struct NotDone {
  std::vector<std::string> refused_by;    // commands: test, infer, ..
  std::function<bool()> asked = nullptr;  // whether the key's present value has the wish
  std::string way_out = "";               // the end of the error; "": a switch is turned round
  bool noted = true;                      // false: the network's own notes say it
};

// Further facts about a key; most keys have none.
struct KeyFacts {
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  std::string detectron = "";  // Detectron's name, if different
  std::string flag = "";       // "--wire": the key's flag on command lines
  // It decides the meaning of a checkpoint's numbers: a resumed run must have the same value.
  bool remembered = false;
  // May change when a run is resumed, which then may have other bits than an uninterrupted one and
  // says so: a checkpoint stores the value.
  bool decides_bits = false;
  // May differ between the processes of a run; all other keys must be equal.
  bool own = false;
  // Accepted for files written for Detectron, but without effect; a text takes any value.
  bool unused = false;
  // Words that a text may be, or that the items of a list may be: what a shell completes.
  std::vector<std::string> words = {};
  // The part that must be equal in all processes, if not the whole value.
  std::function<std::string()> alike = nullptr;
  NotDone not_done = {};
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
// "an integer", ..
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
// A file that parses to the same values.
std::string yaml_of(const ConfigKeys& keys);

}  // namespace lockstep
