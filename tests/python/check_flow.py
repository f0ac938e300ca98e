# SPDX-License-Identifier: Apache-2.0
"""Networks with control flow and sequences that follow from constants and shapes, in Lockstep and in
ONNX Runtime or ONNX's reference.

    check_flow.py LOCKSTEP FOLDER

Every case is a small network that `lockstep onnx-test` should run with the results of the other
engine. Networks whose control flow depends on data should be refused by name. Exit code 77: the
oracle is not installed.
"""
import pathlib
import shutil
import subprocess
import sys

try:
    import numpy as np
    import onnx
    import onnxruntime
    from onnx import numpy_helper, parser
    from onnx.reference import ReferenceEvaluator
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

HEAD = '<ir_version: 8, opset_import: ["" : OPSET]>\n'

# name: (opset, network, extra inputs by name); x is float[N, 3] unless the network says otherwise.
CASES = {
    "if_constant": (17, """
net (float[N, 3] x) => (float[N, 3] y) <bool yes = {1}> {
  y = If (yes) <then_branch = a () => (float[N, 3] t) { t = Tanh(x) },
                else_branch = b () => (float[N, 3] e) { e = Neg(x) }>
}""", {}),
    "if_on_shape_with_an_initializer": (17, """
net (float[N, 3] x) => (float[N, 3] y, float[N, 3] z)
<int64 three = {3}, int64[1] axis = {1}> {
  shape = Shape(x)
  one = Constant<value = int64 {1}>()
  width = Gather(shape, one)
  fits = Equal(width, three)
  y, z = If (fits) <then_branch = a () => (float[N, 3] t, float[N, 3] u)
      <float[3] w = {2.0, 3.0, 5.0}> { t = Mul(x, w)  u = Add(t, w) },
      else_branch = b () => (float[N, 3] e, float[N, 3] f) { e = Neg(x)  f = Identity(e) }>
}""", {}),
    "if_of_old_opset": (11, """
net (float[N, 1, 3] x) => (float[N] y) <bool no = {0}> {
  y = If (no) <then_branch = a () => (float[N] t) { s = Squeeze<axes = [1]>(x)  t = ReduceMax<axes = [1], keepdims = 0>(s) },
               else_branch = b () => (float[N] e) { e = ReduceSum<axes = [1, 2], keepdims = 0>(x) }>
}""", {"x": (4, 1, 3)}),
    "if_nested_gives_outer_values": (17, """
net (float[N, 3] x) => (float[N, 3] y, float[N, 3] z) <bool yes = {1}, bool no = {0}> {
  y, z = If (yes) <then_branch = a () => (float[N, 3] t, float[N, 3] u) {
        t = Identity(x)
        u = If (no) <then_branch = c () => (float[N, 3] v) { v = Exp(x) },
                     else_branch = d () => (float[N, 3] w) { w = Sin(t) }> },
      else_branch = b () => (float[N, 3] e, float[N, 3] f) { e = Neg(x)  f = Neg(e) }>
}""", {}),
    "loop_with_scan_output": (17, """
net (float[N, 3] x) => (float[N, 3] last, float[4, N, 3] all) <int64 n = {4}, bool yes = {1}> {
  last, all = Loop (n, yes, x) <body = b (int64 i, bool c, float[N, 3] h) =>
      (bool more, float[N, 3] next, float[N, 3] seen) <float[3] w = {0.5, 0.25, 2.0}> {
    k = Cast<to = 1>(i)
    p = Add(h, k)
    q = Mul(p, w)
    next = Tanh(q)
    seen = Sub(next, x)
    more = Identity(c)
  }>
}""", {}),
    "loop_while": (17, """
net (float[N, 3] x) => (float[N, 3] y, int64 i) <int64 zero = {0}, int64 one = {1}, int64 end = {5}, bool yes = {1}> {
  y, i = Loop ("", yes, x, zero) <body = b (int64 unused, bool c, float[N, 3] h, int64 j) =>
      (bool more, float[N, 3] next, int64 up) {
    next = Sin(h)
    up = Add(j, one)
    more = Less(up, end)
  }>
}""".replace('""', ""), {}),
    "loop_without_iterations": (17, """
net (float[N, 3] x) => (float[N, 3] y, float[M, 2] all) <int64 n = {0}, bool yes = {1}, float[2] w = {1.0, 2.0}> {
  h, all = Loop (n, yes, x) <body = b (int64 i, bool c, float[N, 3] h) =>
      (bool more, float[N, 3] next, float[2] seen) {
    next = Exp(h)
    seen = Neg(w)
    more = Identity(c)
  }>
  y = Neg(h)
}""", {}),
    "loop_in_a_loop_with_if": (17, """
net (float[N, 3] x) => (float[N, 3] y) <int64 n = {3}, int64 two = {2}, int64 one = {1}, bool yes = {1}> {
  y = Loop (n, yes, x) <body = b (int64 i, bool c, float[N, 3] h) => (bool more, float[N, 3] out) {
    inner = Loop (two, yes, h) <body = d (int64 j, bool e, float[N, 3] g) => (bool on, float[N, 3] f) {
      s = Add(i, j)
      r = Cast<to = 1>(s)
      f = Add(g, r)
      on = Identity(e)
    }>
    first = Less(i, one)
    out = If (first) <then_branch = p () => (float[N, 3] t) { t = Tanh(inner) },
                      else_branch = q () => (float[N, 3] u) { u = Sin(inner) }>
    more = Identity(c)
  }>
}""", {}),
    "loop_over_a_sequence": (17, """
net (float[N, 6] x) => (float[N, 6] y, int64 length) <int64 n = {3}, int64 two = {2}, bool yes = {1}> {
  parts = SplitToSequence<axis = 1>(x, two)
  none = SequenceEmpty()
  made = Loop (n, yes, none) <body = b (int64 i, bool c, seq(float[N, 2]) before) =>
      (bool more, seq(float[N, 2]) after) {
    part = SequenceAt(parts, i)
    bent = Sin(part)
    after = SequenceInsert(before, bent)
    more = Identity(c)
  }>
  length = SequenceLength(made)
  y = ConcatFromSequence<axis = 1>(made)
}""", {"x": (4, 6)}),
    "sequence_positions": (17, """
net (float[N, 3] x) => (float[N, 2, 3] y, float[N, 3] z)
<int64 zero = {0}, int64 last = {-1}, int64 one = {1}> {
  a = Neg(x)
  b = Exp(x)
  s = SequenceConstruct(x, a)
  t = SequenceInsert(s, b, zero)
  u = SequenceErase(t, one)
  z = SequenceAt(u, last)
  y = ConcatFromSequence<axis = 1, new_axis = 1>(u)
}""", {}),
    "sequence_of_a_split_with_sizes": (17, """
net (float[N, 6] x) => (float[N, 6] y) <int64[3] sizes = {1, 2, 3}, int64 one = {1}> {
  s = SplitToSequence<axis = 1>(x, sizes)
  p = SequenceAt(s, one)
  t = SequenceErase(s, one)
  u = SequenceInsert(t, p)
  y = ConcatFromSequence<axis = 1>(u)
}""", {"x": (4, 6)}),
    "scan_with_state": (17, """
net (float[5, 3] x, float[3] h) => (float[3] last, float[3, 5] all) {
  last, all = Scan <num_scan_inputs = 1, scan_input_directions = [1], scan_output_axes = [1], body = b
      (float[3] before, float[3] now) => (float[3] after, float[3] seen) {
    s = Add(before, now)
    after = Tanh(s)
    seen = Neg(after)
  }> (h, x)
}""", {"x": (5, 3), "h": (3,)}),
    "unsorted_nodes": (17, """
net (float[N, 3] x) => (float[N, 3] y) <bool yes = {1}> {
  y = If (yes) <then_branch = a () => (float[N, 3] t) { t = Tanh(late) },
                else_branch = b () => (float[N, 3] e) { e = Neg(x) }>
  late = Sin(x)
}""", {}),
    "optional_with_an_element": (18, """
net (float[N, 3] x) => (float[N, 3] y, bool z) {
  o = Optional(x)
  z = OptionalHasElement(o)
  p = OptionalGetElement(o)
  y = Neg(p)
}""", {}),
}

# name: (network, parts of the error)
REFUSED = {
    "if_on_data": ("""
net (float[N, 3] x, bool c) => (float[N, 3] y) {
  y = If (c) <then_branch = a () => (float[N, 3] t) { t = Tanh(x) },
              else_branch = b () => (float[N, 3] e) { e = Neg(x) }>
}""", ["y (If): its condition 'c' is not constant", "Control flow on data"]),
    "if_on_a_parameter": ("""
net (float[N, 3] x) => (float[N, 3] y) <float w = {1.0}, float zero = {0.0}> {
  c = Greater(w, zero)
  y = If (c) <then_branch = a () => (float[N, 3] t) { t = Mul(x, w) },
              else_branch = b () => (float[N, 3] e) { e = Neg(x) }>
}""", ["y (If): its condition 'c' is not constant"]),
    "loop_on_data": ("""
net (float[N, 3] x, int64 n) => (float[N, 3] y) <bool yes = {1}> {
  y = Loop (n, yes, x) <body = b (int64 i, bool c, float[N, 3] h) => (bool more, float[N, 3] next) {
    next = Sin(h)
    more = Identity(c)
  }>
}""", ["y (Loop): its trip count 'n' is not constant"]),
    "loop_ends_on_data": ("""
net (float[N, 3] x, float limit) => (float[N, 3] y) <int64 n = {9}, bool yes = {1}> {
  y = Loop (n, yes, x) <body = b (int64 i, bool c, float[N, 3] h) => (bool more, float[N, 3] next) {
    next = Sin(h)
    s = ReduceSum<keepdims = 0>(next)
    more = Less(s, limit)
  }>
}""", ["y (Loop): after iteration 0 its condition 'more' is not constant"]),
    "endless_loop": ("""
net (float[N, 3] x) => (float[N, 3] y) <int64 n = {9000000000}, bool yes = {1}> {
  y = Loop (n, yes, x) <body = b (int64 i, bool c, float[N, 3] h) => (bool more, float[N, 3] next) {
    next = Sin(h)
    more = Identity(c)
  }>
}""", ["unrolled to more than 100000 nodes"]),
    "sequence_as_an_output": ("""
net (float[N, 3] x) => (seq(float[N, 3]) y) { y = SequenceConstruct(x, x) }""",
                              ["output 'y'", "a sequence, not a tensor"]),
    "position_outside": ("""
net (float[N, 3] x) => (float[N, 3] y) <int64 two = {2}> {
  s = SequenceConstruct(x, x)
  y = SequenceAt(s, two)
}""", ["y (SequenceAt of opset 17): position 2 is outside of 2 parts"]),
    "unknown_operator_in_the_branch": ("""
net (float[N, 3] x) => (float[N, 3] y) <bool yes = {1}> {
  y = If (yes) <then_branch = a () => (float[N, 3] t) { t = Det(x) },
                else_branch = b () => (float[N, 3] e) { e = Neg(x) }>
}""", ["operators that Lockstep does not have", "Det (1 node: t)"]),
}


def model_of(opset, text):
    return parser.parse_model(HEAD.replace("OPSET", str(opset)) + text.strip())


def results_of(model, inputs):
    """ONNX Runtime's results; the reference's if ONNX Runtime refuses the network."""
    try:
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        session = onnxruntime.InferenceSession(model.SerializeToString(), options)
        return session.run(None, inputs)
    except Exception:  # noqa: BLE001
        return ReferenceEvaluator(model).run(None, inputs)


def write(folder, model, inputs, outputs):
    data = folder / "test_data_set_0"
    data.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    for kind, values in (("input", inputs), ("output", outputs)):
        for i, value in enumerate(values):
            (data / f"{kind}_{i}.pb").write_bytes(
                numpy_helper.from_array(np.asarray(value)).SerializeToString())


def main():
    lockstep, work = sys.argv[1], pathlib.Path(sys.argv[2])
    shutil.rmtree(work, ignore_errors=True)
    draw = np.random.default_rng(3)
    for name, (opset, text, shapes) in CASES.items():
        model = model_of(opset, text)
        inputs = {i.name: draw.standard_normal(shapes.get(i.name, (4, 3))).astype(np.float32)
                  for i in model.graph.input}
        write(work / name, model, list(inputs.values()), results_of(model, inputs))
    run = subprocess.run([lockstep, "onnx-test", work], capture_output=True, text=True)
    print(run.stdout, run.stderr)
    passed = f"{len(CASES)} pass, 0 fail, 0 unsupported" in run.stdout
    refused = work / "refused"
    refused.mkdir()
    for name, (text, parts) in REFUSED.items():
        path = refused / f"{name}.onnx"
        path.write_bytes(model_of(17, text).SerializeToString())
        run = subprocess.run([lockstep, "inspect", path], capture_output=True, text=True)
        missing = [part for part in parts if part not in run.stderr]
        if run.returncode != 2 or missing:
            print(f"{name}: exit code {run.returncode}, no {missing} in: {run.stderr}")
            passed = False
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
