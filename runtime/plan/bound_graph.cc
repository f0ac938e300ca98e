// SPDX-License-Identifier: Apache-2.0
#include "runtime/plan/bound_graph.h"

#include <map>

#include "graph/passes/bind.h"
#include "graph/passes/postpone.h"
#include "graph/passes/share.h"
#include "runtime/kernel/rewrite.h"
#include "runtime/plan/deferred_collectives.h"
#include "runtime/plan/fold.h"
#include "runtime/plan/layouts.h"
#include "runtime/plan/workers_of_nodes.h"

namespace lockstep {
namespace {

Graph bound_to_shapes(const CompileRequest& request) {
  std::map<std::string, Dims> feeds;
  for (std::size_t i = 0; i < request.feeds.size(); ++i)
    feeds[request.feeds[i]] = request.feed_dims[i];
  std::vector<std::string> wanted = request.fetches;
  for (const Binding& update : request.updates) wanted.push_back(update.value);
  return bind_shapes(request.graph, feeds, wanted, folder_for(request.kernels), request.owners);
}

// Shares states that are equal on all replicas, if the replicas are in host memory.
Shared shared_graph(Graph bound, const CompileRequest& request) {
  if (!request.options.share || !in_host_memory(request) || request.common.states.empty())
    return {std::move(bound), request.updates, {}, ""};
  return share_states(std::move(bound), request.common, request.updates, request.fetches);
}

RewriteContext context_of(const CompileRequest& request) {
  RewriteContext context{{request.fetches.begin(), request.fetches.end()}, request.updates};
  for (const Binding& update : request.updates) context.values.insert(update.value);
  context.states = {request.states.begin(), request.states.end()};
  context.exact = request.options.exact;
  context.one_memory = in_host_memory(request);
  return context;
}

// Applies all rewrites of the request's devices, in order.
Rewritten rewritten(Rewritten all, RewriteContext& context, const CompileRequest& request,
                    std::vector<Rewrite> Rewrites::*passes) {
  if (!request.options.rewrites) return all;
  for (const KernelTable& table : request.kernels) {
    if (table.kind() != request.devices[0].kind) continue;
    for (const Rewrite pass : table.rewrites().*passes) {
      Rewritten next = pass(all.graph, context);
      all.graph = std::move(next.graph);
      all.moved = moved_on(std::move(all.moved), next.moved);
      all.notes.insert(all.notes.end(), next.notes.begin(), next.notes.end());
      all.kept.insert(all.kept.end(), next.kept.begin(), next.kept.end());
      for (const Binding& kept : next.kept) context.values.insert({kept.state, kept.value});
    }
  }
  return all;
}

Graph with_late_communication(Graph bound, const CompileRequest& request) {
  const auto communicates = [](const Node& node) {
    return node.op()->collective || node.op()->exchange;
  };
  if (communication_has_queues(request.devices))
    postpone_what_follows(bound, communicates);
  else
    postpone(bound, deferred_collectives(bound, last_communication(bound, communicates)));
  return bound;
}

LaidOut laid_out(Graph bound, const CompileRequest& request) {
  if (request.options.layouts) return lay_out(bound, request);
  LaidOut rows{std::move(bound), {}, {}, {}};
  for (const std::string& fetch : request.fetches) rows.fetched.push_back(rows.graph.at(fetch));
  for (const Binding& update : request.updates) rows.updated.push_back(rows.graph.at(update.value));
  return rows;
}

// Applies the rewrites that depend on layouts. A value kept for the next run has the layout of the
// state that it replaces.
LaidOut rewritten_in_layouts(LaidOut laid, const CompileRequest& request, Rewritten& all) {
  laid.layouts.resize(laid.graph.value_count());
  RewriteContext context = context_of(request);
  for (int id = 0; id < laid.graph.value_count(); ++id)
    if (laid.layouts[id].is_tiles())
      context.filter_layouts.insert({laid.graph.name({id}), laid.layouts[id]});
  Rewritten next =
      rewritten(unchanged(std::move(laid.graph)), context, request, &Rewrites::after_layouts);
  LaidOut made{std::move(next.graph), {}, {}, {}};
  made.layouts.resize(made.graph.value_count());
  for (std::size_t id = 0; id < next.moved.size(); ++id)
    if (next.moved[id]) made.layouts[next.moved[id].id] = laid.layouts[id];
  for (const Binding& kept : next.kept)
    made.layouts[made.graph.at(kept.value).id] = made.layouts[made.graph.at(kept.state).id];
  const auto moved = [&](Value value) {
    check(bool(next.moved[value.id]), "internal: a rewrite dropped a result of the step");
    return next.moved[value.id];
  };
  for (Value value : laid.fetched) made.fetched.push_back(moved(value));
  for (Value value : laid.updated) made.updated.push_back(moved(value));
  all.notes.insert(all.notes.end(), next.notes.begin(), next.notes.end());
  all.kept.insert(all.kept.end(), next.kept.begin(), next.kept.end());
  return made;
}

}  // namespace

BoundGraph bound_graph(const CompileRequest& given) {
  CompileRequest request = given;
  // 1. shapes of this batch, constants, pruning; sharing of states between replicas
  Shared shared = shared_graph(bound_to_shapes(request), request);
  request.updates = shared.updates;
  // 2. fusions, and on GPUs kept copies, per device
  RewriteContext context = context_of(request);
  Rewritten bound = unchanged(std::move(shared.graph));
  if (!shared.note.empty()) bound.notes.push_back(shared.note);
  bound = rewritten(std::move(bound), context, request, &Rewrites::before_layouts);
  // 3. order: queues overlap, CPU workers synchronise rarely
  bound.graph = with_late_communication(std::move(bound.graph), request);
  // 4. layouts, reorders where kernels disagree, kept copies
  LaidOut laid = rewritten_in_layouts(laid_out(std::move(bound.graph), request), request, bound);
  // 5. nodes that need not run again
  BoundGraph step{.graph = std::move(laid.graph),
                  .layouts = std::move(laid.layouts),
                  .fetched = std::move(laid.fetched),
                  .updates = request.updates,
                  .updated = std::move(laid.updated),
                  .kept = {},
                  .fixed = {},
                  .shared = std::move(shared.states),
                  .notes = std::move(bound.notes)};
  for (const Binding& kept : bound.kept)
    step.kept.push_back({step.graph.at(kept.state), step.graph.at(kept.value)});
  std::vector<Value> results = step.fetched;
  results.insert(results.end(), step.updated.begin(), step.updated.end());
  step.fixed = put_cached_part_first(step.graph, request, results, step.kept);
  return step;
}

}  // namespace lockstep
