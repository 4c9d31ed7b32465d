"""CLIP of open-clip-torch, small and random: two towers, the contrastive loss, a training step, tokens."""
import open_clip
import torch
from open_clip.loss import ClipLoss, SigLipLoss
from open_clip.model import CLIP, CLIPTextCfg, CLIPVisionCfg
from report import tell


def main():
    torch.manual_seed(0)
    model = CLIP(16, CLIPVisionCfg(layers=2, width=32, head_width=16, patch_size=8, image_size=32), CLIPTextCfg(context_length=10, vocab_size=60, width=32, heads=2, layers=2))
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    x, t = torch.rand(4, 3, 32, 32), torch.randint(1, 59, (4, 10))
    t[:, -1] = 59
    for _ in range(3):
        image, text, scale = model(x, t)
        loss = ClipLoss()(image, text, scale)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        tell("loss", loss)
    tell("image", image)
    tell("sigmoid", SigLipLoss()(image, text, scale, torch.tensor(-1.0)))
    tell("tokens", open_clip.get_tokenizer("ViT-B-32")(["a photo of a cat", "clay"])[:, :8])
    model.set_grad_checkpointing()
    model.train()
    model(x, t)[0].sum().backward()
    tell("gradient", model.visual.conv1.weight.grad)


main()
