"""peft: LoRA, IA3 and prefix adapters on a small random Llama and GPT-2, trained, merged, saved and loaded again."""
import tempfile

import torch
from peft import IA3Config, LoraConfig, PeftModel, PrefixTuningConfig, get_peft_model
from report import tell
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM


def llama():
    torch.manual_seed(0)
    return LlamaForCausalLM(LlamaConfig(vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=2,
                                        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64))


def train(name, model, words):
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], 1e-2)
    losses = []
    model.train()
    for _ in range(4):
        loss = model(input_ids=words, labels=words).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    tell(f"{name} losses", losses)
    model.eval()


def main():
    words = torch.arange(24).reshape(2, 12) * 5 % 64
    model = get_peft_model(llama(), LoraConfig(r=4, lora_alpha=8, lora_dropout=0.1, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))
    tell("trainable", list(model.get_nb_trainable_parameters()))
    train("LoRA", model, words)
    with torch.no_grad():
        tell("LoRA logits", model(input_ids=words).logits)
        with model.disable_adapter():
            tell("without", model(input_ids=words).logits)
        with tempfile.TemporaryDirectory() as folder:
            model.save_pretrained(folder)
            again = PeftModel.from_pretrained(llama(), folder).eval()
        tell("loaded", again(input_ids=words).logits)
        tell("merged", model.merge_and_unload()(input_ids=words).logits)
    model = get_peft_model(llama(), LoraConfig(r=4, use_dora=True, target_modules="all-linear", task_type="CAUSAL_LM"))
    train("DoRA", model, words)
    model = get_peft_model(llama(), IA3Config(target_modules=["k_proj", "v_proj", "down_proj"], feedforward_modules=["down_proj"], task_type="CAUSAL_LM"))
    train("IA3", model, words)
    torch.manual_seed(0)
    gpt2 = GPT2LMHeadModel(GPT2Config(vocab_size=64, n_positions=32, n_embd=32, n_layer=2, n_head=4))
    model = get_peft_model(gpt2, PrefixTuningConfig(num_virtual_tokens=3, task_type="CAUSAL_LM"))
    train("prefix", model, words)


main()
