# SPDX-License-Identifier: Apache-2.0
"""benchmarks/picture_order.py gives each step the same pictures as data/detection/picture_order.h.

    check_picture_order.py PICTURE_TOOL
"""
import itertools
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, f"{ROOT}/benchmarks")
import picture_order

# Pictures, batch, mirrored, seed, steps: several epochs, with pictures left over in each.
CASES = [(1, 1, False, 1, 5), (10, 4, True, 3, 40), (13, 5, False, 2 ** 40 + 7, 30),
         (3, 8, True, 2, 9), (3831, 8, True, 1, 1500)]


def main():
    for case in CASES:
        pictures, batch, mirrored, seed, steps = case
        said = subprocess.run([sys.argv[1], "--order", *(str(int(word)) for word in case)],
                              check=True, capture_output=True, text=True).stdout.splitlines()
        expected = [" ".join(f"{n}m" if mirror else str(n) for n, mirror in step)
                    for step in itertools.islice(
                        picture_order.steps(pictures, batch, mirrored, seed), steps)]
        for n, (ours, theirs) in enumerate(itertools.zip_longest(said, expected)):
            if ours is None or theirs is None or ours.strip() != theirs:
                sys.exit(f"{case}: step {n} has {ours}, by picture_order.py {theirs}")
    print(f"the pictures of {sum(case[-1] for case in CASES)} steps agree")


main()
