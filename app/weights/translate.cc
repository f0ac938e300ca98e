// SPDX-License-Identifier: Apache-2.0
#include "app/weights/translate.h"

#include <optional>
#include <vector>

#include "app/weights/folding.h"
#include "graph/average.h"

namespace lockstep {
namespace {

constexpr const char* kParallelPrefix = "module.";  // of PyTorch's data-parallel wrapper
constexpr const char* kCounter = "num_batches_tracked";

class Translation {
 public:
  Translation(StateValues file, const WeightsSource& source, const TranslationOptions& options)
      : source_(source), options_(options), file_(std::move(file)) {}

  TranslatedWeights result() {
    if (source_.to_pytorch || (source_.to_detector && options_.for_detector)) {
      drop_prefix();
      take_averages();
      drop_counters();
      if (source_.to_pytorch) rename(*source_.to_pytorch);
      if (source_.to_detector && options_.for_detector) rename(*source_.to_detector);
    }
    return {std::move(file_), std::move(from_), std::move(folded_)};
  }

 private:
  bool is_kept(const std::string& name) const { return options_.kept.count(name) > 0; }
  std::string in_file(const std::string& name) const {
    const auto found = from_.find(name);
    return found == from_.end() ? name : found->second;
  }
  void move_to(const std::string& name, const std::string& now) {
    check(file_.count(now) == 0, options_.path, ": '", in_file(name), "' and '", in_file(now),
          "' are both ", now);
    auto node = file_.extract(name);
    node.key() = now;
    file_.insert(std::move(node));
    from_[now] = in_file(name);
    from_.erase(name);
  }
  void fold_away(const std::string& name) {
    folded_.insert(in_file(name));
    from_.erase(name);
    file_.erase(name);
  }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& [name, unused] : file_) names.push_back(name);
    return names;
  }

  void drop_prefix() {
    const std::string prefix = kParallelPrefix;
    for (const std::string& name : names())
      if (name.starts_with(prefix) && !is_kept(name)) move_to(name, name.substr(prefix.size()));
  }

  // A checkpoint may have the moving average of a parameter beside the parameter.
  void take_averages() {
    for (const std::string& name : names()) {
      const auto average = file_.find(average_of(name));
      if (average == file_.end() || is_kept(average->first)) continue;
      if (!options_.raw) file_.at(name) = std::move(average->second);
      folded_.insert(average->first);
      file_.erase(average);
    }
  }

  // Batch norms of PyTorch count their steps. Our checkpoints have the statistics of each replica.
  void drop_counters() {
    for (const std::string& name : names()) {
      const bool is_counter = name.ends_with(kCounter) || name.find('@') != name.npos;
      if (!is_counter || is_kept(name)) continue;
      fold_away(name);
    }
  }

  // Changes read the tensors as they were before this table.
  void rename(const WeightRules& rules) {
    struct Renamed {
      std::string name, now;
      std::optional<Literal> value;
    };
    std::vector<Renamed> all;
    std::set<std::string> used;
    for (const auto& [name, value] : file_) {
      if (is_kept(name)) continue;
      const RuledName ruled = ruled_name(rules, name, norm_of(name));
      if (!ruled.rule) continue;
      Renamed renamed{name, ruled.name, {}};
      if (ruled.rule->change)
        renamed.value = ruled.rule->change(
            {file_, options_.path, name, source_.picture, source_.epsilon, used});
      all.push_back(std::move(renamed));
    }
    for (Renamed& renamed : all) {
      if (renamed.value) file_.at(renamed.name) = std::move(*renamed.value);
      move_to(renamed.name, renamed.now);
    }
    for (const std::string& name : used)
      if (file_.count(name) > 0) fold_away(name);
  }
  RuleFor norm_of(const std::string& name) const {
    return file_.count(statistic_beside(name, "running_var")) > 0 ? RuleFor::batch_norm
                                                                  : RuleFor::group_norm;
  }
  const WeightsSource& source_;
  const TranslationOptions& options_;
  StateValues file_;
  std::map<std::string, std::string> from_;
  std::set<std::string> folded_;
};

}  // namespace

TranslatedWeights translated(StateValues file, const WeightsSource& source,
                             const TranslationOptions& options) {
  if (options.for_detector && (source.to_pytorch || source.to_detector))
    check(source.picture.has_value(), options.path, ": is ", source.name,
          ", and its metadata names no preparation of colour pictures, so that its first "
          "convolution cannot be fitted to a detector's pictures");
  return Translation(std::move(file), source, options).result();
}

}  // namespace lockstep
