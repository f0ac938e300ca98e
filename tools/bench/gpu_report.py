#!/usr/bin/env python3
"""Tests Lockstep on this machine's GPU, then times a training step beside PyTorch's.

    python3 tools/bench/gpu_report.py --out report [--quick]      from a build, or
    python3 bench/gpu_report.py --out report                      from a bundle (make bundle)

Every operator case in three precisions, the tests that only a GPU can show, and where it is there
compute-sanitizer on the operators; then ResNet-50 in bfloat16, float16 and float32. Lockstep and
each way of PyTorch (eager with autocast and channels_last, the same as a CUDA graph, torch.compile)
take turns; the median of all steps counts, and PyTorch's best. Writes report.txt, report.json and
a log of every test into the folder. Exit code 1: a test failed. --device cpu rehearses it all.
"""
import argparse
import datetime
import glob
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import sysconfig
import time


def libraries_of_python():
    """Folders with CUDA's libraries as Python packages bring them."""
    return sorted(glob.glob(os.path.join(sysconfig.get_path("purelib"), "nvidia", "*", "lib")))


def environment():
    changed = dict(os.environ)
    folders = libraries_of_python() + [os.environ.get("LD_LIBRARY_PATH", "")]
    changed["LD_LIBRARY_PATH"] = ":".join(folder for folder in folders if folder)
    return changed


def find_programs():
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    bundled = os.path.join(here, "bin")
    if os.path.exists(os.path.join(bundled, "lockstep")):
        return os.path.join(bundled, "lockstep"), bundled
    build = os.path.join(os.path.dirname(here), "build", "release")
    return os.path.join(build, "lockstep"), os.path.join(build, "tests")


def output_of(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, env=environment()).stdout.strip()
    except OSError:
        return ""


# -- tests

def tests_of(args):
    """Name, program and arguments, variables; in the order that finds most first."""
    where = {"LOCKSTEP_CASE_DEVICE": args.device}
    operators = os.path.join(args.tests, "operators_test")
    runtime = os.path.join(args.tests, "runtime_test")
    cuda = os.path.join(args.tests, "cuda_test")
    for precision in ("float32", "bfloat16", "float16"):
        narrow = precision != "float32"
        yield (f"operators in {precision}",
               [operators] + (["--gtest_filter=-*Errors.*"] if narrow else []),
               where | ({"LOCKSTEP_CASE_PRECISION": precision} if narrow else {}))
    yield "training on the GPU", [runtime, "--gtest_filter=Gpu.*"], {}
    if os.path.exists(cuda):
        yield "memory of a hundred steps, plans", [cuda], {}
    sanitizer = shutil.which("compute-sanitizer")
    if sanitizer and args.device == "gpu" and not args.quick:
        for tool in ("memcheck", "racecheck"):
            yield (f"operators under {tool}",
                   [sanitizer, "--tool", tool, "--error-exitcode", "9", operators,
                    "--gtest_filter=*Table*"], where)


def run_tests(args):
    results = []
    for name, command, variables in tests_of(args):
        log = os.path.join(args.out, name.replace(" ", "_").replace(",", "") + ".log")
        start = time.time()
        with open(log, "w") as file:
            try:
                code = subprocess.run(command + ["--gtest_brief=1"], stdout=file, stderr=subprocess.STDOUT,
                                      env=environment() | variables, timeout=args.test_timeout).returncode
            except subprocess.TimeoutExpired:
                code = 124
        text = open(log).read()
        counts = [line.split()[3] for line in text.splitlines() if line.startswith("[  PASSED  ]")]
        skipped = sum(line.startswith("[  SKIPPED ]") for line in text.splitlines())
        failed = sorted({line.split("]")[1].split("(")[0].strip().rstrip(",")
                         for line in text.splitlines() if line.startswith("[  FAILED  ]")})
        results.append({"name": name, "exit_code": code, "seconds": round(time.time() - start, 1),
                        "passed": int(counts[-1]) if counts else 0, "skipped": skipped, "failed": failed})
        print(row_of_test(results[-1]), flush=True)
    return results


def row_of_test(result):
    ending = f"{result['passed']} passed"
    if result["skipped"]:
        ending += f", {result['skipped']} skipped"
    if result["failed"] or result["exit_code"]:
        ending += f", exit code {result['exit_code']}, failed: {' '.join(result['failed'][:6]) or 'see its log'}"
    return f"{result['name']:36} {result['seconds']:7.1f} s  {ending}"


# -- a step of PyTorch

class TorchStep:
    """One way to take a training step: eager, as a CUDA graph, or compiled."""

    def __init__(self, torch, networks, args, precision, way):
        self.torch, self.device = torch, "cuda" if args.device == "gpu" else "cpu"
        for units in (torch.backends.cudnn, torch.backends.cuda.matmul):
            units.allow_tf32 = precision != "float32"
        kind = {"bfloat16": torch.bfloat16, "float16": torch.float16}.get(precision)
        self.net = networks.MODELS[args.model]().to(self.device, memory_format=torch.channels_last).train()
        self.images = torch.rand(args.batch, 3, 224, 224, device=self.device)
        self.images = self.images.to(memory_format=torch.channels_last)
        self.labels = torch.randint(0, 1000, (args.batch,), device=self.device)
        fused = {"fused": True} if self.device == "cuda" else {}
        self.optimizer = torch.optim.SGD(self.net.parameters(), 0.01, 0.9, weight_decay=1e-4, **fused)
        self.forward = torch.compile(self.net, mode="max-autotune") if way == "compiled" else self.net
        self.autocast = lambda: torch.autocast(self.device, dtype=kind, enabled=kind is not None)
        scaling = precision == "float16" and self.device == "cuda" and way != "CUDA graph"
        self.scaler = torch.cuda.amp.GradScaler() if scaling else None
        self.run = self.captured() if way == "CUDA graph" else self.step

    def step(self):
        self.optimizer.zero_grad(set_to_none=True)
        with self.autocast():
            loss = self.torch.nn.functional.cross_entropy(self.forward(self.images), self.labels)
        if self.scaler:
            self.scaler.scale(loss).backward()
            self.scaler.step(self.optimizer)
            self.scaler.update()
        else:
            loss.backward()
            self.optimizer.step()

    def captured(self):
        side = self.torch.cuda.Stream()
        side.wait_stream(self.torch.cuda.current_stream())
        with self.torch.cuda.stream(side):
            for _ in range(3):
                self.step()
        self.torch.cuda.current_stream().wait_stream(side)
        graph = self.torch.cuda.CUDAGraph()
        with self.torch.cuda.graph(graph):
            self.step()
        self.graph = graph
        return graph.replay

    def wait(self):
        if self.device == "cuda":
            self.torch.cuda.synchronize()

    def times(self, steps):
        for _ in range(3):
            self.run()
        self.wait()
        seconds = []
        for _ in range(steps):
            start = time.perf_counter()
            self.run()
            self.wait()
            seconds.append(time.perf_counter() - start)
        return seconds


def our_times(args, precision, host_shares):
    how = ["--precision", "float32", "--tf32"] if precision == "tf32" else ["--precision", precision]
    command = [args.lockstep, "bench", "train-step", "--model", args.model, "--batch", str(args.batch),
               "--devices", args.device, *how, "--steps", str(args.steps), "--json"]
    engines = {"LOCKSTEP_ENGINES": os.path.join(args.out, "engines.txt")}  # timed in the first round
    out = subprocess.run(command, capture_output=True, text=True, env=environment() | engines)
    if out.returncode:
        raise RuntimeError(out.stderr.strip() or f"exit code {out.returncode}")
    step = json.loads(out.stdout)
    host_shares.append(step["host_seconds"] / step["seconds"])
    return [step["seconds"]]


def measure(args, precision, torch, networks):
    host_shares = []
    ways = {"Lockstep": lambda: our_times(args, precision, host_shares)}
    if torch:
        names = ["eager"] + (["CUDA graph", "compiled"] if args.device == "gpu" else [])
        for way in names:
            ways[f"PyTorch {way}"] = lambda way=way: TorchStep(torch, networks, args, precision, way).times(args.steps)
    seconds, left_out = {}, {}
    for _ in range(args.rounds):
        for name, run in ways.items():
            if name in left_out:
                continue
            try:
                seconds.setdefault(name, []).extend(run())
            except Exception as error:  # one that cannot run here is named, and the others go on
                left_out[name] = (str(error).splitlines() or [type(error).__name__])[0]
                seconds.pop(name, None)
    median = {name: statistics.median(times) for name, times in seconds.items()}
    peers = {name: value for name, value in median.items() if name != "Lockstep"}
    best = min(peers, key=peers.get) if peers else None
    ratio = peers[best] / median["Lockstep"] if best and "Lockstep" in median else None
    return {"precision": precision, "seconds": median, "left_out": left_out, "best_peer": best, "ratio": ratio,
            "host_share": statistics.median(host_shares) if host_shares else None}


def rows_of_benchmark(args, result):
    yield f"{args.model}, batch {args.batch}, {result['precision']}, median of {args.rounds} rounds"
    for name, value in result["seconds"].items():
        yield f"  {name:24} {value * 1e3:10.2f} ms {args.batch / value:10.1f} images/s"
    for name, why in result["left_out"].items():
        yield f"  {name:24} left out: {why}"
    if result["host_share"]:
        yield f"  of Lockstep's step the host takes {100 * result['host_share']:.2f} %"
    if result["ratio"]:
        yield f"  Lockstep against the best of PyTorch ({result['best_peer']}): {result['ratio']:.2f}x"


def write(args, report, lines):
    with open(os.path.join(args.out, "report.json"), "w") as file:
        json.dump(report, file, indent=1)
    head = [f"{report['date']}  {report['gpu'] or 'no GPU'}  PyTorch {report['torch']}", *report["doctor"], ""]
    with open(os.path.join(args.out, "report.txt"), "w") as file:
        file.write("\n".join(head + lines) + "\n")


def main():
    lockstep, tests = find_programs()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", default="gpu_report", help="folder to write to")
    parser.add_argument("--device", choices=["gpu", "cpu"], default="gpu")
    parser.add_argument("--model", default="resnet50")
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--steps", type=int, default=20, help="timed steps a round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--precisions", nargs="*", default=["bfloat16", "float16", "tf32", "float32"])
    parser.add_argument("--quick", action="store_true", help="without compute-sanitizer")
    parser.add_argument("--no-tests", action="store_true")
    parser.add_argument("--test-timeout", type=int, default=300, help="seconds for each program")
    parser.add_argument("--lockstep", default=lockstep)
    parser.add_argument("--tests", default=tests, help="folder of the test programs")
    args = parser.parse_args()
    os.makedirs(args.out, exist_ok=True)
    doctor = output_of(args.lockstep, "doctor")
    if not doctor:
        sys.exit(f"gpu_report: {args.lockstep} does not run; make bundle or make build first")
    if args.device == "gpu" and "GPUs       0" in doctor:
        print("gpu_report: this machine has no GPU that Lockstep can use; --device cpu rehearses", file=sys.stderr)
        sys.exit(2)

    torch = networks = None
    try:
        import torch
        import torch_networks as networks
    except ImportError:
        print("PyTorch is not here: Lockstep is timed by itself")
    gpu = output_of("nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader")
    report = {"date": datetime.date.today().isoformat(), "gpu": gpu or None, "machine": platform.processor(),
              "torch": torch.__version__ if torch else None, "doctor": doctor.splitlines(),
              "command": " ".join(sys.argv)}
    print(f"{report['date']}  {gpu or 'no GPU'}  PyTorch {report['torch']}\n")
    report["tests"] = [] if args.no_tests else run_tests(args)
    report["benchmarks"] = []
    lines = [row_of_test(result) for result in report["tests"]]
    write(args, report, lines)
    for precision in args.precisions:
        report["benchmarks"].append(measure(args, precision, torch, networks))
        rows = list(rows_of_benchmark(args, report["benchmarks"][-1]))
        print("\n" + "\n".join(rows), flush=True)
        lines += ["", *rows]
        write(args, report, lines)  # as it grows: a machine taken away leaves what there was
    failed = [result["name"] for result in report["tests"] if result["exit_code"]]
    print(f"\n{os.path.join(args.out, 'report.txt')}" + (f"; FAILED: {', '.join(failed)}" if failed else ""))
    sys.exit(1 if failed else 0)


main()
