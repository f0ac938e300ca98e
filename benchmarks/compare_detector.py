#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Detectors trained by Lockstep and by torchvision on this machine.

    python3 -m venv build/peer
    build/peer/bin/pip install torch torchvision pycocotools pyyaml
    build/peer/bin/python benchmarks/compare_detector.py [--finds boxes|masks|keypoints]
        [--iterations 500] [--seeds 2] [--quick]
    build/peer/bin/python benchmarks/compare_detector.py --body resnet50 [--image 512] [--rounds 5]

Without --body: Faster R-CNN, Mask R-CNN or Keypoint R-CNN with a small body on generated pictures,
scored by pycocotools on held-out pictures.

Equal: body, pyramid, heads and their initial weights; anchors and their positions; the pictures of
each step (the same JPEG files) and the mirrored pictures; the rate of each step, momentum, decay,
twice the rate for biases; how many anchors and RoIs are sampled; limits of suppression; threads.

Different:
  * random samples: different generators
  * the loss of boxes becomes linear at 1 here (Detectron), at 1/9 in torchvision
  * anchors beyond the picture's edge count in torchvision only
  * crowd regions: neither object nor background here; left out for torchvision, which has none
  * a pooled RoI ends at its last pixel here; at the first pixel outside in torchvision
  * here, two replicas of four pictures each divide their own losses; in torchvision, eight pictures
    are one batch
  * the momentum includes the rate here, so it lags a little while the rate warms up
  * masks: the target of a RoI is drawn from outlines here; torchvision pools bitmaps. A mask is
    pasted into the box up to its last pixel here; torchvision's box is a pixel wider
  * heatmaps: zeros surround a map when it is enlarged here (Detectron); torchvision repeats the edge
torchvision's pictures are read into memory before its time starts; Lockstep's time includes
reading. The faster of PyTorch's memory layouts is used.

Afterwards Lockstep's trained weights are scored in torchvision's network, with RoIs pooled as here.
The AP of boxes must equal Lockstep's own, or the two have not trained the same network; the AP of
masks or points may differ by 0.03. The last line has the mean AP of both and the ratio of a step's
time: 1.50x means that Lockstep is 1.5 times as fast. Nothing else should run meanwhile, because the
two train one after the other.

With --body resnet50: seconds and memory of a step of Faster R-CNN R-50-FPN, no AP; see
detector_peer/resnet50.py.
"""
import argparse
import os
import statistics
import sys
import tempfile

try:
    import torch
    import torchvision

    from detector_peer import found, resnet50
    from detector_peer.pictures import Pictures
    from detector_peer.program import ROOT, Lockstep
    from detector_peer.torchvision_network import LastPixelRoIAlign
    from detector_peer.training import Torch, faster_layout
except ImportError as missing:
    sys.exit(f"compare_detector: {missing} (pip install torch torchvision pycocotools pyyaml)")


def scored(pictures, kind, found_there):
    """AP and AP50 of boxes, and of masks or points if the detectors find them."""
    boxes, shapes = found_there
    return [*pictures.score(boxes), *(pictures.score(shapes, kind) if kind else ())]


def check_same(ours, swapped, limits):
    """Lockstep's weights in Lockstep and in torchvision's network."""
    for what, own, there, same in zip(("boxes", "shapes"), ours[::2], swapped[::2], limits):
        if abs(there - own) > same:
            sys.exit(f"compare_detector: Lockstep's weights have AP {own:.4f} of {what} in Lockstep "
                     f"and {there:.4f} in torchvision's network; these should be the same network")


def one_seed(args, seed, lockstep, training, testing):
    """Returns the scores of both, and the seconds of both's steps."""
    config, kind = lockstep.config, lockstep.found.kind
    batch = config["NUM_GPUS"] * config["TRAIN"]["IMS_PER_BATCH"]
    steps = lambda: training.steps(batch, config["TRAIN"]["USE_FLIPPED"], seed)
    falls = [args.iterations * at // config["SOLVER"]["MAX_ITER"] for at in config["SOLVER"]["STEPS"]]
    weights = lockstep.first_weights(seed)
    layout = faster_layout(config, weights, steps())

    trained, lines, said = lockstep.train(seed, "val", args.iterations, **{"SOLVER.STEPS": falls})
    if f"\n{len(training.with_objects)} pictures, 1 shape" not in said:
        sys.exit(f"compare_detector: Lockstep trains on other pictures than the "
                 f"{len(training.with_objects)} with objects, of one shape:\n{said}")
    ours = scored(testing, kind, lockstep.find(seed, trained))

    torch.manual_seed(seed)
    peer = Torch(config, weights, layout)
    seconds = peer.train(steps(), [line["lr"] for line in lines])
    theirs = scored(testing, kind, peer.find(testing))
    swapped = Torch(config, trained, roi_align=LastPixelRoIAlign).find(testing)
    check_same(ours, scored(testing, kind, swapped), (found.BOXES.same, lockstep.found.same))

    own_seconds = [line["time"] for line in lines]
    row = lambda name, ap, end: print(f"{seed:4}  {name:14}" + "".join(f"{each:9.3f}" for each in ap)
                                      + end, flush=True)
    row("Lockstep", ours, f"{statistics.median(own_seconds):9.3f}")
    row("torchvision", theirs, f"{statistics.median(seconds):9.3f}  {layout}")
    return ours, theirs, own_seconds, seconds


def compare_scores(args):
    kind = found.KINDS[args.finds]
    with tempfile.TemporaryDirectory(prefix="runs_", dir=args.data) as work:
        lockstep = Lockstep(args, kind, work)
        training, testing = (Pictures(lockstep.folders[name], args.finds) for name in ("train", "val"))
        columns = ["AP", "AP50", *([f"{args.finds[:4]}. AP", "AP50"] if kind.kind else []), "s/step"]
        print(f"{kind.network}, {args.pictures['train']} pictures, {args.iterations} iterations, "
              f"{args.threads} threads, torchvision {torchvision.__version__}, PyTorch "
              f"{torch.__version__}\nseed{'':16}" + "".join(f"{name:>9}" for name in columns), flush=True)
        seeds = [one_seed(args, seed, lockstep, training, testing)
                 for seed in range(1, args.seeds + 1)]
    parts = []
    for place, (what, limit) in enumerate([("boxes", found.BOXES.limit), (args.finds, kind.limit)]
                                          [:2 if kind.kind else 1]):
        our_ap, its_ap = (statistics.mean(seed[n][2 * place] for seed in seeds) for n in (0, 1))
        parts.append(f"mean AP of {what}: Lockstep {our_ap:.3f}, torchvision {its_ap:.3f}, difference "
                     f"{our_ap - its_ap:+.3f} (limit {-limit:+.3f})")
    ours, its = (statistics.median(sum((seed[n] for seed in seeds), [])) for n in (2, 3))
    print("; ".join([*parts, f"a step: {ours:.3f} s and {its:.3f} s, {its / ours:.2f}x"]))


def parsed():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--finds", choices=found.KINDS, default="boxes", help="what the detectors find")
    parser.add_argument("--body", choices=["small", "resnet50"], default="small")
    parser.add_argument("--iterations", type=int, default=500,
                        help="iterations of 8 pictures; the rate falls at equal fractions of the run")
    parser.add_argument("--seeds", type=int, default=2, help="number of seeds")
    parser.add_argument("--quick", action="store_true", help="a run of one minute, too short for an AP")
    parser.add_argument("--image", type=int, default=512, help="resnet50: height and width of pictures")
    parser.add_argument("--batches", default="1,2", help="resnet50: pictures of a step")
    parser.add_argument("--rounds", type=int, default=5, help="resnet50: rounds, in which all take turns")
    parser.add_argument("--steps", type=int, default=5, help="resnet50: steps of a round")
    parser.add_argument("--threads", type=int, default=2, help="threads of each program; even")
    parser.add_argument("--data", default=f"{ROOT}/build/compare_detector",
                        help="folder for the pictures, which are drawn once")
    parser.add_argument("--lockstep", default=f"{ROOT}/build/release/lockstep")
    args = parser.parse_args()
    args.pictures = {"train": 4000, "val": 500, "few": 8}
    if args.quick:
        args.iterations, args.seeds, args.rounds = min(args.iterations, 40), 1, 1
        args.pictures |= {"train": 400, "val": 50}
    if not os.access(args.lockstep, os.X_OK):
        parser.error(f"there is no program {args.lockstep}; see --lockstep")
    if args.threads < 2 or args.threads % 2:
        parser.error(f"--threads {args.threads}: two replicas share them, so they should be even")
    if min(args.iterations, args.seeds, args.rounds, args.steps) < 1:
        parser.error("--iterations, --seeds, --rounds and --steps should be 1 at least")
    if args.body == "resnet50" and args.finds != "boxes":
        parser.error("--body resnet50 compares the steps of a detector of boxes")
    if args.image < 64 or args.image % 64:
        parser.error(f"--image {args.image}: should be a multiple of 64")
    return args


def main():
    args = parsed()
    torch.set_num_threads(args.threads)
    os.makedirs(args.data, exist_ok=True)
    resnet50.compare(args) if args.body == "resnet50" else compare_scores(args)


main()
