"""OpenAI's chat, completions and embeddings shapes: requests, answers, streams, errors."""
