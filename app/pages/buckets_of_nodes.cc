// SPDX-License-Identifier: Apache-2.0
#include "app/pages/buckets_of_nodes.h"

#include <sstream>
#include <unordered_map>

namespace lockstep {
namespace {

class BucketWalk {
 public:
  BucketWalk(const TrainingModel& model, const std::vector<Phase>& phases)
      : model_(model), graph_(main_graph(model)), phases_(phases) {
    found_.of_node.assign(graph_.node_count(), -1);
  }

  NodeBuckets find() {
    read_plan();
    if (found_.names.empty()) return std::move(found_);
    for (const Replicated& gradient : model_.gradients) {
      const auto bucket = by_gradient_.find(gradient.name);
      if (bucket == by_gradient_.end()) continue;
      for (const std::string& name : gradient.values)
        if (const Value value = graph_.find(name)) walk(value, bucket->second);
    }
    return std::move(found_);
  }

 private:
  // Lines such as `bucket 8196000 bytes: fc.weight fc.bias`. Other lines are choices and comments.
  void read_plan() {
    std::istringstream lines(model_.bucket_plan);
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::string word, bytes;
      if (!(words >> word >> bytes) || word != "bucket") continue;
      words >> word;  // `bytes:`
      while (words >> word) by_gradient_[word] = static_cast<int>(found_.names.size());
      found_.names.push_back(bytes + " bytes");
    }
    const std::size_t count = found_.names.size();
    for (std::size_t i = 0; i < count; ++i)
      found_.names[i] = join(i + 1, " of ", count, ", ", found_.names[i]);
  }

  // Marks the readers of a reduced gradient, and all nodes before it up to the backward pass. Each
  // node is passed once.
  void walk(Value gradient, int bucket) {
    for (const int reader : graph_.consumers(gradient))
      if (phases_[reader] == Phase::update) mark(reader, bucket);
    std::vector<Value> left{gradient};
    while (!left.empty()) {
      const Value value = left.back();
      left.pop_back();
      const auto maker = value ? graph_.producer(value) : std::nullopt;
      if (!maker || phases_[maker->index()] == Phase::forward) continue;
      if (!mark(maker->index(), bucket) || phases_[maker->index()] == Phase::backward) continue;
      left.insert(left.end(), maker->inputs().begin(), maker->inputs().end());
    }
  }

  bool mark(int node, int bucket) {
    if (found_.of_node[node] >= 0) return false;
    found_.of_node[node] = bucket;
    return true;
  }

  const TrainingModel& model_;
  const Graph& graph_;
  const std::vector<Phase>& phases_;
  std::unordered_map<std::string, int> by_gradient_;
  NodeBuckets found_;
};

}  // namespace

NodeBuckets buckets_of_nodes(const TrainingModel& model, const std::vector<Phase>& phases) {
  return BucketWalk(model, phases).find();
}

}  // namespace lockstep
