"""Vision experiments: GLOM, lambda layers, bottleneck transformers, BYOL's self-supervision, a contrastive pair of text and picture."""
import torch
from bottleneck_transformer_pytorch import BottleStack
from byol_pytorch import BYOL
from glom_pytorch import Glom
from lambda_networks import LambdaLayer
from report import tell
from torch import nn
from x_clip import CLIP


def main():
    torch.manual_seed(0)
    picture = torch.randn(2, 3, 16, 16, dtype=torch.float64)
    glom = Glom(dim=8, levels=2, image_size=16, patch_size=4).double()
    out = glom(picture, iters=2)
    out.square().mean().backward()
    tell("glom", out)
    layer = LambdaLayer(dim=3, dim_out=6, r=5, dim_k=4, heads=2, dim_u=1).double()
    tell("lambda", layer(picture))
    stack = BottleStack(dim=3, fmap_size=16, dim_out=16, num_layers=1, heads=2, dim_head=4, downsample=True).double()
    tell("bottleneck", stack(picture))
    net = nn.Sequential(nn.Conv2d(3, 4, 3, 2), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 6)).double()
    learner = BYOL(net.float(), image_size=16, hidden_layer=-1, projection_size=8, projection_hidden_size=16,
                   augment_fn=nn.Identity(), augment_fn2=nn.Identity())
    optimizer = torch.optim.SGD(learner.parameters(), 0.1)
    for _ in range(2):
        loss = learner(torch.randn(8, 3, 16, 16))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        learner.update_moving_average()
        tell("byol", loss)
    clip = CLIP(dim_text=16, dim_image=16, dim_latent=8, num_text_tokens=20, text_enc_depth=1, text_seq_len=12, text_heads=2, text_dim_head=8,
                visual_enc_depth=1, visual_image_size=16, visual_patch_size=8, visual_heads=2, visual_dim_head=8,
                visual_patch_dropout=0.0).double()
    loss = clip(torch.randint(1, 20, (3, 12)), torch.randn(3, 3, 16, 16, dtype=torch.float64), return_loss=True)
    loss.backward()
    tell("clip", loss)


main()
