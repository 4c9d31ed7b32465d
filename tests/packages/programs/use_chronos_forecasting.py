"""Forecasts of chronos: a small T5 of random weights reads a series as tokens and draws its future."""
import torch
from chronos import ChronosConfig
from chronos.chronos import ChronosModel, ChronosPipeline
from report import tell
from transformers import T5Config, T5ForConditionalGeneration


def main():
    torch.manual_seed(0)
    settings = ChronosConfig(tokenizer_class="MeanScaleUniformBins", tokenizer_kwargs={"low_limit": -15.0, "high_limit": 15.0},
                             context_length=32, prediction_length=6, n_tokens=64, n_special_tokens=2, pad_token_id=0, eos_token_id=1,
                             use_eos_token=True, model_type="seq2seq", num_samples=3, temperature=1.0, top_k=20, top_p=1.0)
    net = T5ForConditionalGeneration(T5Config(vocab_size=64, d_model=16, d_kv=8, d_ff=32, num_layers=1, num_heads=2, pad_token_id=0,
                                              eos_token_id=1, decoder_start_token_id=0)).eval()
    pipeline = ChronosPipeline(tokenizer=settings.create_tokenizer(), model=ChronosModel(config=settings, model=net))
    series = torch.sin(torch.arange(30) / 3) * 4 + 2
    tokens, mask, state = pipeline.tokenizer.context_input_transform(series[None])
    tell("tokens", tokens)
    torch.manual_seed(1)
    tell("future", pipeline.predict(series, prediction_length=6, num_samples=3))
    quantiles, mean = pipeline.predict_quantiles(series, prediction_length=6, quantile_levels=[0.1, 0.5])
    tell("quantiles", quantiles)


main()
