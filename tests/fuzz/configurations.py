# SPDX-License-Identifier: Apache-2.0
"""Configurations and damage to configurations. A configuration is a list of pairs of key and value text."""

from damage import damaged_bytes

MLP = {"DEVICES": "cpu", "THREADS": "1", "MODEL.TYPE": "mlp", "MODEL.HIDDEN": "[8]",
       "MODEL.NUM_CLASSES": "3", "DATA.NAME": "synthetic", "DATA.IMAGE_SIZE": "4",
       "DATA.TRAIN_SIZE": "40", "DATA.TEST_SIZE": "20", "DATA.THREADS": "1",
       "TRAIN.BATCH_SIZE": "8", "TRAIN.SNAPSHOT_ITERS": "2", "TRAIN.LOG_ITERS": "1",
       "TRAIN.DRIFT_ITERS": "1", "TEST.ITERS": "2", "SOLVER.BASE_LR": "0.02",
       "SOLVER.MAX_ITER": "3"}
TWO = {**MLP, "DEVICES": "cpu*2", "ALL_REDUCE": "xring#2", "PACKING": "ready:1k:2k",
       "SOLVER.DEFERRED": "true", "SOLVER.CLIP_NORM": "1"}
LENET = {**MLP, "MODEL.TYPE": "lenet", "MODEL.NUM_CLASSES": "10", "DATA.NAME": "digits",
         "PRECISION": "bfloat16"}

NETWORK = {**MLP, "MODEL.TYPE": "lenet", "MODEL.ONNX": "net.onnx"}  # synthetic, 3 x 4 x 4
PICTURES = {**NETWORK, "DATA.NAME": "image_folder", "DATA.ROOT": "pictures", "DATA.RESIZE": "6",
            "MODEL.NEW_CLASSIFIER": "true", "MODEL.FREEZE": '["w*"]'}

# Plausible values of a key, so that damaged files pass the first checks.
SENSIBLE = {
    "DEVICES": ["cpu", "cpu*2", "cpu*3", "cpu:0,cpu:1", "cpu*8", "gpu", "gpu:local", "cpu*4096"],
    "ALL_REDUCE": ["collective", "xring", "xring#3", "rechd", "pscpu", "pscpu:1k:xring", "auto",
        "mean:xring", "mean:collective", "nccl", "nccl/xring",
        "collective#3", "pscpu/pscpu#2", "nccl/pscpu"],
    "RING_ORDER": ["[]", "[0, 1]", "[1, 0]", "[0]", "[0, 0]"],
    "PACKING": ["none", "auto", "ready:1k:1M", "ray:1k", "tf_cnn:4k:10", "ready:0:0"],
    "PIECES": ["1", "2", "7", "1000"],
    "WIRE": ["float16", "bfloat16", '""'],
    "PRECISION": ["float32", "bfloat16", "float16"],
    "TOPOLOGY": ["2us:10G/30us:1.2G", "0:0"],
    "THREADS": ["0", "1", "2", "64", "1024"],
    "BUCKETS": ["net.onnx", "config.yaml"],
    "MODEL.TYPE": ["lenet", "mlp", "mobilenet_v2", "resnet18"],
    "MODEL.NUM_CLASSES": ["2", "4", "1000"],
    "MODEL.HIDDEN": ["[]", "[1]", "[16, 8]", "[10000]", "[16777216, 16777216]"],
    "MODEL.ONNX": ["net.onnx", "run/model.onnx", "run/step.onnx", "config.yaml"],
    "MODEL.FREEZE": ['["*"]', '["w", "?"]', '["nothing"]'],
    "MODEL.TRAIN": ['["*"]', '["w", "?"]', '["nothing"]'],
    "MODEL.TRAIN_BATCH_NORM": ["true", "*", "bn*, *", "nothing", ","],
    "MODEL.WEIGHTS": ["run/best.safetensors", "run/checkpoint.safetensors", "net.onnx",
        "/dev/zero"],
    "DATA.NAME": ["digits", "synthetic", "image_folder", "cifar10", "mnist"],
    "DATA.ROOT": ["pictures", "pictures/train", ".", "/", "run"],
    "DATA.CROP_SCALE": ["[0.5, 1]", "[1, 1]"],
    "DATA.IMAGE_SIZE": ["1", "2", "4", "7", "28", "224"],
    "DATA.RESIZE": ["1", "4", "28"],
    "TRAIN.BATCH_SIZE": ["1", "2", "7", "41", "1000"],
    "TRAIN.MICRO_BATCHES": ["2", "3", "8"],
    "TRAIN.STATISTICS": ["each", "mean", "first"],
    "SOLVER.LR_POLICY": ["step", "steps_with_decay", "steps_with_lrs", "cosine_decay",
        "exp_decay"],
    "SOLVER.STEPS": ["[0, 1]", "[0]", "[1, 0]"],
    "SOLVER.LRS": ["[0.1, 0.01]", "[0.1]"],
    "SOLVER.WARM_UP_METHOD": ["constant", "linear"],
    "SOLVER.BASE_LR": ["0", "1", "1e30", "3e38"],
}
NUMERALS = ["0", "-1", "1", "2", "3", "7", "255", "1023", "65535", "65536", "16777216",
            "2147483647", "2147483648", "4294967296", "9223372036854775807",
            "9223372036854775808", "0.5", "0.9999", "1.5", "1e-320", "1e-45", "1e38", "1e300"]
HOSTILE = [*NUMERALS, "", "~", "1e309", "-1e309", ".inf", "-.inf", ".nan", "nan", "0x10", "010",
           "1_000", "true", "False", "yes", "[]", "[[]]", "[1, [2]]", "[-1]", "[1e309, .nan]",
           "{}", "{A: 1}", "{A: {B: {C: 1}}}", "[" * 400 + "]" * 400, "{a: " * 300 + "}" * 300,
           "[0" + ", 0" * 5000 + "]", "x", "'", '"', "*a", "&a 1", "&a [*a]", "!!binary AAAA",
           "!!int x", "! x", "|", "> x", "? y", "- 1", "@", "`", "%", '"\\x1b[2J\\a"', '"\\0"',
           "../../x", "/dev/zero", "/proc/self/mem", "/", "a" * 3000, "cpu*99999999999",
           "cpu:-1", "cpu*0", "cpu,cpu", "xring#0", "xring#999999999", "ready:-1:1",
           "ready:1T:99999999999999G", "ray:0", "tf_cnn:0:0", "pscpu:::", "mean:mean:xring",
           "1us:0/0:0", "\u202ex", "\ufeff1", "é"]


def seeds():
    """The name and pairs of each configuration."""
    return [(name, list(pairs.items())) for name, pairs in (
        ("mlp", MLP), ("two replicas", TWO), ("lenet", LENET), ("a network", NETWORK),
        ("pictures", PICTURES))]


def pairs_of(text):
    """The pairs of a configuration that a run wrote, which has every key."""
    pairs, section = [], ""
    for line in text.splitlines():
        key, value = line.strip().split(":", 1)
        if line.endswith(":"):
            section = key + "."
        else:
            pairs.append(((section if line.startswith(" ") else "") + key, value.strip()))
    return pairs


def written(pairs, lot=None):
    """The text with sections as blocks; at random, some are on one line."""
    sections = {}
    for key, value in pairs:
        section, _, name = key.rpartition(".")
        sections.setdefault(section, []).append("%s: %s" % (name, value))
    text = ""
    for section, lines in sorted(sections.items()):
        if not section:
            text += "".join(line + "\n" for line in lines)
        elif lot and lot.random() < 0.2:
            text += "%s: {%s}\n" % (section, ", ".join(lines))
        else:
            text += "%s:\n%s" % (section, "".join("  %s\n" % line for line in lines))
    return text


def value_by_lot(key, now, lot):
    """A random value, mostly of the key's type, since the first check refuses other types."""
    if key in SENSIBLE and lot.random() < 0.6:
        return lot.choice(SENSIBLE[key])
    if lot.random() < 0.7:
        if now in ("true", "false"):
            return lot.choice(["true", "false"])
        if now[:1].isdigit():
            return lot.choice(NUMERALS)
        if now[:1] == "[":
            count = lot.choice([0, 1, 2, 2, 3, 50])
            return "[%s]" % ", ".join(lot.choice(NUMERALS) for _ in range(count))
    return lot.choice(HOSTILE)


def damage_lines(text, lot):
    lines = text.split("\n")
    for _ in range(lot.choice([1, 1, 2])):
        at, other = lot.randrange(len(lines)), lot.randrange(len(lines))
        act = lot.randrange(5)
        if act == 0 and len(lines) > 1:
            del lines[at]
        elif act == 1:
            lines.insert(other, lines[at])
        elif act == 2:
            lines[at], lines[other] = lines[other], lines[at]
        elif act == 3:
            lines[at] = lot.choice([" ", "  ", "\t", "- ", "? ", "#", "&a ", "---\n",
                                    "%YAML 9\n"]) + lines[at]
        else:
            lines[at] = lines[at].replace(": ", lot.choice([":", ": : ", ": - ", " "]), 1)
    return "\n".join(lines)


def damaged_configuration(pairs, known, lot):
    """The bytes of the file, and words for the command line. `known` has a value for every key."""
    pairs, overrides = list(pairs), []
    for _ in range(lot.choice([1, 1, 2, 2, 3, 5])):
        key, now = lot.choice(known)
        act = lot.randrange(10)
        if act == 0 and len(pairs) > 1:
            del pairs[lot.randrange(len(pairs))]
        elif act == 1:
            overrides += [key, value_by_lot(key, now, lot)]
        elif act == 2:
            name = lot.choice([key, key.lower(), key + ".X", lot.choice(pairs)[0], "", "X.Y.Z"])
            pairs.append((name, value_by_lot(key, now, lot)))
        else:
            pairs = [pair for pair in pairs if pair[0] != key]
            pairs.append((key, value_by_lot(key, now, lot)))
    text = written(pairs, lot)
    if lot.random() < 0.15:
        text = damage_lines(text, lot)
    data = text.encode()
    return damaged_bytes(data, lot) if lot.random() < 0.1 else data, overrides
