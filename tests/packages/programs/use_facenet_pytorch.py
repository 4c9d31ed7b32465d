"""Public models of random weights: a face network, a protein transformer, Whisper's encoder and decoder, losses and gradients."""
import esm
import torch
import whisper
from facenet_pytorch import InceptionResnetV1
from report import tell


def main():
    torch.manual_seed(0)
    faces = InceptionResnetV1(classify=True, num_classes=5).double().eval()
    x = torch.randn(1, 3, 96, 96, dtype=torch.float64, requires_grad=True)
    loss = torch.nn.functional.cross_entropy(faces(x), torch.tensor([2]))
    loss.backward()
    tell("faces", loss)
    tell("gradient", x.grad)
    torch.manual_seed(1)
    alphabet = esm.data.Alphabet.from_architecture("ESM-1b")
    proteins = esm.model.esm2.ESM2(num_layers=2, embed_dim=16, attention_heads=2, alphabet=alphabet)
    _, _, tokens = alphabet.get_batch_converter()([("a", "MKTVRQ"), ("b", "KALTARQQ")])
    out = proteins(tokens, repr_layers=[2], need_head_weights=True)
    tell("proteins", out["logits"])
    tell("attention", out["attentions"])
    out["logits"].pow(2).mean().backward()
    tell("gradient", proteins.layers[0].fc1.weight.grad)
    torch.manual_seed(2)
    sizes = whisper.model.ModelDimensions(n_mels=8, n_audio_ctx=10, n_audio_state=16, n_audio_head=2, n_audio_layer=1, n_vocab=30, n_text_ctx=8, n_text_state=16, n_text_head=2, n_text_layer=1)
    speech = whisper.model.Whisper(sizes)
    with torch.no_grad():
        speech.decoder.positional_embedding.normal_()
    scores = speech(torch.randn(1, 8, 20), torch.tensor([[1, 2, 3]]))
    tell("speech", scores)
    scores.pow(2).mean().backward()
    tell("gradient", speech.encoder.conv1.weight.grad)


main()
