"""A service that speaks OpenAI's embeddings API: vectors from the words of a text."""

import base64
import hashlib

import numpy as np

from tests.web.support import Answering


def vector(text, dimensions=8, salt=""):
    """Unit length, the same for the same text."""
    seed = int.from_bytes(hashlib.sha256((salt + text).encode()).digest()[:8], "big")
    found = np.random.default_rng(seed).normal(size=dimensions)
    return (found / np.linalg.norm(found)).astype(np.float32)


class Embeddings(Answering):
    """``salt``: changes when the vendor changes the weights; ``model``: what it calls itself."""

    def __init__(self, dimensions=8, model="small-2026-01"):
        super().__init__(self._embed)
        self.dimensions, self.model, self.salt, self.change = dimensions, model, "", lambda answer: answer

    @property
    def texts(self):
        """Every text it was sent, in order."""
        return [text for asked in self.asked for text in asked.json["input"]]

    def _embed(self, asked, handler):
        body = asked.json
        if asked.path.partition("?")[0] != "/v1/embeddings":
            return 404, {"error": "no such route"}
        wide = body.get("dimensions", self.dimensions)
        data = []
        for index, text in enumerate(body["input"]):
            found = vector(text, wide, self.salt)
            as_text = base64.b64encode(found.astype("<f4").tobytes()).decode() if body["encoding_format"] == "base64" else found.tolist()
            data.append({"object": "embedding", "index": index, "embedding": as_text})
        answer = {"object": "list", "data": data[::-1], "model": self.model, "usage": {"total_tokens": 3 * len(data)}}
        return 200, self.change(answer), {"openai-version": "2020-10-01"}
