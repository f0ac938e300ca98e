// SPDX-License-Identifier: Apache-2.0
#include "builders/step/embeddings.h"

#include <algorithm>
#include <optional>
#include <set>

#include "builders/all_reduce/packing.h"
#include "builders/all_reduce/spec.h"
#include "lockstep/data_parallel.h"
#include "lockstep/operators.h"
#include "operators/collective/collective.h"

namespace lockstep {
namespace {

bool takes_means(const DataParallelOptions& options) {
  return options.all_reduce.spec.reduction == Reduction::mean;
}

// The nodes that compute a table's gradient from gradients of rows.
struct TableReads {
  std::vector<int> gathers;  // GatherGrad
  std::vector<int> sums;     // over uses and micro-batches
  bool others = false;       // the gradient has other terms
};

void find_reads(const Graph& graph, Value gradient, TableReads& reads) {
  const auto maker = graph.producer(gradient);
  if (!maker) {
    reads.others = true;
  } else if (maker->type() == "GatherGrad") {
    reads.gathers.push_back(maker->index());
  } else if (maker->domain().empty() && (maker->type() == "Add" || maker->type() == "Sum")) {
    const bool again =
        std::find(reads.sums.begin(), reads.sums.end(), maker->index()) != reads.sums.end();
    if (again) {  // a term of several sums: not searched again
      reads.others = true;
      return;
    }
    reads.sums.push_back(maker->index());
    for (Value term : maker->inputs()) find_reads(graph, term, reads);
  } else {
    reads.others = true;
  }
}

// True if other nodes read results of these nodes, as is the case if the table is a sum of
// parameters.
bool read_by_others(const Graph& graph, const TableReads& reads) {
  std::set<int> own(reads.gathers.begin(), reads.gathers.end());
  own.insert(reads.sums.begin(), reads.sums.end());
  for (int node : own)
    for (int user : graph.consumers(graph.node(node).outputs()[0]))
      if (!own.contains(user)) return true;
  return false;
}

// The reason why no gradient of this step can be summed by rows; "" if there is none.
std::string obstacle(const DataParallelOptions& options) {
  if (options.embeddings == EmbeddingSum::dense) return "as asked for";
  if (options.weighted) return "replicas' shares of the batch may differ";
  if (options.deferred) return "it is kept until the next step";
  if (options.clip.before_reduce && options.clip.active())
    return "each replica's own is clipped before the sum";
  if (options.skip_non_finite) return "each replica's own is checked before the sum";
  if (const AllReduceRange* range = unsummed_range(options.all_reduce.spec))
    return join(range->algorithm, " does not sum");
  return "";
}

// The reason why one parameter's gradient cannot be summed by rows; "" if there is none.
std::string obstacle(const Graph& graph, const TableReads& reads, std::size_t parts) {
  if (reads.others) return "other operators than Gather read the table, too";
  if (reads.gathers.size() != parts)
    return join(reads.gathers.size() / parts, " operators read the table");
  if (read_by_others(graph, reads)) return "Gather reads a sum of it and others";
  const int64_t axis = graph.node(reads.gathers[0]).attributes().integer("axis", 0);
  return axis == 0 ? "" : join("it is read along axis ", axis);
}

// The number of rows that a replica reads in a step. Empty if the number is not known yet.
std::optional<int64_t> rows_read(const Graph& graph, const TableReads& reads, int64_t share) {
  int64_t rows = 0;
  for (int gather : reads.gathers) {
    int64_t here = 1, unknown = 0;
    for (const Dim& dim : graph.shape(graph.node(gather).inputs()[2]))
      dim.known() ? here *= dim.size() : ++unknown;
    if (unknown > 1 || (unknown == 1 && share == 0)) return std::nullopt;
    const auto parts = static_cast<int64_t>(reads.gathers.size());
    rows += unknown == 1 ? here * ((share + parts - 1) / parts) : here;
  }
  return rows;
}

int64_t known_share(const DataParallelOptions& options) {
  return options.resident.any() ? options.resident.limits.minibatch : options.share;
}

// Bytes that each replica receives.
struct SumBytes {
  int64_t whole = 0;
  std::optional<int64_t> by_rows;
};

SumBytes sum_bytes(const Graph& graph, const TableReads& reads, const Dims& table,
                   const DataParallelOptions& options) {
  const Node gather = graph.node(reads.gathers[0]);
  const DType wire = options.all_reduce.wire;
  const auto element = static_cast<int64_t>(
      size_of(wire == DType::undefined ? graph.dtype(gather.inputs()[0]) : wire));
  const auto place = static_cast<int64_t>(size_of(graph.dtype(gather.inputs()[2])));
  const int64_t n = options.replicas, count = element_count(table);
  SumBytes bytes{2 * (n - 1) * count * element / n, std::nullopt};  // reduce-scatter, all-gather
  if (const auto rows = rows_read(graph, reads, known_share(options)))
    bytes.by_rows = (n - 1) * *rows * (count / table[0] * element + place);
  return bytes;
}

struct SumChoice {
  bool by_rows;
  std::string why;
};

SumChoice choose_sum(const SumBytes& bytes, const std::string& obstacle, EmbeddingSum how) {
  const std::string both =
      join("; bytes to a replica: ", bytes.by_rows ? join(*bytes.by_rows) : "an unknown number",
           " by rows, ", bytes.whole, " as a whole");
  if (!obstacle.empty()) return {false, join("as a whole: ", obstacle, both)};
  if (how == EmbeddingSum::sparse) return {true, join("by rows: as asked for", both)};
  if (!bytes.by_rows) return {false, join("as a whole: a replica's share is not known", both)};
  return *bytes.by_rows < bytes.whole ? SumChoice{true, "by rows" + both}
                                      : SumChoice{false, "as a whole" + both};
}

// Removes these nodes, and renumbers the values that `one` lists.
void drop_nodes(OneReplica& one, const std::vector<int>& nodes) {
  std::vector<bool> kept(one.graph.node_count(), true);
  for (int node : nodes) kept[node] = false;
  const std::vector<Value> moved = one.graph.keep(kept);
  one.for_each_value([&](Value& value) { value = moved[value.id]; });
}

// Concatenates tensors of rows.
Value concat_rows(Graph& graph, const std::vector<Value>& parts, const std::string& name) {
  return parts.size() == 1 ? parts[0] : concat(graph, parts, 0, name);
}

Value flat_rows(Graph& graph, Value x, const Dims& shape, const std::string& name) {
  if (graph.shape(x).size() == shape.size()) return x;
  return reshape(graph, x, shape, name);
}

}  // namespace

EmbeddingSum parse_embedding_sum(const std::string& text) {
  for (EmbeddingSum sum : {EmbeddingSum::automatic, EmbeddingSum::dense, EmbeddingSum::sparse})
    if (text == text_of(sum)) return sum;
  fail("gradients of embeddings are summed 'auto', 'dense' or 'sparse', not '", text, "'");
}

std::string text_of(EmbeddingSum sum) {
  switch (sum) {
    case EmbeddingSum::dense:
      return "dense";
    case EmbeddingSum::sparse:
      return "sparse";
    case EmbeddingSum::automatic:
      break;
  }
  return "auto";
}

EmbeddingSums::EmbeddingSums(OneReplica& one, const DataParallelOptions& options) {
  if (options.replicas == 1) return;
  const Graph& graph = one.graph;
  const AllReduceOptions& reduce = options.all_reduce;
  const auto planned = names_in_buckets(reduce.buckets, reduce.buckets_from);
  std::vector<int> dropped;
  std::vector<std::string> names;  // names of the values in tables_: drop_nodes() renumbers values
  for (std::size_t p = 0; p < one.params.size(); ++p) {
    if (!one.gradients[p] || element_count(one.params[p].dims) == 0) continue;
    TableReads reads;
    find_reads(graph, one.gradients[p], reads);
    if (reads.gathers.empty()) continue;
    std::string why_not = obstacle(options);
    if (why_not.empty() && planned.contains(one.params[p].name))
      why_not = "the bucket plan lists it";
    if (why_not.empty()) why_not = obstacle(graph, reads, one.parts.size());
    const SumChoice choice = choose_sum(sum_bytes(graph, reads, one.params[p].dims, options),
                                        why_not, options.embeddings);
    choices_[join("embedding ", one.params[p].name)] = choice.why;
    if (!choice.by_rows) continue;
    tables_.push_back({p, {}, choice.why});
    for (int gather : reads.gathers) {
      tables_.back().parts.push_back({});
      for (std::size_t i : {0, 2}) names.push_back(graph.name(graph.node(gather).inputs()[i]));
    }
    dropped.insert(dropped.end(), reads.gathers.begin(), reads.gathers.end());
    dropped.insert(dropped.end(), reads.sums.begin(), reads.sums.end());
    one.gradients[p] = none;
  }
  if (tables_.empty()) return;
  drop_nodes(one, dropped);
  std::size_t next = 0;
  for (Table& table : tables_)
    for (Part& part : table.parts)
      for (Value* value : {&part.rows, &part.places}) *value = graph.at(names[next++]);
}

void EmbeddingSums::add_to(OneReplica& one, const DataParallelOptions& options) const {
  Graph& graph = one.graph;
  const DType wire = options.all_reduce.wire;
  for (const Table& table : tables_) {
    const Net::Param& param = one.params[table.param];
    const std::string gradient = param.name + "_grad";
    const auto named = [&](const char* what) { return gradient + what; };
    const auto of_part = [&](const char* what, std::size_t i) {
      return table.parts.size() == 1 ? named(what) : join(gradient, what, "_", i);
    };
    Dims row_shape = param.dims;
    row_shape[0] = -1;
    std::vector<Value> all_rows, all_places;
    for (std::size_t i = 0; i < table.parts.size(); ++i) {
      const Part& part = table.parts[i];
      all_rows.push_back(flat_rows(graph, part.rows, row_shape, of_part("_rows", i)));
      all_places.push_back(flat_rows(graph, part.places, {-1}, of_part("_places", i)));
    }
    Value rows = concat_rows(graph, all_rows, named("_own_rows"));
    const Value places = concat_rows(graph, all_places, named("_own_places"));
    const DType type = graph.dtype(rows);
    if (takes_means(options))
      rows = scale(graph, rows, 1.F / static_cast<float>(options.replicas), named("_rows_scaled"));
    if (wire != DType::undefined) rows = cast(graph, rows, wire, named("_rows_sent"));
    const auto gathered = [&](Value own, const std::string& name, const std::string& why) {
      return all_gather(graph, {own}, {options.replicas, why}, {name}, name)[0];
    };
    Value of_all = gathered(rows, named("_all_rows"), table.why);
    const Value places_of_all = gathered(places, named("_all_places"), "");
    if (wire != DType::undefined) of_all = cast(graph, of_all, type, named("_rows_received"));
    one.gradients[table.param] = graph.add_value(
        {.type = "GatherGrad",
         .domain = kOwnDomain,
         .inputs = {of_all, shape_of(graph, param.value, named("_shape")), places_of_all},
         .attributes = {{"axis", int64_t{0}}}},
        named(takes_means(options) ? "_mean" : "_sum"));
  }
}

}  // namespace lockstep
