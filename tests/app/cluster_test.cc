// SPDX-License-Identifier: Apache-2.0
// Cluster files: what they say, and how they are refused.
#include "app/simulate/cluster.h"

#include <gtest/gtest.h>

#include "app/simulate/rounds.h"
#include "tests/support/expect_error.h"

namespace lockstep::testing {
namespace {

constexpr const char* kCluster = R"(HOSTS: 4
DEVICES: 8
PROCESSES: 2
DEVICE:
  FLOPS: 67e12
  BANDWIDTH: 4.8e12
  MEMORY: 141e9
LINKS:
  WITHIN: 2us:300G
  PROCESSES: 4us:200G
  HOSTS: 10us:25G
  TAKE_CORES: true
  SHARED: [HOSTS]
)";

TEST(ClusterFile, SaysHostsDevicesAndLinks) {
  const Cluster cluster = parse_cluster(kCluster, "c.yaml");
  EXPECT_EQ(cluster.all_devices(), 32);
  EXPECT_EQ(cluster.all_processes(), 8);
  EXPECT_EQ(cluster.per_process(), 4);
  EXPECT_EQ(cluster.between(0, 3), LinkKind::within);
  EXPECT_EQ(cluster.between(3, 4), LinkKind::processes);
  EXPECT_EQ(cluster.between(7, 8), LinkKind::hosts);
  EXPECT_DOUBLE_EQ(cluster.link(LinkKind::hosts).speed.bandwidth, 25e9);
  EXPECT_TRUE(cluster.link(LinkKind::hosts).shared);
  EXPECT_FALSE(cluster.link(LinkKind::within).shared);
  EXPECT_TRUE(cluster.messages_take_cores);
  const Cluster again = parse_cluster(yaml_of(cluster), "again.yaml");
  EXPECT_EQ(yaml_of(again), yaml_of(cluster));
}

TEST(ClusterFile, IsRefusedWithItsLineAndKey) {
  const auto refused = [](const std::string& text, const auto&... parts) {
    expect_error([&] { parse_cluster(text, "c.yaml"); }, "c.yaml:", parts...);
  };
  const std::string rates = "DEVICE: {FLOPS: 1e12, BANDWIDTH: 1e11}\n";
  refused("", "c.yaml:1", "is empty", "doctor --measure-links");
  refused("HOSTS: 2\n", "PROFILE", "nothing says how long a kernel takes");
  refused(rates + "HOSTS: 0\n", "c.yaml:2", "HOSTS", "at least 1");
  refused(rates + "HOSTS: two\n", "c.yaml:2", "HOSTS should be an integer");
  refused(rates + "HOST: 2\n", "c.yaml:2", "HOST", "HOSTS");
  refused(rates + "DEVICES: 6\nPROCESSES: 4\n", "c.yaml:3", "PROCESSES", "divisor of 6");
  refused(rates + "HOSTS: 1024\nDEVICES: 8\n", "c.yaml:2", "HOSTS", "8192 devices", "4096");
  refused("DEVICE: {FLOPS: 1e12}\n", "c.yaml:1", "DEVICE.FLOPS", "needs both");
  refused("DEVICE: {FLOPS: -1, BANDWIDTH: 1}\n", "c.yaml:1", "DEVICE.FLOPS", "at least 0");
  refused(rates + "LINKS: {HOSTS: 10us}\n", "c.yaml:2", "LINKS.HOSTS", "latency:bandwidth");
  refused(rates + "LINKS: {HOSTS: 1us:1G/2us:2G}\n", "c.yaml:2", "LINKS.HOSTS", "one latency");
  refused(rates + "LINKS: {SHARED: [WIRES]}\n", "c.yaml:2", "LINKS.SHARED", "WIRES", "PROCESSES");
  refused(rates + "LINKS: {WIRES: 1us:1G}\n", "c.yaml:2", "LINKS.WIRES");
  refused(rates + "- 3\n", "c.yaml:2");
}

TEST(ClusterFile, GivesOtherSizes) {
  const Cluster cluster = parse_cluster(kCluster, "c.yaml");
  const Cluster two = resized(cluster, 2), eight = resized(cluster, 8), many = resized(cluster, 64);
  EXPECT_EQ(two.hosts * 100 + two.devices * 10 + two.processes, 121);
  EXPECT_EQ(eight.hosts * 100 + eight.devices * 10 + eight.processes, 182);
  EXPECT_EQ(many.hosts, 8);
  expect_error([&] { resized(cluster, 12); }, "12 devices", "8");
  EXPECT_EQ(sizes_of_curve(cluster, 64), (std::vector<int>{2, 4, 8, 16, 32, 64}));
  Cluster six = cluster;
  six.devices = 6;
  six.processes = 1;
  EXPECT_EQ(sizes_of_curve(six, 64), (std::vector<int>{2, 4, 6, 12, 30, 60}));
}

// 2 (N - 1) / N of the bytes over the port of each device, in 2 (N - 1) messages one after another.
TEST(AllReduceLaw, ARingOf4096TakesWhatTheTheorySays) {
  Cluster cluster = parse_cluster(kCluster, "c.yaml");
  cluster.hosts = 4096;
  cluster.devices = cluster.processes = 1;
  const std::vector<SumRound> ring = rounds_of({.range = {"xring"}}, cluster);
  const double n = 4096, bytes = 1e9;
  const double adding = 3 * bytes * (n - 1) / n / 4.8e12;
  EXPECT_NEAR(seconds_of(ring, cluster, bytes, 1),
              2 * (n - 1) * (10e-6 + bytes / n / 25e9) + adding, 1e-9);
  EXPECT_NEAR(messages_of(ring), 2 * (n - 1) * n, 1);
  EXPECT_NEAR(bytes_sent(ring, bytes, 0.5) / ((n - 1) * bytes), 1, 1e-9);
  // Halving and doubling move as much in 24 messages.
  const std::vector<SumRound> halving = rounds_of({.range = {"rechd"}}, cluster);
  EXPECT_NEAR(seconds_of(halving, cluster, bytes, 1),
              24 * 10e-6 + 2 * (n - 1) / n * bytes / 25e9 + adding, 1e-9);
  // Eight devices behind one port of a host: each of 8 messages in a tick gets its part.
  cluster.hosts = 512;
  cluster.devices = 8;
  const std::vector<SumRound> direct = rounds_of({.range = {"psgpu", 4096}}, cluster);
  EXPECT_NEAR(seconds_of(direct, cluster, bytes, 1),
              2 * (10e-6 + 8 * (n - 8) * bytes / n / 25e9) + adding, 1e-9);
}

}  // namespace
}  // namespace lockstep::testing
