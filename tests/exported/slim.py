# SPDX-License-Identifier: Apache-2.0
"""Shrinks a file of PyTorch's newer exporter to the graph and the kind of each initializer."""

KIND = "pkg.torch.export.graph_signature.InputSpec.kind"


def slim(model):
    """Removes the exporter's metadata, which is mostly lines of source code, except the kinds."""
    kinds = {}
    for value in model.graph.value_info:
        for entry in value.metadata_props:
            if entry.key == KIND:
                kinds[value.name] = entry.value
    _strip(model.graph)
    del model.metadata_props[:]
    for tensor in model.graph.initializer:
        if tensor.name in kinds:
            value = model.graph.value_info.add(name=tensor.name)
            value.type.tensor_type.elem_type = tensor.data_type
            value.type.tensor_type.shape.SetInParent()
            for size in tensor.dims:
                value.type.tensor_type.shape.dim.add(dim_value=size)
            value.metadata_props.add(key=KIND, value=kinds[tensor.name])
    return model


def _strip(graph):
    del graph.value_info[:]
    for part in (graph, *graph.node, *graph.input, *graph.output, *graph.initializer):
        del part.metadata_props[:]
        part.ClearField("doc_string")
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                _strip(attribute.g)
