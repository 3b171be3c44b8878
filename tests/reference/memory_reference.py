"""What PyTorch keeps in memory for the transformer that lessons/03-attention-memory trains, by its own tracker.

Run `python3 tests/reference/memory_reference.py` with PyTorch (CPU) and tabulate installed; it writes
memory_reference.json beside it: bytes by class at the peak, and the tensors that each layer saves for its backward pass.
"""

import json
from pathlib import Path

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed._tools.mem_tracker import MemTracker

LAYERS, WIDTH, HEADS, CONTEXT, VOCABULARY, BATCH = 4, 128, 4, 128, 256, 8


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.register_buffer("mask", torch.tril(torch.ones(CONTEXT, CONTEXT, dtype=torch.bool)), persistent=False)

    def forward(self, x):
        q, k, v = self.qkv(x).split(WIDTH, dim=2)
        q, k, v = (t.view(BATCH, CONTEXT, HEADS, -1).transpose(1, 2) for t in (q, k, v))
        scores = (q @ k.transpose(-2, -1)) * (WIDTH // HEADS) ** -0.5
        shares = scores.masked_fill(~self.mask, float("-inf")).softmax(dim=-1)
        return self.out((shares @ v).transpose(1, 2).reshape(BATCH, CONTEXT, WIDTH))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.attention, self.norm2 = nn.LayerNorm(WIDTH), Attention(), nn.LayerNorm(WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(approximate="tanh"), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Gpt(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, tokens):
        x = self.tokens(tokens) + self.positions(torch.arange(CONTEXT))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def saved_tensors(model, tokens, labels):
    """Shape and bytes of every tensor that is kept for the backward pass, parameters left out, each storage once."""
    seen, kept = {p.untyped_storage().data_ptr() for p in model.parameters()}, []

    def pack(tensor):
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in seen:
            seen.add(storage.data_ptr())
            kept.append([str(tensor.dtype).removeprefix("torch."), list(tensor.shape), storage.nbytes()])
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        loss = F.cross_entropy(model(tokens).flatten(0, 1), labels)
    loss.backward()
    return kept


if __name__ == "__main__":
    torch.manual_seed(0)
    model = Gpt()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    tokens = torch.randint(VOCABULARY, (BATCH, CONTEXT))
    labels = torch.randint(VOCABULARY, (BATCH * CONTEXT,))
    tracker = MemTracker()
    tracker.track_external(model, optimizer, tokens, labels)
    with tracker:
        for step in range(2):
            loss = F.cross_entropy(model(tokens).flatten(0, 1), labels)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            if step == 0:
                tracker.reset_mod_stats()
    peak = {str(k.value if hasattr(k, "value") else k): v for k, v in tracker.get_tracker_snapshot("peak")[torch.device("cpu")].items()}
    report = {
        "generated_by": f"tests/reference/memory_reference.py with PyTorch {torch.__version__}",
        "parameters": sum(p.numel() for p in model.parameters()),
        "peak_bytes_by_class": peak,
        "peak_kib": round(peak["Total"] / 1024, 1),
        "saved_for_backward": saved_tensors(model, tokens, labels),
    }
    report["saved_bytes"] = sum(size for _, _, size in report["saved_for_backward"])
    lines = json.dumps(report, indent=1).replace("[\n   ", "[").replace(",\n   ", ", ").replace("\n  ]", "]")
    (Path(__file__).parent / "memory_reference.json").write_text(lines + "\n")
    print(report["parameters"], report["peak_kib"], peak, report["saved_bytes"] / 1024)
    for row in report["saved_for_backward"]:
        print(row)
