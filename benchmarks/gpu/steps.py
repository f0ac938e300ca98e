# SPDX-License-Identifier: Apache-2.0
"""Stages b and f: times of Lockstep's training steps, without a peer."""
import json
import math
import os
import re

from . import machine

PROFILE_LINES = 16


class StepFailed(RuntimeError):
    pass


def engines_of(args):
    """The file of engines that stage b times; later stages, and later calls, use it."""
    return os.path.join(args.out, "engines.txt")


def output_or_raise(command, log, seconds, **variables):
    """Returns a program's output if it ends well and in time."""
    code, text = machine.run_logged(command, log, seconds, **variables)
    if code == machine.LATE:
        raise TimeoutError
    if code:
        raise StepFailed((text.strip().splitlines() or [f"exit code {code}"])[-1])
    return text


def last_json_line(text):
    lines = [line for line in text.splitlines() if line.startswith("{")]
    if not lines:
        raise StepFailed("it printed no result")
    return lines[-1]


def train_step(args, log, seconds, options, engines):
    """Returns a line of `bench train-step --json`."""
    variables = {"LOCKSTEP_ENGINES": engines_of(args)} if engines else {}
    text = output_or_raise(
        [args.lockstep, "bench", "train-step", "--devices", args.device, "--json", *options], log, seconds,
        **variables)
    return json.loads(last_json_line(text))


def large_step(args, *options, count=None):
    return ["--model", args.model, "--batch", str(args.batch), "--precision", "bfloat16",
            "--steps", str(count or args.steps), *options]


def rows_of_steps(args):
    """Yields name, options, and True if engines are timed or kept."""
    what = f"{args.model} in bfloat16"
    yield f"{what}, engines by rule", large_step(args), False
    yield f"{what}, engines being timed", large_step(args), True
    yield f"{what}, engines kept", large_step(args), True
    for feed in ("in_turn", "ahead"):
        yield f"{what}, fed {feed}", large_step(args, "--feed", feed), True
    yield f"{what}, bytes ahead", large_step(args, "--feed", "ahead", "--bytes"), True
    for model in ("lenet", "mlp"):
        for precision in ("float32", "bfloat16"):
            yield (f"{model} in {precision}",
                   ["--model", model, "--batch", "64", "--precision", precision, "--steps", "200"], False)


def line_of(name, step):
    share = 100 * step["host_seconds"] / step["seconds"]
    return (f"{name:42} {step['seconds'] * 1e3:9.3f} ms {step['batch'] / step['seconds']:10.0f} images/s, "
            f"host {share:.1f} %, first step {step['first_step_seconds']:.1f} s")


def stage_b(part, args):
    for name, options, engines in rows_of_steps(args):
        if part.has(name) or part.late(name):
            continue
        try:
            step = train_step(args, part.log_of(name), part.left(), options, engines)
            part.add(name, line_of(name, step), step=step)
        except TimeoutError:
            part.add(name, f"{name:42} stopped: the stage's time is over", late=True)
        except StepFailed as error:
            part.add(name, f"{name:42} failed: {error}", failed=True)
    profile(part, args)


def profile(part, args):
    name = "profile"
    if part.has(name) or part.late(name):
        return
    code, text = machine.run_logged(
        [args.lockstep, "bench", "train-step", "--devices", args.device, "--profile", *large_step(args)],
        part.log_of(name), part.left(), LOCKSTEP_ENGINES=engines_of(args))
    lines = text.splitlines()[:PROFILE_LINES]
    part.add(name, ["", *lines, f"all of it: {os.path.basename(part.log_of(name))}"],
             failed=code not in (0, machine.LATE), late=code == machine.LATE)


# The pictures are drawn first; the rate of the last iterations leaves that out. The test at the end is not measured.
def stage_f(part, args):
    part.start_over()
    name = "Faster R-CNN on drawn scenes"
    config = os.path.join(args.configs, "detection", "scenes_faster_rcnn_fpn.yaml")
    if not os.path.exists(config):
        part.add(name, f"{name:42} left out: {config} is not here")
        return
    iterations = str(args.detector_iterations)
    code, text = machine.run_logged(
        [args.lockstep, "train", config, "--devices", args.device, "SOLVER.MAX_ITER", iterations,
         "SOLVER.STEPS", "[0]", "SOLVER.SCALE_TO_BATCH", "true", "SCENES.VAL", "8",
         "OUTPUT_DIR", os.path.join(args.out, "f_run")], part.log_of(name), part.left())
    rates = re.findall(r"iter .*?loss +(\S+).*?([\d,]+) images/s", text)
    if code not in (0, machine.LATE) or not rates:
        last = (text.strip().splitlines() or [f"exit code {code}"])[-1]
        part.add(name, f"{name:42} failed: {last}", failed=code != machine.LATE, late=code == machine.LATE)
        return
    loss, rate = rates[-1]
    part.add(name, f"{name:42} {rate} images/s, loss {loss}"
             + (", stopped: the stage's time is over" if code == machine.LATE else ""),
             failed=not math.isfinite(float(loss)), images_per_second=float(rate.replace(",", "")), loss=loss)
