# SPDX-License-Identifier: Apache-2.0
"""Printers of Lockstep's small types for gdb: gdb -x tools/gdb/lockstep.py PROGRAM

Value prints as `value 7` or `none`; Dims as `[2,3]`; TensorDesc as in the library's own messages, `float32[2,3]/c16`.
Dims is std::vector<int64_t>: only values declared as Dims print so, other vectors as usual.
"""
import gdb

MOST_DIMS = 64  # a larger vector is no shape: probably its constructor has not run yet


def text_of_dims(vector):
    """[2,3], from the pointers of libstdc++'s vector."""
    start, finish = vector["_M_impl"]["_M_start"], vector["_M_impl"]["_M_finish"]
    count = int(finish - start)
    if not 0 <= count <= MOST_DIMS:
        return f"[not constructed: {count} dimensions]"
    return "[" + ",".join(str(int(start[i])) for i in range(count)) + "]"


def text_of_dtype(dtype):
    name = name_of(dtype)
    return "bool" if name == "boolean" else name


def name_of(enumerator):
    return str(enumerator).split("::")[-1]


def text_of_layout(desc):
    """The texts of text_of_layout() and text_of() in lockstep/tensor.h."""
    layout = desc["layout"]
    form, size = name_of(layout["form_"]), int(layout["size_"])
    if form == "rows":
        return ""
    if form == "channels_last":
        return f"/c{int(desc['dims']['_M_impl']['_M_start'][1])}"
    if form == "blocks":
        return f"/c{size}"
    pairs, turned = name_of(layout["pairs_"]), name_of(layout["turned_"])
    return (f"/t{size}" + (f"x{2 * size}" if pairs == "deep" else "") + (" pairs" if pairs != "none" else "")
            + (" each" if turned == "each" else "") + (" turned" if turned != "no" else ""))


def text_of_value(value):
    return f"value {int(value['id'])}" if value["id"] >= 0 else "none"


def text_of_desc(desc):
    return text_of_dtype(desc["dtype"]) + text_of_dims(desc["dims"]) + text_of_layout(desc)


TEXTS = {
    "lockstep::Value": text_of_value,
    "lockstep::Dims": text_of_dims,
    "lockstep::TensorDesc": text_of_desc,
}


class Printer:
    def __init__(self, text, value):
        self.text = text
        self.value = value

    def to_string(self):
        return self.text(self.value)


def printer_of(value):
    """A printer for the type as declared: behind a typedef, Dims would be any vector."""
    kind = value.type
    if kind.code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF):
        kind = kind.target()
        value = value.referenced_value()
    text = TEXTS.get(kind.unqualified().name)
    return Printer(text, value) if text else None


printer_of.name = "lockstep"  # for `info pretty-printer` and `disable pretty-printer`


def register(objects):
    """The printers of one program or library, before libstdc++'s own, which print Dims as a vector."""
    if all(getattr(known, "name", "") != "lockstep" for known in objects.pretty_printers):
        objects.pretty_printers.insert(0, printer_of)


for loaded in gdb.objfiles():
    register(loaded)
gdb.events.new_objfile.connect(lambda event: register(event.new_objfile))
