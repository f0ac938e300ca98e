# SPDX-License-Identifier: Apache-2.0
"""Networks of tables, graphs, sounds and sets, and mathematical operators."""
import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils import parametrizations

from newcomer import Judged, Newcomer, Scored, mlp, pictures, vectors


class Vae(nn.Module):
    """A variational autoencoder; `noise` is an input, or drawn by the step."""

    def __init__(self, draws):
        super().__init__()
        self.encode, self.decode, self.draws = mlp(12, 16, 8), mlp(4, 16, 12), draws

    def loss(self, data, noise):
        mean, log_variance = self.encode(data).chunk(2, 1)
        if self.draws:
            noise = torch.randn_like(mean)
        out = self.decode(mean + noise * torch.exp(0.5 * log_variance))
        far = -0.5 * (1 + log_variance - mean ** 2 - log_variance.exp()).sum(1).mean()
        return F.binary_cross_entropy_with_logits(out, data) + 0.1 * far


class DrawnVae(Vae):
    def __init__(self):
        super().__init__(True)

    def forward(self, data):
        return self.loss(data, None)


class FedVae(Vae):
    def __init__(self):
        super().__init__(False)

    def forward(self, data, noise):
        return self.loss(data, noise)


class Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(1, 4, 3, 2, 1), nn.ELU(), nn.Conv2d(4, 8, 3, 2, 1))
        self.up = nn.Sequential(nn.ConvTranspose2d(8, 4, 3, 2, 1, 1), nn.ELU(), nn.ConvTranspose2d(4, 1, 3, 2, 1, 1))

    def forward(self, data):
        return F.mse_loss(torch.sigmoid(self.up(F.leaky_relu(self.down(data)))), data)


class Detr(nn.Module):
    """A set of boxes from learned queries, in a given order."""

    def __init__(self):
        super().__init__()
        self.stem, self.queries = nn.Conv2d(3, 16, 8, 8), nn.Parameter(torch.randn(5, 16))
        self.places = nn.Parameter(torch.randn(16, 16))
        self.decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(16, 2, 32, 0.1, batch_first=True), 2)
        self.classes, self.boxes = nn.Linear(16, 4), mlp(16, 16, 4)

    def forward(self, data, labels, boxes):
        seen = self.stem(data).flatten(2).transpose(1, 2) + self.places
        out = self.decoder(self.queries.expand(data.shape[0], -1, -1), seen)
        found = self.boxes(out).sigmoid()
        is_box = (labels > 0).unsqueeze(2)
        near = (F.smooth_l1_loss(found, boxes, reduction="none") * is_box).sum() / is_box.sum().clamp(min=1)
        return F.cross_entropy(self.classes(out).transpose(1, 2), labels) + 5 * near


def scenes(rows):
    return {"data": torch.rand(rows, 3, 32, 32), "labels": torch.randint(0, 4, (rows, 5)),
            "boxes": torch.rand(rows, 5, 4)}


class GraphNet(nn.Module):
    """Two rounds of messages along edges; `gather` adds the messages of a node."""

    def __init__(self, gather):
        super().__init__()
        self.message, self.update = nn.Linear(6, 6), nn.Linear(12, 6)
        self.fc, self.gather = nn.Linear(6, 3), gather

    def forward(self, data, edges, target):
        x = data
        for _ in range(2):
            messages = torch.tanh(self.message(x[edges[:, 0]]))
            x = torch.tanh(self.update(torch.cat([x, self.gather(x, edges[:, 1], messages)], 1)))
        return F.cross_entropy(self.fc(x), target)


def added(x, to, messages):
    return torch.zeros_like(x).index_add(0, to, messages)


def reduced(how):
    def gather(x, to, messages):
        return torch.zeros_like(x).scatter_reduce(0, to.unsqueeze(1).expand_as(messages), messages, how,
                                                  include_self=False)

    return gather


def graph(rows):
    return {"data": torch.randn(2 * rows, 6), "edges": torch.randint(0, 2 * rows, (5 * rows, 2)),
            "target": torch.randint(0, 3, (2 * rows,))}


class Sound(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv1d(1, 8, 16, 4), nn.BatchNorm1d(8), nn.ReLU(), nn.MaxPool1d(2),
            nn.Conv1d(8, 8, 5, dilation=2, groups=2), nn.GroupNorm(2, 8), nn.GLU(1), nn.AdaptiveAvgPool1d(4))
        self.fc = nn.Linear(16, 10)

    def forward(self, data):
        return self.fc(self.layers(data.unsqueeze(1)).flatten(1))


class Spectrum(nn.Module):
    """Classifies the logarithm of a short-time Fourier transform."""

    def __init__(self):
        super().__init__()
        self.register_buffer("window", torch.hann_window(32))
        self.scale, self.conv, self.fc = nn.Parameter(torch.ones(1)), nn.Conv1d(17, 8, 3), nn.Linear(8, 10)

    def forward(self, data):
        waves = torch.stft(self.scale * data, 32, 16, window=self.window, center=True, return_complex=True)
        power = torch.view_as_real(waves).square().sum(-1)
        return self.fc(F.relu(self.conv(torch.log(power + 1e-3))).mean(2))


def sounds(rows):
    return {"data": torch.randn(rows, 256), "target": torch.randint(0, 10, (rows,))}


class Table(nn.Module):
    """Numbers beside categories, which a bag of embeddings adds up."""

    def __init__(self):
        super().__init__()
        self.bag, self.one = nn.EmbeddingBag(30, 8, mode="sum"), nn.Embedding(7, 4)
        self.norm, self.net = nn.BatchNorm1d(5), mlp(17, 16, 1)

    def forward(self, numbers, categories, kind, target):
        x = torch.cat([self.norm(numbers), self.bag(categories), self.one(kind)], 1)
        return F.huber_loss(self.net(x)[:, 0], target)


def table(rows):
    return {"numbers": torch.randn(rows, 5), "categories": torch.randint(0, 30, (rows, 4)),
            "kind": torch.randint(0, 7, (rows,)), "target": torch.randn(rows)}


class Normed(nn.Module):
    """Layers whose weights are computed from parameters."""

    def __init__(self):
        super().__init__()
        self.first = parametrizations.weight_norm(nn.Linear(8, 16))
        self.second = parametrizations.spectral_norm(nn.Linear(16, 16))
        self.third = nn.Linear(16, 3)

    def forward(self, data):
        return self.third(F.mish(self.second(F.softplus(self.first(data)))))


class Experts(nn.Module):
    """Two of four experts for each row, all computed by einsum."""

    def __init__(self):
        super().__init__()
        self.gate, self.one = nn.Linear(8, 4), nn.Parameter(torch.randn(4, 8, 12) * 0.3)
        self.two = nn.Parameter(torch.randn(4, 12, 3) * 0.3)

    def forward(self, data):
        best, which = self.gate(data).topk(2, dim=1)
        shares = torch.zeros(data.shape[0], 4, dtype=data.dtype).scatter(1, which, best.softmax(1))
        out = torch.einsum("neh,eho->neo", F.gelu(torch.einsum("nd,edh->neh", data, self.one)), self.two)
        return torch.einsum("neo,ne->no", out, shares)


class Einsums(nn.Module):
    """Attention and a bilinear form by einsum."""

    def __init__(self):
        super().__init__()
        self.q, self.k = nn.Parameter(torch.randn(2, 6, 4) * 0.4), nn.Parameter(torch.randn(2, 6, 4) * 0.4)
        self.form = nn.Parameter(torch.randn(3, 6, 6) * 0.3)

    def forward(self, data):
        x = data.reshape(-1, 4, 6)
        scores = torch.einsum("nihd,njhd->nhij", torch.einsum("nic,hcd->nihd", x, self.q),
                              torch.einsum("njc,hcd->njhd", x, self.k))
        mixed = torch.einsum("nhij,njc->nic", scores.softmax(3), x)
        return torch.einsum("nic,ocd,nid->no", mixed, self.form, x)


class Ranked(nn.Module):
    """Running sums, sorted values and the median."""

    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(8, 8), nn.Linear(19, 3)

    def forward(self, data):
        x = self.fc1(data)
        ordered, _ = x.sort(dim=1)
        top, _ = x.topk(3, dim=1, largest=False)
        return self.fc2(torch.cat([x.cumsum(1), ordered, top], 1))


def noisy(rows):
    return {"data": torch.rand(rows, 12), "noise": torch.randn(rows, 4)}


OTHER = {
    "mlp_regression": Newcomer(lambda: Judged(mlp(8, 16, 2), F.mse_loss), vectors(8, 2)),
    "vae": Newcomer(DrawnVae, lambda rows: {"data": torch.rand(rows, 12)}, only_steps="draws random numbers"),
    "vae_noise_input": Newcomer(FedVae, noisy),
    "autoencoder": Newcomer(Autoencoder, lambda rows: {"data": torch.rand(rows, 1, 16, 16)}),
    "detr_like": Newcomer(Detr, scenes),
    "gnn_scatter": Newcomer(lambda: GraphNet(added), graph, split=False),
    "gnn_scatter_reduce": Newcomer(lambda: GraphNet(reduced("amax")), graph, split=False),
    "gnn_scatter_mean": Newcomer(
        lambda: GraphNet(reduced("mean")), graph, split=False,
        only_steps="the export writes ScatterElements without reduction for the mean, so messages overwrite others"),
    "audio_conv1d": Newcomer(lambda: Scored(Sound()), sounds),
    "audio_stft": Newcomer(lambda: Scored(Spectrum()), sounds),
    "tabular_int": Newcomer(Table, table),
    "weightnorm_spectral": Newcomer(lambda: Judged(Normed(), F.mse_loss), vectors(8, 3)),
    "einsum_moe_topk": Newcomer(lambda: Judged(Experts(), F.mse_loss), vectors(8, 3)),
    "einsum": Newcomer(lambda: Judged(Einsums(), F.mse_loss), vectors(24, 3)),
    "cumsum_sort": Newcomer(lambda: Judged(Ranked(), F.mse_loss), vectors(8, 3)),
    "instance_norm": Newcomer(lambda: Scored(nn.Sequential(
        nn.Conv2d(3, 8, 3), nn.InstanceNorm2d(8, affine=True), nn.PReLU(8), nn.AvgPool2d(2), nn.Flatten(),
        nn.Linear(8 * 25, 10))), pictures(12)),
}
