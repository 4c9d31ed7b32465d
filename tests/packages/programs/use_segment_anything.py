"""Segment Anything with a small image encoder of random weights: masks from points and boxes, and a step of training."""
import torch
from report import tell
from segment_anything.modeling import ImageEncoderViT, MaskDecoder, PromptEncoder, Sam, TwoWayTransformer


def main():
    torch.manual_seed(0)
    size, width = 64, 32
    sam = Sam(
        image_encoder=ImageEncoderViT(img_size=size, patch_size=8, embed_dim=48, depth=2, num_heads=4, out_chans=width, use_rel_pos=True,
                                      window_size=4, global_attn_indexes=(1,)),
        prompt_encoder=PromptEncoder(width, (size // 8, size // 8), (size, size), 8),
        mask_decoder=MaskDecoder(transformer_dim=width, transformer=TwoWayTransformer(2, width, 4, 64), num_multimask_outputs=3,
                                 iou_head_hidden_dim=32),
    )
    image = torch.rand(3, size, size) * 255
    with torch.no_grad():
        out = sam([{"image": image, "original_size": (size, size), "point_coords": torch.tensor([[[20.0, 30.0]]]),
                    "point_labels": torch.tensor([[1]])}], multimask_output=True)[0]
    tell("quality", out["iou_predictions"])
    tell("low", out["low_res_logits"])
    tell("masks", out["masks"].double().mean((-2, -1)))
    seen = sam.image_encoder(sam.preprocess(image)[None])
    points, dense = sam.prompt_encoder(points=None, boxes=torch.tensor([[4.0, 4.0, 40.0, 50.0]]), masks=None)
    masks, _ = sam.mask_decoder(image_embeddings=seen, image_pe=sam.prompt_encoder.get_dense_pe(), sparse_prompt_embeddings=points,
                                dense_prompt_embeddings=dense, multimask_output=False)
    loss = torch.nn.functional.binary_cross_entropy_with_logits(masks, torch.ones_like(masks))
    loss.backward()
    tell("loss", loss)
    tell("gradient", sam.image_encoder.blocks[0].attn.qkv.weight.grad)


main()
