"""Milvus Lite, in this process."""

from frozen import IDS, SCRATCH, VECTORS, found, question
from pymilvus import MilvusClient

CLIENT = MilvusClient(str(SCRATCH / "milvus.db"))
CLIENT.create_collection("docs", dimension=VECTORS.shape[1], metric_type="COSINE", id_type="int")
CLIENT.insert("docs", [{"id": row, "vector": vector.tolist()} for row, vector in enumerate(VECTORS)])


def exact(text, n):
    hits = CLIENT.search("docs", data=[question(text).tolist()], limit=n)[0]
    return found((IDS[hit["id"]], hit["distance"]) for hit in hits)
