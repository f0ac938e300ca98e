# SPDX-License-Identifier: Apache-2.0
"""Networks of text: tiny configurations of transformers, and own ones."""
import torch
import transformers
from torch import nn
from torch.nn import functional as F

from newcomer import Newcomer, Scored, words

VOCABULARY, LENGTH = 40, 8


class Continued(nn.Module):
    """A language model of transformers, with the loss that the model itself computes."""

    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, data, target):
        return self.net(input_ids=data, labels=target, use_cache=False).loss


class Masked(nn.Module):
    """A network of transformers with a mask of its tokens."""

    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, data, mask, target):
        return self.net(input_ids=data, attention_mask=mask, labels=target).loss


def sentences(rows):
    data = torch.randint(0, VOCABULARY, (rows, LENGTH))
    return {"data": data, "target": data.clone()}


def questions(rows):
    mask = torch.ones(rows, LENGTH, dtype=torch.int64)
    mask[::2, -2:] = 0
    return {"data": torch.randint(0, VOCABULARY, (rows, LENGTH)), "mask": mask,
            "target": torch.randint(0, 3, (rows,))}


def gaps(rows):
    batch = questions(rows)
    target = torch.full((rows, LENGTH), -100)
    target[:, 1:4] = batch["data"][:, 1:4]
    return batch | {"target": target}


def translations(rows):
    return {"data": torch.randint(0, VOCABULARY, (rows, LENGTH)),
            "target": torch.randint(0, VOCABULARY, (rows, LENGTH - 2))}


def gpt2():
    return Continued(transformers.GPT2LMHeadModel(transformers.GPT2Config(
        vocab_size=VOCABULARY, n_positions=16, n_embd=16, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=0)))


def bert_config():
    return transformers.BertConfig(
        vocab_size=VOCABULARY, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=16, num_labels=3)


def t5():
    return Continued(transformers.T5ForConditionalGeneration(transformers.T5Config(
        vocab_size=VOCABULARY, d_model=16, d_kv=8, d_ff=32, num_layers=2, num_heads=2, decoder_start_token_id=0,
        pad_token_id=0, attn_implementation="eager")))


def llama():
    return Continued(transformers.LlamaForCausalLM(transformers.LlamaConfig(
        vocab_size=VOCABULARY, hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=16)))


def mixtral():
    config = transformers.MixtralConfig(
        vocab_size=VOCABULARY, hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=16, num_local_experts=4, num_experts_per_tok=2)
    config._experts_implementation = "batched_mm"  # without loops over the experts that tokens chose
    return Continued(transformers.MixtralForCausalLM(config))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out, self.heads = nn.Linear(width, 3 * width), nn.Linear(width, width), heads
        self.wide = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        rows, length, width = x.shape
        split = self.qkv(self.norm1(x)).reshape(rows, length, 3, self.heads, width // self.heads)
        q, k, v = split.permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(rows, length, width))
        return x + self.wide(self.norm2(x))


class OwnGpt(nn.Module):
    """A causal transformer whose last layer has the weights of the first."""

    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(VOCABULARY, 16), nn.Embedding(LENGTH, 16)
        self.blocks = nn.Sequential(Block(16, 2), Block(16, 2))
        self.norm, self.head = nn.LayerNorm(16), nn.Linear(16, VOCABULARY, bias=False)
        self.head.weight = self.words.weight

    def forward(self, data, target):
        x = self.words(data) + self.places(torch.arange(LENGTH))
        scores = self.head(self.norm(self.blocks(x)))
        return F.cross_entropy(scores[:, :-1].flatten(0, 1), target[:, 1:].flatten())


class Tagger(nn.Module):
    """A tag for each word; places of tag -100 do not count."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(VOCABULARY, 12)
        self.lstm = nn.LSTM(12, 8, num_layers=2, bidirectional=True, batch_first=True, dropout=0.2)
        self.fc = nn.Linear(16, 5)

    def forward(self, data, target):
        return F.cross_entropy(self.fc(self.lstm(self.words(data))[0]).flatten(0, 1), target.flatten())


def tagged(rows):
    target = torch.randint(0, 5, (rows, LENGTH))
    target[:, -2:] = -100
    return {"data": torch.randint(0, VOCABULARY, (rows, LENGTH)), "target": target}


class PaddedWords(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.fc = nn.Embedding(VOCABULARY, 12, padding_idx=0), nn.Linear(12, 10)

    def forward(self, data):
        return self.fc(torch.tanh(self.words(data)).mean(1))


def padded(rows):
    batch = words(VOCABULARY, LENGTH)(rows)
    batch["data"][:, -3:] = 0
    return batch


def with_padding_trained(model):
    for module in model.modules():
        if isinstance(module, nn.Embedding):
            module.padding_idx = None


PADDING = {"kept": with_padding_trained,
           "lost": "the export loses padding_idx: the file trains the padding's row, and so does the reference"}


class Encoded(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(VOCABULARY, 16)
        layer = nn.TransformerEncoderLayer(16, 2, 32, 0.1, batch_first=True, norm_first=True, activation="gelu")
        self.encoder, self.fc = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), nn.Linear(16, 10)

    def forward(self, data):
        return self.fc(self.encoder(self.words(data)).mean(1))


class Translator(nn.Module):
    """nn.Transformer, with masks."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(VOCABULARY, 16)
        self.net = nn.Transformer(16, 2, 1, 1, 32, 0.1, batch_first=True)
        self.fc, self.smoothing = nn.Linear(16, VOCABULARY), 0.1

    def forward(self, data, target):
        later = nn.Transformer.generate_square_subsequent_mask(LENGTH - 3, dtype=self.fc.weight.dtype)
        out = self.net(self.words(data), self.words(target[:, :-1]), tgt_mask=later, tgt_is_causal=True)
        return F.cross_entropy(self.fc(out).flatten(0, 1), target[:, 1:].flatten(), label_smoothing=self.smoothing)


def without_smoothing(model):
    model.smoothing = 0.0


class Small(nn.Module):
    """Embeds words whose numbers have 32 bits."""

    def __init__(self):
        super().__init__()
        self.words, self.gru, self.fc = nn.Embedding(VOCABULARY, 8), nn.GRU(8, 8, batch_first=True), nn.Linear(8, 10)

    def forward(self, data, target):
        _, last = self.gru(self.words(data))
        return F.cross_entropy(self.fc(last[-1]), target.long())


def small_words(rows):
    return {name: value.to(torch.int32) for name, value in words(VOCABULARY, LENGTH)(rows).items()}


TEXT = {
    "gpt2": Newcomer(gpt2, sentences),
    "bert": Newcomer(lambda: Masked(transformers.BertForSequenceClassification(bert_config())), questions, **PADDING),
    "bert_mlm": Newcomer(lambda: Masked(transformers.BertForMaskedLM(bert_config())), gaps, **PADDING),
    "t5": Newcomer(t5, translations),
    "llama": Newcomer(llama, sentences),
    "mixtral": Newcomer(mixtral, sentences),
    "own_gpt": Newcomer(OwnGpt, sentences),
    "lstm_tagger": Newcomer(Tagger, tagged),
    "padding_idx": Newcomer(lambda: Scored(PaddedWords()), padded, **PADDING),
    "transformer_layer_torch": Newcomer(lambda: Scored(Encoded()), words(VOCABULARY, LENGTH)),
    "transformer_torch": Newcomer(
        Translator, translations, kept=without_smoothing,
        lost="the export loses label smoothing: the file trains without, and so does the reference"),
    "int32_input": Newcomer(Small, small_words),
}
