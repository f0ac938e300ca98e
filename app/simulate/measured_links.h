// SPDX-License-Identifier: Apache-2.0
// Latency and bandwidth of the links of this machine, or of all processes of a run, measured with
// real messages and real copies.
#pragma once

#include <string>
#include <vector>

#include "app/simulate/cluster.h"
#include "lockstep/device.h"
#include "lockstep/kernel.h"
#include "lockstep/processes.h"

namespace lockstep {

struct LinkMeasurement {
  std::size_t large = std::size_t{16} << 20U;  // bytes of a message that measures bandwidth
  int small_messages = 200;                    // there and back
  int large_messages = 5;
};

// Between replicas of this process: copies of a plan from one replica to the other and back.
Link measure_copies(const std::vector<Device>& two, const std::vector<KernelTable>& kernels,
                    const LinkMeasurement& how = {});

// Messages from rank `a` to rank `b` and back. All ranks make the call; ranks that take no part
// return at once. The result is on both ranks.
Link measure_messages(Comm& comm, int a, int b, const LinkMeasurement& how = {});

// The rates that each process measures for its own device, while all processes measure.
struct DeviceRates {
  double flops = 0, bandwidth = 0;
};

// The cluster of all processes, complete on rank 0. `devices`: of this process; all processes have
// as many. `comm`: null for a single process. Throws if hosts have unequal numbers of processes.
Cluster measured_cluster(Comm* comm, const std::vector<Device>& devices, const DeviceRates& rates,
                         const std::vector<KernelTable>& kernels, const LinkMeasurement& how = {});

}  // namespace lockstep
