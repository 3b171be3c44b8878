"""Makes the numbers that tests/behaviour/reference.rs compares with: gradients and losses of four small models in PyTorch.

Run `python3 tests/reference/make_reference.py` with PyTorch (CPU) installed; it writes the *.json files beside it.

Weights are kept in the layouts of Headroom (convolution [k, k, in, out], depthwise [k, k, channels], linear [in, out]), so
that the gradients come out in them. Pictures are [samples, height, width, channels]. Every number that goes in is a formula
of its place: see `fill`. Training is plain gradient descent on the mean cross-entropy, one batch over and over.
"""

import json
import math
from pathlib import Path

import torch
import torch.nn.functional as F

HERE = Path(__file__).parent
STEPS = 10
EPS = 1e-5
MOMENTUM = 0.1
FORMULA = (
    "parameter number p, element i: s * sin(0.7 i + 1.3 p + 0.1), with s = 1.5 / sqrt(fan_in) for weights and 0.1 for "
    "biases, betas; gammas are 1 + 0.1 sin(...); embedding and position have s = 0.5. Pictures: sin(0.37 i + 0.2). "
    "Labels: (3 i + 1) mod classes. Tokens: (7 i + i div 3) mod vocabulary; next tokens: (5 i + 2) mod vocabulary."
)


def fill(p, name, shape):
    """The first weights of parameter number p."""
    n = math.prod(shape)
    wave = [math.sin(0.7 * i + 1.3 * p + 0.1) for i in range(n)]
    if name.endswith("gamma"):
        values = [1.0 + 0.1 * w for w in wave]
    elif name.endswith(("beta", "bias")):
        values = [0.1 * w for w in wave]
    elif name in ("embedding", "position"):
        values = [0.5 * w for w in wave]
    elif "depthwise" in name:
        values = [1.5 / math.sqrt(shape[0] * shape[1]) * w for w in wave]
    else:
        values = [1.5 / math.sqrt(math.prod(shape[:-1])) * w for w in wave]
    return torch.tensor(values, dtype=torch.float64).to(torch.float32).reshape(shape).requires_grad_()


class Model:
    """Parameters in the order of their declaration, and running statistics of batch normalisation."""

    def __init__(self, shapes):
        self.parameters = {name: fill(p, name, shape) for p, (name, shape) in enumerate(shapes.items())}
        self.running = {}
        self.training = True

    def __getitem__(self, name):
        return self.parameters[name]

    def conv(self, x, name, stride=1):
        w = self[f"{name}.weight"]
        padding = w.shape[0] // 2
        return F.conv2d(x, w.permute(3, 2, 0, 1), stride=stride, padding=padding)

    def depthwise(self, x, name, stride=1):
        w = self[f"{name}.weight"]
        return F.conv2d(x, w.permute(2, 0, 1).unsqueeze(1), stride=stride, padding=w.shape[0] // 2, groups=w.shape[2])

    def norm(self, x, name):
        channels = x.shape[1]
        mean, variance = self.running.setdefault(name, (torch.zeros(channels), torch.ones(channels)))
        gamma, beta = self[f"{name}.gamma"], self[f"{name}.beta"]
        return F.batch_norm(x, mean, variance, gamma, beta, self.training, MOMENTUM, EPS)

    def linear(self, x, name):
        return x @ self[f"{name}.weight"] + self[f"{name}.bias"]

    def layer_norm(self, x, name):
        return F.layer_norm(x, x.shape[-1:], self[f"{name}.gamma"], self[f"{name}.beta"], EPS)


def norm_shapes(name, channels):
    return {f"{name}.gamma": (channels,), f"{name}.beta": (channels,)}


def linear_shapes(name, n_in, n_out):
    return {f"{name}.weight": (n_in, n_out), f"{name}.bias": (n_out,)}


def pictures(*shape):
    n = math.prod(shape)
    x = torch.tensor([math.sin(0.37 * i + 0.2) for i in range(n)], dtype=torch.float64).to(torch.float32)
    return x.reshape(shape).permute(0, 3, 1, 2)


def pooled(x):
    return x.mean(dim=(2, 3))


def cnn():
    shapes = {"conv0.weight": (3, 3, 2, 4), **norm_shapes("norm0", 4)}
    shapes |= {"conv1.weight": (3, 3, 4, 8), **norm_shapes("norm1", 8)}
    shapes |= {"shortcut.weight": (1, 1, 4, 8), **norm_shapes("shortcut_norm", 8), **linear_shapes("head", 8, 5)}

    def forward(m, x):
        x = F.relu(m.norm(m.conv(x, "conv0"), "norm0"))
        y = m.norm(m.conv(x, "conv1", 2), "norm1")
        x = F.relu(y + m.norm(m.conv(x, "shortcut", 2), "shortcut_norm"))
        return m.linear(pooled(F.max_pool2d(x, 2)), "head")

    return Model(shapes), forward, pictures(4, 8, 8, 2), 5


def mobilenet_block():
    shapes = {"depthwise.weight": (3, 3, 4), **norm_shapes("depthwise_norm", 4)}
    shapes |= {"pointwise.weight": (4, 8), **norm_shapes("pointwise_norm", 8), **linear_shapes("head", 8, 5)}

    def forward(m, x):
        x = F.relu6(m.norm(m.depthwise(x, "depthwise", 2), "depthwise_norm"))
        x = torch.einsum("nchw,co->nohw", x, m["pointwise.weight"])
        x = F.relu6(m.norm(x, "pointwise_norm"))
        return m.linear(pooled(x), "head")

    return Model(shapes), forward, pictures(4, 6, 6, 4), 5


def mbconv():
    shapes = {"expand.weight": (4, 16), **norm_shapes("expand_norm", 16)}
    shapes |= {"depthwise.weight": (3, 3, 16), **norm_shapes("depthwise_norm", 16)}
    shapes |= {**linear_shapes("squeeze", 16, 2), **linear_shapes("excite", 2, 16)}
    shapes |= {"project.weight": (16, 4), **norm_shapes("project_norm", 4), **linear_shapes("head", 4, 5)}

    def forward(m, inputs):
        x = torch.einsum("nchw,co->nohw", inputs, m["expand.weight"])
        x = F.silu(m.norm(x, "expand_norm"))
        x = F.silu(m.norm(m.depthwise(x, "depthwise"), "depthwise_norm"))
        gate = torch.sigmoid(m.linear(F.silu(m.linear(pooled(x), "squeeze")), "excite"))
        x = torch.einsum("nchw,co->nohw", x * gate[:, :, None, None], m["project.weight"])
        x = m.norm(x, "project_norm") + inputs
        return m.linear(pooled(x), "head")

    return Model(shapes), forward, pictures(4, 6, 6, 4), 5


def transformer_block():
    sequences, context, vocabulary, width, heads = 3, 7, 11, 8, 2
    shapes = {"embedding": (vocabulary, width), "position": (context, width), **norm_shapes("block0.norm1", width)}
    shapes |= {**linear_shapes("block0.qkv", width, 3 * width), **linear_shapes("block0.attention_out", width, width)}
    shapes |= {**norm_shapes("block0.norm2", width), **linear_shapes("block0.mlp_in", width, 4 * width)}
    shapes |= {**linear_shapes("block0.mlp_out", 4 * width, width), **norm_shapes("final_norm", width)}

    def forward(m, tokens):
        x = m["embedding"][tokens] + m["position"]
        qkv = m.linear(m.layer_norm(x, "block0.norm1"), "block0.qkv")
        q, k, v = (t.reshape(sequences, context, heads, -1).transpose(1, 2) for t in qkv.split(width, dim=-1))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        mixed = mixed.transpose(1, 2).reshape(sequences, context, width)
        x = x + m.linear(mixed, "block0.attention_out")
        hidden = F.gelu(m.linear(m.layer_norm(x, "block0.norm2"), "block0.mlp_in"), approximate="tanh")
        x = m.layer_norm(x + m.linear(hidden, "block0.mlp_out"), "final_norm")
        return (x @ m["embedding"].T).reshape(-1, vocabulary)

    n = sequences * context
    tokens = torch.tensor([(7 * i + i // 3) % vocabulary for i in range(n)]).reshape(sequences, context)
    return Model(shapes), forward, tokens, vocabulary


def train(name, build, lr):
    torch.manual_seed(0)
    model, forward, x, classes = build()
    rows = x.numel() if name == "transformer_block" else x.shape[0]
    step = 5 if name == "transformer_block" else 3
    first = 2 if name == "transformer_block" else 1
    labels = torch.tensor([(step * i + first) % classes for i in range(rows)])
    losses, gradients, running = [], {}, {}
    for index in range(STEPS):
        loss = F.cross_entropy(forward(model, x), labels)
        for parameter in model.parameters.values():
            parameter.grad = None
        loss.backward()
        losses.append(loss.item())
        if index == 0:
            gradients = {n: p.grad.flatten().tolist() for n, p in model.parameters.items()}
        if index in (0, STEPS - 1):
            running[str(index + 1)] = {n: [m.tolist(), v.tolist()] for n, (m, v) in model.running.items()}
        with torch.no_grad():
            for parameter in model.parameters.values():
                parameter -= lr * parameter.grad
    model.training = False
    with torch.no_grad():
        evaluation = F.cross_entropy(forward(model, x), labels).item()
    report = {
        "generated_by": f"tests/reference/make_reference.py with PyTorch {torch.__version__}",
        "formula": FORMULA,
        "lr": lr,
        "losses": losses,
        "evaluation_loss": evaluation,
        "shapes": {n: list(p.shape) for n, p in model.parameters.items()},
        "gradients": gradients,
        "running": running,
    }
    (HERE / f"{name}.json").write_text(json.dumps(report, indent=1) + "\n")
    print(name, losses[0], losses[-1], evaluation)


if __name__ == "__main__":
    for model in (cnn, mobilenet_block, mbconv, transformer_block):
        train(model.__name__, model, 0.1)
