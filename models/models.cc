#include "models/models.h"

#include <array>

namespace lockstep {
namespace {

struct Entry {
  const char* name;
  ModelFn (*make)(const ClassifierOptions&);
};

constexpr std::array<Entry, 2> kModels{{{"lenet", lenet}, {"mlp", mlp}}};

}  // namespace

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const Entry& entry : kModels) names.emplace_back(entry.name);
  return names;
}

ModelFn model_named(const std::string& name, const ClassifierOptions& options) {
  for (const Entry& entry : kModels)
    if (name == entry.name) return entry.make(options);
  std::string known;
  for (const std::string& one : model_names()) known += " " + one;
  std::string near = nearest(name, model_names());
  fail("there is no model '", name, "'", near.empty() ? "" : "; did you mean '" + near + "'?",
       " Models:", known);
}

}  // namespace lockstep
