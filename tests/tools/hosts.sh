#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Two hosts: network namespaces with a wire between them. Training over both gives the bits of training on one host.
# After the wire is cut, both sides end in time with an error.
#   hosts.sh LOCKSTEP FOLDER
# Exit code 77: this machine allows no namespaces.
set -euo pipefail
lockstep=$1
folder=$2
a=lockstep-a-$$
b=lockstep-b-$$

if ! command -v ip >/dev/null || ! ip netns add "$a" 2>/dev/null; then
  echo "skipped: no network namespaces (they need root and iproute2)"
  exit 77
fi
clean() {
  ip netns delete "$a" 2>/dev/null || true
  ip netns delete "$b" 2>/dev/null || true
}
trap clean EXIT
ip netns add "$b"
ip link add "wa$$" type veth peer name "wb$$" 2>/dev/null || { echo "skipped: no virtual wires"; exit 77; }
ip link set "wa$$" netns "$a"
ip link set "wb$$" netns "$b"
for host in a b; do
  name=${!host}
  ip -n "$name" address add "10.77.0.$([ $host = a ] && echo 1 || echo 2)/24" dev "w$host$$"
  ip -n "$name" link set "w$host$$" up
  ip -n "$name" link set lo up
done

rm -rf "$folder"
mkdir -p "$folder"
cat >"$folder/config.yaml" <<'YAML'
MODEL: {TYPE: mlp, HIDDEN: [16]}
DATA: {TRAIN_SIZE: 200, TEST_SIZE: 50}
TRAIN: {BATCH_SIZE: 32, SNAPSHOT_ITERS: 50}
SOLVER: {MAX_ITER: 100}
YAML

export LOCKSTEP_TOKEN=00112233445566778899aabbccddeeff
# on HOST RANK RUN [KEY VALUE ...]
on() {
  local host=$1 rank=$2 run=$3
  shift 3
  ip netns exec "$host" env RANK="$rank" WORLD_SIZE=2 MASTER_ADDR=10.77.0.1 MASTER_PORT=29777 \
    LOCKSTEP_TIMEOUT=6 "$lockstep" train "$folder/config.yaml" OUTPUT_DIR "$folder/$run" "$@" \
    >"$folder/$run.$rank.log" 2>&1
}
fail() {
  echo "FAILED: $*"
  tail -n 5 "$folder"/*.log
  exit 1
}

on "$b" 1 far &
on "$a" 0 far || fail "rank 0 ended with $?"
wait $! || fail "rank 1 ended with $?"
"$lockstep" launch -n 2 -- "$lockstep" train "$folder/config.yaml" OUTPUT_DIR "$folder/near" >/dev/null
cmp "$folder/far/checkpoint.safetensors" "$folder/near/checkpoint.safetensors" ||
  fail "two hosts trained to other bits than two processes here"
grep -q 'rank 0 serves the store tcp://10.77.0.1:29777 at 10.77.0.1, port 29777' "$folder/far.0.log" ||
  fail "rank 0 does not say where it listens"
echo "two hosts train to the bits of two processes on one"

code=0
LOCKSTEP_TOKEN=ffffffffffffffffffffffffffffffff on "$b" 1 other &
on "$a" 0 other || code=$?
[ $code -eq 2 ] || fail "rank 0 ended with $code, not with 2"
code=0
wait $! || code=$?
[ $code -eq 2 ] || fail "rank 1 ended with $code, not with 2"
grep -q 'has another token than this process' "$folder/other.1.log" || fail "another token is not named"
echo "a rank with another token is not let in"

on "$b" 1 cut SOLVER.MAX_ITER 1000000 &
far=$!
on "$a" 0 cut SOLVER.MAX_ITER 1000000 &
near=$!
for _ in $(seq 100); do
  grep -q 'iter     20/' "$folder/cut.0.log" 2>/dev/null && break
  sleep 0.1
done
start=$SECONDS
ip -n "$a" link set "wa$$" down
for rank in 0 1; do
  code=0
  wait $([ $rank = 0 ] && echo $near || echo $far) || code=$?
  [ $code -eq 2 ] || fail "rank $rank ended with $code, not with 2"
  grep -q "cannot exchange '" "$folder/cut.$rank.log" || fail "rank $rank does not say what it waited for"
done
[ $((SECONDS - start)) -lt 30 ] || fail "it took $((SECONDS - start)) s"
echo "the wire was cut: both ended after $((SECONDS - start)) s"
tail -n 1 "$folder/cut.0.log" "$folder/cut.1.log"
