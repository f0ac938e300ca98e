# SPDX-License-Identifier: Apache-2.0
"""Published weights in a detector's body: C2 to C5 (of VGG16: conv5) of three random pictures equal
torch's to 1e-4 of the largest value. The real networks of torchvision, timm and transformers are
checked, too, where these modules are installed.

    check_weights.py LOCKSTEP DETECTOR_STEP FOLDER

Exit code 77: torch is not installed.
"""
import json
import os
import shutil
import struct
import subprocess
import sys

try:
    import numpy as np
    import torch
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

import published_networks as published
from small_detectors import read_arrays, write_tensors

LIMIT, PICTURES, SIZE, PLACES = 1e-4, 3, 128, 4

CONFIG = f"""
MODEL: {{TYPE: generalized_rcnn, NUM_CLASSES: 5, RPN_ONLY: true}}
TRAIN: {{IMS_PER_BATCH: {PICTURES}, SCALES: [{SIZE}], MAX_SIZE: {SIZE}, TRUE_BOXES: {PLACES}}}
SOLVER: {{BASE_LR: 0.01}}
TEST: {{SCALE: {SIZE}, MAX_SIZE: {SIZE}}}
IMAGE: {SIZE}x{SIZE}
"""
PYRAMID = ["FPN.FPN_ON", "True", "FPN.MULTILEVEL_RPN", "True", "FPN.DIM", "16"]
R50 = PYRAMID + ["MODEL.CONV_BODY", "FPN.add_fpn_ResNet50_conv5_body", "RESNETS.STRIDE_1X1", "False"]
SMALL = ["RESNETS.STEM_OUT_CHANNELS", "8", "RESNETS.RES2_OUT_CHANNELS", "16",
         "RESNETS.WIDTH_PER_GROUP", "4"]
R18 = PYRAMID + ["MODEL.CONV_BODY", "FPN.add_fpn_ResNet18_conv5_body", "RESNETS.TRANS_FUNC",
                 "basic_transformation", "RESNETS.STEM_OUT_CHANNELS", "8",
                 "RESNETS.RES2_OUT_CHANNELS", "16"]
VGG = ["MODEL.CONV_BODY", "VGG16.add_VGG16_conv5_body"]
SUMS_50 = ["res2_2_sum", "res3_3_sum", "res4_5_sum", "res5_2_sum"]
SUMS_18 = [f"res{stage}_1_sum" for stage in (2, 3, 4, 5)]


def write_safetensors(path, tensors):
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, tensor in tensors.items():
        array = tensor.detach().numpy()
        kind = {"float32": "F32", "int64": "I64"}[str(array.dtype)]
        blob = np.ascontiguousarray(array).tobytes()
        header[name] = {"dtype": kind, "shape": list(array.shape),
                        "data_offsets": [len(data), len(data) + len(blob)]}
        data += blob
    text = json.dumps(header).encode()
    with open(path, "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text + data)


def read_safetensors(path):
    with open(path, "rb") as file:
        bytes_ = file.read()
    size = struct.unpack("<Q", bytes_[:8])[0]
    header = json.loads(bytes_[8:8 + size])
    metadata = header.pop("__metadata__", {})
    tensors = {}
    for name, said in header.items():
        begin, end = (8 + size + offset for offset in said["data_offsets"])
        if said["dtype"] == "F32":
            tensors[name] = np.frombuffer(bytes_[begin:end], np.float32).reshape(said["shape"])
    return tensors, metadata


def pictures(seed):
    rng = np.random.RandomState(seed)
    return [rng.randint(0, 256, (3, SIZE, SIZE)).astype(np.uint8) for _ in range(PICTURES)]


def input_of_detector(pixels, means):
    return (pixels[::-1].astype(np.float32) - np.float32(means)[:, None, None])[None]


class Body:
    """The body of a detector with the weights of a file."""

    def __init__(self, tools, folder, words, tensors, names):
        lockstep, self.program = tools
        self.folder, self.words, self.names = folder, words, names
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        self.config = os.path.join(folder, "config.yaml")
        with open(self.config, "w") as out:
            out.write(CONFIG)
        file, loaded = (os.path.join(folder, name + ".safetensors") for name in ("file", "loaded"))
        write_safetensors(file, tensors)
        subprocess.run([self.program, "init", self.config, folder, *words], check=True,
                       stdout=subprocess.DEVNULL)
        subprocess.run([lockstep, "weights", file, "--for", self.config, "-o", loaded, *words],
                       check=True, stdout=subprocess.DEVNULL)
        values, metadata = read_safetensors(loaded)
        self.means = json.loads(metadata["PIXEL_MEANS"])
        write_tensors(os.path.join(folder, "params"), values)

    def features(self, pictures):
        """The named values in a step of all pictures."""
        count = len(pictures)
        boxes = np.tile(np.float32([8, 8, 60, 60]), (count, PLACES, 1))
        write_tensors(os.path.join(self.folder, "feeds"), {
            "data": np.concatenate([input_of_detector(pixels, self.means) for pixels in pictures]),
            "im_info": np.float32([[SIZE, SIZE, 1]] * count), "image_number": np.arange(count),
            "gt_boxes": boxes, "gt_classes": np.ones((count, PLACES), np.int64),
            "gt_crowd": np.zeros((count, PLACES), np.int64)})
        subprocess.run([self.program, "step", self.config, self.folder, *self.words, "--fetch",
                        *self.names], check=True)
        found = read_arrays(os.path.join(self.folder, "fetched"))
        return [found[name] for name in self.names]


def difference(ours, theirs):
    theirs = theirs.detach().numpy()
    if ours.shape != theirs.shape:
        return f"shape {ours.shape}, torch {theirs.shape}"
    off = float(np.abs(ours - theirs).max() / np.abs(theirs).max())
    return off if off <= LIMIT else f"off by {off:.2g}"


def compared(name, body, features):
    drawn, worst = pictures(3), 0.0
    ours = body.features(drawn)
    for place, pixels in enumerate(drawn):
        with torch.no_grad():
            theirs = features(published.normalised(pixels))
        for level, other in enumerate(theirs):
            off = difference(ours[level][place:place + 1], other)
            if isinstance(off, str):
                print(f"{name}: picture {place}, level {level}: {off}")
                return False
            worst = max(worst, off)
    print(f"{name}: within {worst:.1e}")
    return True


def check_vgg_by_names(lockstep, folder):
    """The translated tensors, computed in torch: a narrow network of the same layers."""
    network = published.randomised(published.Vgg16(width=4), 5)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    file, out = (os.path.join(folder, name) for name in ("w.safetensors", "named.safetensors"))
    write_safetensors(file, network.named())
    subprocess.run([lockstep, "weights", file, "-o", out], check=True, stdout=subprocess.DEVNULL)
    values, metadata = read_safetensors(out)
    weights = {name: torch.from_numpy(value.copy()) for name, value in values.items()}
    means = json.loads(metadata["PIXEL_MEANS"])
    for pixels in pictures(4):
        data = torch.from_numpy(input_of_detector(pixels, means))
        ours = published.vgg16_of_detectron(weights, data).numpy()
        off = difference(ours, network.features(published.normalised(pixels))[0])
        if isinstance(off, str):
            print(f"names of VGG16: {off}")
            return False
    print("names of VGG16: agree")
    return True


def hooked(network, modules):
    """The outputs of modules during a pass."""
    def features(x):
        found = []
        hooks = [module.register_forward_hook(lambda _, __, y: found.append(y)) for module in modules]
        network(x)
        for hook in hooks:
            hook.remove()
        return found
    return features


def real_networks():
    """(name, words, tensors, values, features) of the networks of installed modules."""
    torch.manual_seed(0)
    try:
        import torchvision
        network = published.randomised(torchvision.models.resnet50(weights=None), 11)
        yield ("torchvision's ResNet-50", R50, network.state_dict(), SUMS_50,
               hooked(network, [getattr(network, f"layer{i}") for i in (1, 2, 3, 4)]))
        network = published.randomised(torchvision.models.vgg16(weights=None), 12)
        convs = {name: value for name, value in network.state_dict().items()
                 if name.startswith("features")}
        yield ("torchvision's VGG16", VGG, convs, ["conv5_3"], hooked(network, [network.features[29]]))
    except ImportError as missing:
        print(f"skipped: {missing}")
    try:
        import timm
        network = published.randomised(timm.create_model("resnet50", pretrained=False), 13)
        yield ("timm's ResNet-50", R50, network.state_dict(), SUMS_50,
               hooked(network, [getattr(network, f"layer{i}") for i in (1, 2, 3, 4)]))
    except ImportError as missing:
        print(f"skipped: {missing}")
    try:
        import transformers
        network = transformers.ResNetForImageClassification(transformers.ResNetConfig())
        network = published.randomised(network, 14)
        yield ("Hugging Face's ResNet-50", R50, network.state_dict(), SUMS_50,
               hooked(network, list(network.resnet.encoder.stages)))
    except ImportError as missing:
        print(f"skipped: {missing}")


def plain_networks():
    fifty = published.randomised(published.ResNet((3, 4, 6, 3)), 1)
    yield "ResNet-50", R50 + SMALL, fifty.state_dict(), SUMS_50, fifty.features
    parallel = {"module." + name: value for name, value in fifty.state_dict().items()}
    yield "ResNet-50 of a data-parallel wrapper", R50 + SMALL, parallel, SUMS_50, fifty.features
    named = published.hugging_face_names(fifty.state_dict())
    yield "ResNet-50 by Hugging Face's names", R50 + SMALL, named, SUMS_50, fifty.features
    wide = published.randomised(published.ResNet((3, 4, 6, 3), groups=2), 2)
    yield ("ResNeXt-50", R50 + SMALL + ["RESNETS.NUM_GROUPS", "2"], wide.state_dict(), SUMS_50,
           wide.features)
    eighteen = published.randomised(published.ResNet((2, 2, 2, 2), bottleneck=False), 3)
    yield "ResNet-18", R18, eighteen.state_dict(), SUMS_18, eighteen.features
    vgg = published.randomised(published.Vgg16(), 4)
    yield "VGG16", VGG, vgg.named(), ["conv5_3"], vgg.features


def main(lockstep, program, folder):
    torch.set_num_threads(2)
    good = check_vgg_by_names(lockstep, os.path.join(folder, "vgg"))
    for networks in (plain_networks(), real_networks()):
        for name, words, tensors, values, features in networks:
            body = Body((lockstep, program), os.path.join(folder, "body"), words, tensors, values)
            good = compared(name, body, features) and good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:4]))
