// A key of a configuration is declared once, as a row: where its value stands, what reads and
// prints it, what it may be, what it means. The reader, the flags of commands, the reference page,
// what a run writes of itself, what a checkpoint remembers and what processes agree on all go by
// these rows.
#pragma once

#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace lockstep {

// A text in the file that stands for a value of the program.
struct ParsedText {
  std::function<void(const std::string& text)> read;  // throws for a text that means nothing
  std::function<std::string()> text;                  // reads back to the same value
};
template <class T, class Parse, class Print>
ParsedText parsed(T& value, Parse parse, Print print) {
  return {[&value, parse](const std::string& text) { value = parse(text); },
          [&value, print] { return std::string(print(value)); }};
}

using KeyTarget = std::variant<std::string*, ParsedText, int*, int64_t*, float*, double*, bool*,
                               std::vector<int>*, std::vector<int64_t>*, std::vector<double>*,
                               std::vector<std::string>*>;

// What else there is to say of a key; most have nothing of it.
struct KeyFacts {
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  std::string detectron = "";  // what Detectron calls it, where that differs
  std::string flag = "";       // "--wire": another spelling of the key, on command lines
  // It decides what the numbers of a checkpoint mean: a run that goes on has the same.
  bool remembered = false;
  // Each process of a run has its own; of all other keys they have the same.
  bool own = false;
  // What processes must have alike of it, where that is not all of it.
  std::function<std::string()> alike = nullptr;
};

struct ConfigKey {
  std::string key;
  KeyTarget target;
  std::string meaning;
  KeyFacts facts = {};
};
using ConfigKeys = std::vector<ConfigKey>;

// Tables one behind the other, but sections stay together, in the order in which they first come.
ConfigKeys joined(std::vector<ConfigKeys> tables);

// "SOLVER" of SOLVER.BASE_LR, "" of DEVICES.
std::string section_of(const std::string& key);
// "a whole number", ..
std::string kind_of(const ConfigKey& key);
// ", from 1 to 1024", or less.
std::string range_of(const ConfigKey& key);
// The greatest number that it takes, or that its type holds; infinity where neither says.
double most_of(const ConfigKey& key);
std::string text_of_number(double number);

// The value as it stands on a command line: texts as they are.
std::string text_of(const ConfigKey& key);
// As a YAML file has it on one line: floats as people write them, texts quoted where they must be.
std::string yaml_of(const ConfigKey& key);

// Every key with its value as text.
std::vector<std::pair<std::string, std::string>> entries_of(const ConfigKeys& keys);
// A file that reads back to the same values.
std::string yaml_of(const ConfigKeys& keys);

}  // namespace lockstep
