// SPDX-License-Identifier: Apache-2.0
#include "app/inspect/requests.h"
#include "app/simulate/planned_step.h"
#include "graph/auxiliaries.h"
#include "lockstep/data_parallel.h"
#include "lockstep/error.h"
#include "lockstep/operators.h"

namespace lockstep {
namespace {

constexpr int kMostPlanned = 16;     // devices
constexpr int kMostNodes = 120'000;  // of the whole step; takes some ten seconds

// The place of a process in a run that is only planned. Kernels keep their transfers, which no one
// may use.
class PlannedComm final : public Comm {
 public:
  PlannedComm(int rank, int size) : rank_(rank), size_(size) {}

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int size_here() const override { return size_; }
  Transfer& sending(int, uint64_t, const std::string&) override { return transfer_; }
  Transfer& receiving(int, uint64_t, const std::string&) override { return transfer_; }
  void at_step(uint64_t) override { refuse(); }
  void wait_until(const std::function<bool()>&, const std::string&) override { refuse(); }
  void record_messages(std::vector<MessageSpan>*) override { refuse(); }
  Store& store() override { refuse(); }
  void give_up(const std::string&) override {}

 private:
  [[noreturn]] static void refuse() { fail("internal: a plan for looking at was run"); }
  struct NoTransfer final : Transfer {
    void start(void*, std::size_t) override { refuse(); }
    void wait() override { refuse(); }
  };

  int rank_, size_;
  NoTransfer transfer_;
};

// One process's share of the source.
std::unique_ptr<SourcedModel> share_of(const SourcedModel& source, int rank, int processes) {
  RunSettings run = source.run;
  std::vector<Device>& list = run.devices.list;
  const int each = source.model.replicas / processes;
  if (!list.empty()) list.resize(each);
  return std::make_unique<SourcedModel>(
      SourcedModel{LoadedModel{partition(source.model, {rank, processes})}, run, source.shares});
}

}  // namespace

PlannedProcesses::PlannedProcesses(const SourcedModel& source, const Cluster& cluster)
    : source_(source) {
  const std::string why = why_not_planned(source, cluster);
  check(why.empty(), why);
  const int processes = cluster.all_processes();
  const std::vector<KernelTable>& kernels = all_kernels();
  for (int rank = 0; rank < processes; ++rank) {
    if (processes > 1) {
      comms_.push_back(std::make_unique<PlannedComm>(rank, processes));
      parts_.push_back(share_of(source, rank, processes));
    }
    CompileRequest request =
        plan_request(part(rank), false, devices_of(part(rank), false), kernels);
    request.limits_memory = false;
    if (processes > 1) request.comm = comms_.back().get();
    plans_.push_back(std::make_unique<Plan>(compile(request)));
  }
}

PlannedProcesses::~PlannedProcesses() { plans_.clear(); }

std::string why_not_planned(const SourcedModel& source, const Cluster& cluster) {
  const TrainingModel& model = source.model;
  if (model.replicas != cluster.all_devices())
    return join("the step has ", model.replicas, model.replicas == 1 ? " replica" : " replicas",
                " and the cluster ", cluster.all_devices(), " devices");
  if (auxiliaries_of(model) > 0) return "the step has auxiliary devices";
  if (cluster.all_devices() > kMostPlanned)
    return join("plans of more than ", kMostPlanned, " devices take too long");
  if (model.step.node_count() > kMostNodes)
    return join("a step of ", model.step.node_count(), " nodes takes too long to plan");
  return "";
}

}  // namespace lockstep
