#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Training under each installed launcher gives the bits of `lockstep launch`. Two simultaneous runs and busy ports cause
# no errors.
#   launchers.sh LOCKSTEP FOLDER
# Exit code 77: no launcher is installed.
set -euo pipefail
lockstep=$1
folder=$2
rm -rf "$folder"
mkdir -p "$folder"
cat >"$folder/config.yaml" <<'YAML'
THREADS: 1
MODEL: {TYPE: mlp, HIDDEN: [16]}
DATA: {TRAIN_SIZE: 200, TEST_SIZE: 50}
TRAIN: {BATCH_SIZE: 32, SNAPSHOT_ITERS: 50}
SOLVER: {MAX_ITER: 60}
YAML
export LOCKSTEP_TIMEOUT=30

fail() {
  echo "FAILED: $*"
  tail -n 20 "$folder"/*.log
  exit 1
}
# train_into RUN: a program, because launchers cannot start shell functions
cat >"$folder/train_into" <<SH
#!/bin/sh
exec "$lockstep" train "$folder/config.yaml" OUTPUT_DIR "$folder/\$1"
SH
chmod +x "$folder/train_into"
# same RUN: the weights equal the weights of the reference run
same() { cmp "$folder/$1/checkpoint.safetensors" "$folder/$2/checkpoint.safetensors" || fail "$1 trained to other bits than $2"; }
# hold.py PORT FILE: listens at the port while its parent lives; creates the file once it listens.
cat >"$folder/hold.py" <<'PY'
import os, socket, sys, time
parent = os.getppid()
listening = socket.socket(socket.AF_INET6)
listening.bind(("::", int(sys.argv[1])))
listening.listen()
open(sys.argv[2], "w").close()
while os.getppid() == parent:
    time.sleep(0.1)
PY

"$lockstep" launch -n 2 -- "$folder/train_into" two >"$folder/two.log" 2>&1 || fail "launch ended with $?"
"$lockstep" launch -n 4 -- "$folder/train_into" four >"$folder/four.log" 2>&1 || fail "launch ended with $?"

# The port given to rank 0 gets busy before rank 0 listens.
cat >"$folder/on_busy_port.sh" <<SH
if [ "\$RANK" = 0 ]; then
  python3 "$folder/hold.py" "\$MASTER_PORT" "$folder/held" &
  until [ -e "$folder/held" ]; do sleep 0.05; done
fi
exec "$folder/train_into" busy
SH
"$lockstep" launch -n 2 -- bash "$folder/on_busy_port.sh" >"$folder/busy.log" 2>&1 || fail "launch on a busy port ended with $?"
same busy two
echo "launch: a busy port disturbs nobody"

found=0
if command -v mpirun >/dev/null && mpirun --version | grep -q 'Open MPI'; then
  found=1
  mpi=(mpirun --allow-run-as-root --oversubscribe)
  "${mpi[@]}" -n 2 "$folder/train_into" mpi >"$folder/mpi.log" 2>&1 || fail "mpirun ended with $?"
  same mpi two
  # Run separately: two simultaneous starts may both create Open MPI's folder in /tmp, and the second fails.
  apart=$(mktemp -d)
  "${mpi[@]}" --mca orte_tmpdir_base "$apart" -n 2 "$folder/train_into" mpi_a >"$folder/mpi_a.log" 2>&1 &
  "${mpi[@]}" -n 2 "$folder/train_into" mpi_b >"$folder/mpi_b.log" 2>&1 || fail "mpirun beside another ended with $?"
  wait $! || fail "mpirun beside another ended with $?"
  rm -rf "$apart"
  same mpi_a two
  same mpi_b two
  echo "mpirun: nothing is set by hand, and two at once do not meet"
else
  echo "skipped: no mpirun of Open MPI"
fi

# By default, Debian's PyTorch 1.13 on Python 3.11 cannot parse that nothing is redirected, and torchrun polls every 5
# s.
torchrun=/usr/bin/torchrun
[ -x "$torchrun" ] || torchrun=$(command -v torchrun || true)
run=("$torchrun" --monitor_interval 0.2 --redirects 1 --tee 1 --log_dir "$folder/logs" --no_python --nproc_per_node 2)
if [ -n "$torchrun" ] && "${run[@]}" true >"$folder/probe.log" 2>&1; then
  found=1
  "${run[@]}" --master_port 29617 "$folder/train_into" torch >"$folder/torch.log" 2>&1 || fail "torchrun ended with $?"
  same torch two
  "${run[@]}" --standalone "$folder/train_into" alone >"$folder/alone.log" 2>&1 || fail "torchrun --standalone ended with $?"
  same alone two
  # PyTorch 1.13's --standalone always meets at port 29400, so two at once would share a store that ends with the first.
  own=("${run[@]}" --rdzv_backend c10d --rdzv_endpoint localhost:0)
  "${own[@]}" --rdzv_id a "$folder/train_into" own_a >"$folder/own_a.log" 2>&1 &
  "${own[@]}" --rdzv_id b "$folder/train_into" own_b >"$folder/own_b.log" 2>&1 || fail "torchrun at a port of its own ended with $?"
  wait $! || fail "torchrun beside another ended with $?"
  same own_a two
  same own_b two
  nodes=("${run[@]}" --nnodes 2 --master_addr 127.0.0.1 --master_port 29647)
  LOCKSTEP_TIMEOUT=3 HOME=$folder "${nodes[@]}" --node_rank 1 "$folder/train_into" none >"$folder/none_1.log" 2>&1 &
  ! LOCKSTEP_TIMEOUT=3 HOME=$folder "${nodes[@]}" --node_rank 0 "$folder/train_into" none >"$folder/none_0.log" 2>&1 || fail "trained without a token"
  wait $! || true
  grep -q "requires the run's token, which this process does not have: set LOCKSTEP_TOKEN" "$folder"/none_0.log "$folder"/logs/*/*/0/* ||
    fail "no token, and no word of it"
  mkdir -p "$folder/.config/lockstep"
  (umask 077; od -An -tx1 -N16 /dev/urandom | tr -d ' ' >"$folder/.config/lockstep/token")
  export HOME=$folder
  nodes=("${run[@]}" --nnodes 2 --master_addr 127.0.0.1 --master_port 29627)
  "${nodes[@]}" --node_rank 1 "$folder/train_into" nodes >"$folder/node_1.log" 2>&1 &
  "${nodes[@]}" --node_rank 0 "$folder/train_into" nodes >"$folder/node_0.log" 2>&1 || fail "torchrun of node 0 ended with $?"
  wait $! || fail "torchrun of node 1 ended with $?"
  same nodes four
  echo "torchrun: plain, --standalone, twice at once and, with a token, on two nodes"

  # The port after torchrun's is busy. The error names the port, and a variable selects another port.
  python3 "$folder/hold.py" 29638 "$folder/held_too" &
  holder=$!
  until [ -e "$folder/held_too" ]; do sleep 0.05; done
  nodes=("${run[@]}" --nnodes 2 --master_addr 127.0.0.1 --master_port 29637)
  LOCKSTEP_TIMEOUT=3 "${nodes[@]}" --node_rank 1 "$folder/train_into" taken >"$folder/taken_1.log" 2>&1 &
  other=$!
  ! LOCKSTEP_TIMEOUT=3 "${nodes[@]}" --node_rank 0 "$folder/train_into" taken >"$folder/taken_0.log" 2>&1 || fail "trained on a busy port"
  wait $other || true
  grep -q "rank 0 cannot listen on port 29638: Address already in use; .*LOCKSTEP_PORT" "$folder"/taken_0.log "$folder"/logs/*/*/0/* ||
    fail "a busy port is not named"
  kill $holder
  echo "torchrun: a busy port is named"
else
  echo "skipped: no torchrun that works"
fi
[ $found -eq 1 ] || exit 77
