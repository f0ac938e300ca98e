#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exports a network of networks.py to ONNX, to be trained by Lockstep: pictures to class scores.

    export_network.py MODEL FILE
"""
import argparse
import inspect

import torch

from networks import MODELS, images_of


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", choices=MODELS)
    parser.add_argument("file")
    args = parser.parse_args()
    shape, _ = images_of(args.model)
    # Uses the exporter by tracing, which newer versions use only on request.
    traced = {"dynamo": False} if "dynamo" in inspect.signature(torch.onnx.export).parameters else {}
    torch.onnx.export(MODELS[args.model]().train(), torch.rand(2, *shape), args.file, input_names=["data"],
                      output_names=["scores"], opset_version=17, training=torch.onnx.TrainingMode.PRESERVE,
                      do_constant_folding=False, dynamic_axes={"data": {0: "N"}}, **traced)


main()
