"""Stage d: a training step beside PyTorch's in bfloat16, taking turns."""
import gc
import statistics
import time

from . import steps

WAYS = {"gpu": ("eager", "CUDA graph", "compiled"), "cpu": ("eager",)}


class TorchStep:
    """One way to take a training step, channels last and with autocast."""

    def __init__(self, torch, networks, args, way):
        self.torch, self.device = torch, "cuda" if args.device == "gpu" else "cpu"
        for units in (torch.backends.cudnn, torch.backends.cuda.matmul):
            units.allow_tf32 = True
        torch.backends.cudnn.benchmark = True
        self.net = networks.MODELS[args.model]().to(self.device, memory_format=torch.channels_last).train()
        shape, classes = networks.images_of(args.model)
        self.images = torch.rand(args.batch, *shape, device=self.device)
        self.images = self.images.to(memory_format=torch.channels_last)
        self.labels = torch.randint(0, classes, (args.batch,), device=self.device)
        fused = {"fused": True} if self.device == "cuda" else {}
        self.optimizer = torch.optim.SGD(self.net.parameters(), 0.01, 0.9, weight_decay=1e-4, **fused)
        self.forward = torch.compile(self.net, mode=args.compile_mode) if way == "compiled" else self.net
        self.run = self.captured() if way == "CUDA graph" else self.step

    def step(self):
        self.optimizer.zero_grad(set_to_none=True)
        with self.torch.autocast(self.device, dtype=self.torch.bfloat16):
            loss = self.torch.nn.functional.cross_entropy(self.forward(self.images), self.labels)
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

    def times(self, count):
        for _ in range(3):
            self.run()
        self.wait()
        seconds = []
        for _ in range(count):
            start = time.perf_counter()
            self.run()
            self.wait()
            seconds.append(time.perf_counter() - start)
        return seconds


def torch_times(torch, networks, args, way):
    """The memory of one way is free before the next begins."""
    try:
        return TorchStep(torch, networks, args, way).times(args.steps)
    finally:
        gc.collect()
        if args.device == "gpu":
            torch.cuda.empty_cache()


def stage_d(part, args):
    ways = {"Lockstep": lambda: [steps.train_step(args, part.log_of("Lockstep"), part.left(),
                                                  steps.large_step(args), True)["seconds"]]}
    try:
        import torch
        import torch_networks as networks
        for way in WAYS[args.device]:
            ways[f"PyTorch {way}"] = lambda way=way: torch_times(torch, networks, args, way)
    except ImportError as missing:
        part.add("PyTorch", f"PyTorch is not here ({missing}): Lockstep is timed by itself")
    seconds, left_out, rounds = {}, {}, 0
    while rounds < args.rounds and not part.late(f"round {rounds + 1}"):
        for name, run in ways.items():
            if name in left_out:
                continue
            try:
                seconds.setdefault(name, []).extend(run())
            except Exception as error:  # one that cannot run here is named, and the others go on
                left_out[name] = (str(error).splitlines() or [type(error).__name__])[0]
                seconds.pop(name, None)
        rounds += 1
    report(part, args, rounds, {name: statistics.median(times) for name, times in seconds.items()}, left_out)


def report(part, args, rounds, medians, left_out):
    lines = [f"{args.model}, batch {args.batch}, bfloat16, medians of {rounds} rounds"]
    lines += [f"  {name:24} {value * 1e3:10.2f} ms {args.batch / value:10.1f} images/s"
              for name, value in medians.items()]
    lines += [f"  {name:24} left out: {why}" for name, why in left_out.items()]
    peers = {name: value for name, value in medians.items() if name != "Lockstep"}
    ratio = None
    if peers and "Lockstep" in medians:
        best = min(peers, key=peers.get)
        ratio = peers[best] / medians["Lockstep"]
        lines.append(f"  Lockstep against the best of PyTorch ({best}): {ratio:.2f}x")
    part.add("beside PyTorch", lines, failed="Lockstep" in left_out, seconds=medians, left_out=left_out, ratio=ratio)
