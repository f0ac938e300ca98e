# SPDX-License-Identifier: Apache-2.0
"""Runs cases of the newest `onnx` for operators of opset 18 and newer in Lockstep.

    check_opsets.py LOCKSTEP FOLDER TABLE      TABLE: graph/opset/newer_opsets.cc

The cases are ONNX's and, for features without a case, the cases below. Each case is written at every
opset at which an operator changed, with the results of ONNX's reference, and run by `lockstep
onnx-test`. Operands that a rewrite needs (axes, sizes) are constants. The check passes if no case
fails, every line of the table has a passing case, and the table has every operator that Lockstep
reads and that changed after opset 17. Exit code 77: the oracle is not installed.
"""
import collections
import pathlib
import re
import shutil
import subprocess
import sys
import warnings

try:
    import numpy as np
    import onnx
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper
    from onnx.backend.test.case.node import collect_testcases
    from onnx.reference import ReferenceEvaluator
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

warnings.filterwarnings("ignore")
np.seterr(all="ignore")
OURS, NEWEST = 17, 28
# Operands that configure an operator rather than supply data.
SETTINGS = {"Reduce": [1], "Resize": [1, 2, 3], "Pad": [1, 3], "CenterCropPad": [1], "Split": [1],
            "DFT": [1, 2], "STFT": [1, 3], "MelWeightMatrix": [0, 1, 2, 3, 4], "Compress": [1], "Col2Im": [1, 2],
            "MaxUnpool": [2]}
# Lockstep and the expected result round after different steps: 16-bit floats, and zeros of a transform.
ROUNDED = ("test_attention_4d_causal_fp16", "test_dft_inverse")
# ONNX has no cases of these: no two engines draw equal numbers.
RANDOM = {"Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"}
# The conditions of ONNX's cases are data.
ON_DATA = {"If", "Loop"}
# Equations of Einsum and the shapes of their operands.
EQUATIONS = [
    ("bhqd,bhkd->bhqk", (2, 3, 4, 5), (2, 3, 6, 5)),
    ("bqhd,bkhd->bhqk", (2, 4, 3, 5), (2, 6, 3, 5)),
    ("bhqk,bhkd->bqhd", (2, 3, 4, 6), (2, 3, 6, 5)),
    ("...i,ij->...j", (2, 4, 3), (3, 5)),
    ("b...i,b...i->b...", (2, 4, 3), (2, 4, 3)),
    ("i...,j...->ij...", (2, 1, 4), (3, 5, 1)),
    ("...ij,...jk", (2, 1, 3, 4), (1, 5, 4, 6)),
    ("ij,jk,kl->li", (2, 3), (3, 4), (4, 5)),
    ("ab,cb,db->acd", (2, 3), (4, 3), (5, 3)),
    ("abc,cd,def->bfa", (2, 3, 4), (4, 5), (5, 2, 6)),
    ("abxy,xycd->abcd", (2, 3, 4, 5), (4, 5, 2, 6)),
    ("gabx,gxcd->gdcba", (2, 3, 4, 5), (2, 5, 4, 6)),
    ("xij,ijy->yx", (4, 2, 3), (2, 3, 5)),
    ("ii", (4, 4)), ("ii->i", (4, 4)), ("iij->ji", (3, 3, 4)), ("jiki->kj", (2, 3, 4, 3)),
    ("iii->i", (3, 3, 3)), ("...ii->...i", (2, 4, 4)), ("ijij->ij", (2, 3, 2, 3)),
    ("ii,ij->j", (3, 3), (3, 4)), ("ijk->k", (2, 3, 4)), ("ijk->", (2, 3, 4)), ("ij->ji", (2, 3)),
    ("i,i", (4,), (4,)), ("i,j", (3,), (4,)), ("i,i->i", (3,), (3,)), ("ij,i->j", (3, 4), (3,)),
    ("ij,ij->", (3, 4), (3, 4)), (",i->i", (), (3,)), ("bAc,cB", (2, 3, 4), (4, 5)),
    (" b i , b j -> b i j ", (2, 3), (2, 4)), ("ij,k->", (2, 3), (4,)), ("ij,jk->ik", (2, 0), (0, 3)),
    ("i,ij,j,k->k", (2,), (2, 3), (3,), (4,)),
]


def changes(table):
    """(operator, opset) of every line of the table, in order."""
    text = table.read_text()
    text = text[text.index("kChanges[] = {"):]
    text = text[:text.index("\n};")]
    found = []
    for opset, names in re.findall(r'\{(\d+),\s*\w+,\s*((?:"[^"]*"\s*)+)\}', text):
        found += [(name, int(opset)) for name in re.sub(r'[" \n]+', " ", names).split()]
    return found


def history():
    """The opsets at which each operator of ONNX changed."""
    versions = collections.defaultdict(set)
    for schema in onnx.defs.get_all_schemas_with_history():
        if not schema.domain:
            versions[schema.name].add(schema.since_version)
    return versions


def settings_of(op):
    return next((places for start, places in SETTINGS.items() if op.startswith(start)), [])


def with_constants(model, inputs):
    """The model with its settings as initializers, and the remaining inputs."""
    names = [i.name for i in model.graph.input]
    fixed = {node.input[i] for node in model.graph.node for i in settings_of(node.op_type)
             if i < len(node.input)}
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    del changed.graph.input[:]
    left = []
    for info, value in zip(model.graph.input, inputs):
        if info.name in fixed:
            changed.graph.initializer.append(numpy_helper.from_array(value, info.name))
        else:
            changed.graph.input.append(info)
            left.append(value)
    assert len(names) == len(inputs)
    return changed, left


def write(folder, model, inputs, outputs):
    data = folder / "test_data_set_0"
    data.mkdir(parents=True)
    model, inputs = with_constants(model, inputs)
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    for kind, values in (("input", inputs), ("output", outputs)):
        for i, value in enumerate(values):
            (data / f"{kind}_{i}.pb").write_bytes(numpy_helper.from_array(value).SerializeToString())


def at_opset(model, opset):
    """The model marked with another opset, if it is valid in that opset."""
    other = onnx.ModelProto()
    other.CopyFrom(model)
    del other.opset_import[:]
    other.opset_import.append(helper.make_opsetid("", opset))
    try:
        onnx.checker.check_model(other, full_check=True)
    except Exception:  # the checker raises several kinds of exceptions
        return None
    return other


def one_node(op, opset, inputs, **attributes):
    """A model of one node with the given inputs and the outputs that ONNX infers."""
    names = [f"x{i}" if value is not None else "" for i, value in enumerate(inputs)]
    node = helper.make_node(op, names, ["y"], **attributes)
    infos = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape)
             for n, v in zip(names, inputs) if n]
    graph = helper.make_graph([node], op, infos, [helper.make_empty_tensor_value_info("y")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    return onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)


def ours():
    """Cases that ONNX's lack: (name, model, inputs, outputs)."""
    random = np.random.default_rng(7)
    draw = lambda *shape: random.standard_normal(shape).astype(np.float32)
    ints = lambda *values: np.array(values, np.int64)

    def case(name, op, opset, *inputs, outputs=None, **attributes):
        model = one_node(op, opset, inputs, **attributes)
        given = [value for value in inputs if value is not None]
        feeds = {info.name: value for info, value in zip(model.graph.input, given)}
        if op == "AveragePool":  # the reference is wrong for ceil_mode with dilations
            outputs = onnxruntime.InferenceSession(model.SerializeToString()).run(None, feeds)
        return name, model, given, outputs or ReferenceEvaluator(model).run(None, feeds)

    for op in ("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare",
               "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd"):
        x = np.abs(draw(2, 3, 4)) + 0.5
        yield case(f"{op}_keeps", op, 18, x, ints(0, -1), keepdims=1)
        yield case(f"{op}_drops", op, 18, x, ints(1), keepdims=0)
        yield case(f"{op}_all", op, 18, x, keepdims=0)
        nothing = {"ReduceL1": x, "ReduceL2": x, "ReduceLogSum": np.log(x), "ReduceSumSquare": x * x}
        yield case(f"{op}_nothing", op, 18, x, ints(), outputs=[nothing.get(op, x)],
                   noop_with_empty_axes=1)
    for op in ("ReduceMax", "ReduceMin"):
        x = draw(3, 4) > 0.5
        yield case(f"{op}_boolean", op, 20, x, ints(1), keepdims=0)

    x, scale, bias = draw(2, 6, 3, 2), draw(3), draw(3)
    grouped = x.reshape(2, 3, -1)
    normal = (grouped - grouped.mean(2, keepdims=True)) / np.sqrt(grouped.var(2, keepdims=True) + 0.01)
    by_group = (normal * scale[:, None] + bias[:, None]).reshape(x.shape).astype(np.float32)
    for opset in (18, 20):
        yield case(f"group_norm_{opset}", "GroupNormalization", opset, x, scale, bias,
                   outputs=[by_group], num_groups=3, epsilon=0.01)
    scale, bias = draw(6), draw(6)
    by_channel = (normal.reshape(x.shape) * scale[:, None, None] + bias[:, None, None]).astype(np.float32)
    yield case("group_norm_21", "GroupNormalization", 21, x, scale, bias, outputs=[by_channel],
               num_groups=3, epsilon=0.01)

    x = draw(1, 2, 3, 4)
    for name, pads in (("once", (0, 1, 1, 2)), ("often", (7, 9, 5, 4)), ("cuts", (-1, 2, 1, -2))):
        padded = x
        for axis, (begin, end) in ((2, pads[::2]), (3, pads[1::2])):
            size = x.shape[axis]
            padded = np.take(padded, np.arange(-begin, size + end) % size, axis)
        yield case(f"pad_wrap_{name}", "Pad", 19, x, ints(*pads), None, ints(2, -1), mode="wrap",
                   outputs=[padded])
    for mode in ("constant", "reflect", "edge"):
        yield case(f"pad_axes_{mode}", "Pad", 18, x, ints(1, 2, 2, 1), None, ints(-1, 2), mode=mode)

    yield case("split_uneven", "Split", 18, draw(7, 2), num_outputs=1)
    yield case("mod_floats", "Mod", 28, draw(20), draw(20) + 0.1, fmod=0)
    x = draw(1, 2, 6, 7)
    for counts in (0, 1):
        for ceil in (0, 1):
            yield case(f"average_dilated_{counts}{ceil}", "AveragePool", 19, x, kernel_shape=[2, 3],
                       dilations=[2, 2], strides=[2, 3], pads=[1, 0, 1, 2], count_include_pad=counts,
                       ceil_mode=ceil)
    for i, (equation, *shapes) in enumerate(EQUATIONS):
        yield case(f"einsum_{i}", "Einsum", 12, *(draw(*shape) for shape in shapes), equation=equation)
        numbers = [(8 * draw(*shape)).astype(np.int64) for shape in shapes]
        yield case(f"einsum_{i}_of_integers", "Einsum", 12, *numbers, equation=equation)
    for op in ("HannWindow", "HammingWindow", "BlackmanWindow"):
        for periodic in (0, 1):
            yield case(f"{op}_{periodic}", op, 17, np.array(10, np.int64), periodic=periodic)
    for length in (None, 5, 12):
        for inverse in (0, 1):
            sizes = [np.array(length, np.int64)] if length else []
            yield case(f"dft_{length}_{inverse}", "DFT", 17, draw(2, 9, 3, 2), *sizes, axis=1, inverse=inverse)
            yield case(f"dft_axis_{length}_{inverse}", "DFT", 20, draw(2, 9, 3, 2), *(sizes or [None]),
                       np.array(-3, np.int64), inverse=inverse)
        n = length or 16
        half = draw(2, 9, 2)
        whole = np.fft.irfft(half[..., 0] + 1j * half[..., 1], n)[..., None].astype(np.float32)
        yield case(f"dft_back_{length}", "DFT", 20, half, *(sizes or [None]), ints(1)[0], outputs=[whole], inverse=1,
                   onesided=1)
    signal, window = draw(2, 40, 1), np.abs(draw(8))
    for step in (1, 3, 8, 11):
        yield case(f"stft_{step}", "STFT", 17, signal, np.array(step, np.int64), window)
    yield case("stft_complex", "STFT", 17, draw(2, 40, 2), np.array(3, np.int64), window, onesided=0)
    for p in (1, 2, 3):
        yield case(f"lp_pool_{p}", "LpPool", 18, draw(1, 2, 6, 7), p=p, kernel_shape=[2, 3], strides=[2, 1],
                   pads=[1, 0, 0, 1], dilations=[2, 1])
        x = draw(2, 3, 4, 5)
        for opset in (17, 22):
            yield case(f"global_lp_pool_{p}_{opset}", "GlobalLpPool", opset, x, p=p,
                       outputs=[(np.abs(x) ** p).sum((2, 3), keepdims=True) ** np.float32(1 / p)])
    x = np.concatenate([draw(3, 4), np.zeros((1, 4), np.float32)])
    sums = np.abs(x).sum(1, keepdims=True)  # the reference sums signed numbers
    yield case("normal_l1", "LpNormalization", 22, x, p=1, outputs=[x / np.where(sums == 0, 1, sums)])
    yield case("quantize_type", "QuantizeLinear", 21, draw(3, 4), np.array(0.01, np.float32),
               output_dtype=TensorProto.INT8)
    yield case("mvn", "MeanVarianceNormalization", 17, draw(2, 3, 4, 5), axes=[0, 2])
    blocks = draw(2, 12, 4)
    yield case("col2im_strided", "Col2Im", 18, blocks, ints(6, 5), ints(3, 2), strides=[3, 2],
               outputs=None)
    yield case("cast_saturates", "Cast", 19, x, to=TensorProto.DOUBLE, saturate=0)
    yield case("cast_like", "CastLike", 21, x, x.astype(np.float64), saturate=1)


def theirs(wanted):
    """ONNX's cases, at their opset and at every other opset at which their operators changed."""
    for case in collect_testcases(None):
        opsets = [o.version for o in case.model.opset_import if o.domain in ("", "ai.onnx")]
        if not opsets or not case.data_sets:
            continue
        inputs, outputs = case.data_sets[0]
        if not all(isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in "fiub"
                   for value in [*inputs, *outputs]):
            continue  # strings, sequences, types that numpy lacks
        inputs, outputs = [np.asarray(v) for v in inputs], [np.asarray(v) for v in outputs]
        op = case.model.graph.node[0].op_type
        if max(opsets) > OURS or op in wanted and max(opsets) in wanted[op]:
            yield case.name, case.model, inputs, outputs
        if len(case.model.graph.node) != 1:
            continue
        if op == "GroupNormalization":
            continue  # has another meaning in each opset
        for opset in wanted.get(op, []):
            if op == "Pad" and opset == 18 and "wrap" in case.name:
                continue  # the checker does not read the values of strings
            if opset not in opsets and (model := at_opset(case.model, opset)):
                yield f"{case.name}_at_{opset}", model, inputs, outputs


def main():
    lockstep, folder, table = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    shutil.rmtree(folder, ignore_errors=True)
    wanted, lines = collections.defaultdict(list), changes(table)
    for op, opset in lines:
        wanted[op].append(opset)
    of_line, operators = collections.defaultdict(set), {}
    for name, model, inputs, outputs in [*ours(), *theirs(wanted)]:
        write(folder / name, model, inputs, outputs)
        operators[name] = {node.op_type for node in model.graph.node}
        for node in model.graph.node:
            reached = [o for o in wanted.get(node.op_type, []) if o <= model.opset_import[0].version]
            if reached:
                of_line[node.op_type, max(reached)].add(name)
    run = subprocess.run([lockstep, "onnx-test", folder], capture_output=True, text=True)
    results = collections.defaultdict(list)
    for line in run.stdout.splitlines():
        result, _, rest = line.partition(" ")
        results[result].append(rest)
    passed = {line.split()[0] for line in results["pass"]}
    bad = [line for line in results["fail"] if not line.startswith(ROUNDED)]
    bad += [f"{op} of opset {opset}: none of {len(of_line[op, opset])} cases passes"
            for op, opset in lines if op not in RANDOM | ON_DATA and not of_line[op, opset] & passed]
    known = set().union(*(operators[name] for name in passed))
    for op, versions in history().items():
        missing = sorted(v for v in versions if OURS < v <= NEWEST and v not in wanted.get(op, []))
        if (op in known or op in wanted) and missing:
            bad.append(f"{op} changed at opset {missing}, which the table does not say")
    print(*bad, sep="\n")
    print(f"{len(passed)} cases pass, {len(results['unsupported'])} are refused by name, "
          f"{len(lines)} changes of operators, onnx {onnx.__version__}")
    return 1 if bad or len(passed) < 1000 else 0


if __name__ == "__main__":
    sys.exit(main())
