"""Qdrant's Python client in its local mode: exact, in this process."""

from frozen import IDS, VECTORS, found, question
from qdrant_client import QdrantClient, models

CLIENT = QdrantClient(":memory:")
CLIENT.create_collection("docs", models.VectorParams(size=VECTORS.shape[1], distance=models.Distance.COSINE))
CLIENT.upload_collection("docs", VECTORS, [{"doc": name} for name in IDS], ids=range(len(IDS)))


def exact(text, n):
    points = CLIENT.query_points("docs", question(text).tolist(), limit=n).points
    return found((point.payload["doc"], point.score) for point in points)
