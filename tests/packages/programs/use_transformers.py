"""GPT-2, BERT, Llama, T5 and ViT of small random configuration: loss, gradients, AdamW steps, generated tokens."""
import torch
from report import tell
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    T5Config,
    T5ForConditionalGeneration,
    ViTConfig,
    ViTForImageClassification,
    get_linear_schedule_with_warmup,
)


def train(name, model, steps=3, **batch):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01)
    schedule = get_linear_schedule_with_warmup(optimizer, 1, steps)
    model.train()
    losses = []
    for _ in range(steps):
        loss = model(**batch).loss
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    tell(f"{name} losses", losses)
    tell(f"{name} last norm of the gradient", norm)
    model.eval()
    with torch.no_grad():
        tell(f"{name} logits", model(**batch).logits)


def main():
    words = torch.arange(48).reshape(4, 12) * 7 % 61 + 2

    torch.manual_seed(0)
    gpt2 = GPT2LMHeadModel(GPT2Config(vocab_size=64, n_positions=32, n_embd=32, n_layer=2, n_head=4,
                                      bos_token_id=0, eos_token_id=1))
    train("GPT-2", gpt2, input_ids=words, labels=words)
    tell("GPT-2 greedy", gpt2.generate(words[:, :4], max_new_tokens=8, do_sample=False, pad_token_id=1))
    torch.manual_seed(1)
    tell("GPT-2 sampled", gpt2.generate(words[:, :4], max_new_tokens=8, do_sample=True, top_k=10, pad_token_id=1))
    tell("GPT-2 beams", gpt2.generate(words[:, :4], max_new_tokens=8, num_beams=3, do_sample=False, pad_token_id=1))

    torch.manual_seed(0)
    bert = BertForSequenceClassification(BertConfig(vocab_size=64, hidden_size=32, num_hidden_layers=2,
                                                    num_attention_heads=4, intermediate_size=48, num_labels=3))
    mask = (torch.arange(12)[None] < torch.tensor([12, 9, 7, 12])[:, None]).long()
    train("BERT", bert, input_ids=words, attention_mask=mask, labels=torch.tensor([0, 1, 2, 1]))

    torch.manual_seed(0)
    llama = LlamaForCausalLM(LlamaConfig(vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=2,
                                         num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64,
                                         bos_token_id=0, eos_token_id=1))
    train("Llama", llama, input_ids=words, labels=words)
    tell("Llama greedy", llama.generate(words[:2, :5], max_new_tokens=8, do_sample=False, pad_token_id=1))

    torch.manual_seed(0)
    t5 = T5ForConditionalGeneration(T5Config(vocab_size=64, d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4,
                                             decoder_start_token_id=0))
    train("T5", t5, input_ids=words, labels=words[:, :6].contiguous())
    tell("T5 greedy", t5.generate(words, max_new_tokens=8, do_sample=False))

    torch.manual_seed(0)
    vit = ViTForImageClassification(ViTConfig(image_size=16, patch_size=4, num_channels=3, hidden_size=32,
                                              num_hidden_layers=2, num_attention_heads=4, intermediate_size=48,
                                              num_labels=5))
    train("ViT", vit, pixel_values=torch.randn(2, 3, 16, 16), labels=torch.tensor([1, 3]))


main()
