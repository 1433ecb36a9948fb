"""Writes the generated model as a GGUF file that llama.cpp loads like any other.

No training, no download; about 2 MB, half a second. The text it produces is readable, ends by itself, and is the
same for the same seed.
"""

from pathlib import Path

import gguf
import numpy as np

from tests.e2e.engine import template, weights
from tests.e2e.engine.vocabulary import Vocabulary, build

CONTEXT_TRAINED = 32_768
ROPE_BASE = 1e12
"""So large that the slowest rotary dimension stands still over the whole context."""

NAME = "switchboard-bigram"


def write_model(path: Path) -> None:
    """Write the model file."""
    vocabulary = build()
    writer = gguf.GGUFWriter(str(path), "llama")
    _write_shape(writer, vocabulary)
    _write_tokenizer(writer, vocabulary)
    for tensor in weights.tensors(vocabulary):
        writer.add_tensor(tensor.name, tensor.values.astype(np.float16) if tensor.half else tensor.values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _write_shape(writer: gguf.GGUFWriter, vocabulary: Vocabulary) -> None:
    writer.add_name(NAME)
    writer.add_license("CC0-1.0")
    writer.add_context_length(CONTEXT_TRAINED)
    writer.add_embedding_length(weights.WIDTH)
    writer.add_block_count(1)
    writer.add_feed_forward_length(weights.FEED_FORWARD)
    writer.add_head_count(weights.HEADS)
    writer.add_head_count_kv(1)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_rope_dimension_count(weights.HEAD_WIDTH)
    writer.add_rope_freq_base(ROPE_BASE)
    writer.add_vocab_size(len(vocabulary.tokens))
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_F16)


def _write_tokenizer(writer: gguf.GGUFWriter, vocabulary: Vocabulary) -> None:
    document_end, turn_end = vocabulary.ids[template.DOCUMENT_END], vocabulary.ids[template.TURN_END]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(vocabulary.tokens)
    writer.add_token_types(vocabulary.types)
    writer.add_token_merges(vocabulary.merges)
    writer.add_bos_token_id(document_end)
    writer.add_eos_token_id(turn_end)
    writer.add_eot_token_id(turn_end)
    writer.add_pad_token_id(document_end)
    writer.add_add_bos_token(False)  # noqa: FBT003  # the signature is the library's
    writer.add_chat_template(template.CHAT_TEMPLATE)
