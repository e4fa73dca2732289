"""Trains `src/perseid/content/forest.txt` on the evaluation pages and tells how it does on sites it has not seen.

    python benchmarks/train_blocks.py [--folds 4] [--write]

Wants numpy and scikit-learn, which Perseid itself doesn't. Each block of a page is a row: its features are those of
`perseid.content.features`, its label is whether its words stand in the page's truth. Pages of one site are always in
the same fold. `--write` trains on all pages and replaces the file.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import zlib
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

from perseid.content import features, forest, pagetype, signs
from perseid.content.main import NEVER
from perseid.content.survey import Survey
from perseid.dom.tree import parse

WORD = re.compile(r"\w+")
_BIG = "comment related side body thread list doc <article> <main> <td> <ul> product review <form> section popup"
BIG = _BIG.split()
"""Signs of what wraps most of the page that are features of their own; of its parts, all are."""


class Row(NamedTuple):
    site: int
    columns: features.Columns
    labels: list[float]
    """1 content, 0 not, -1 unknown."""
    weights: list[float]


def load(shared: Path) -> list[Row]:
    rows = []
    for name in ("mixed", "docs", "wcxb"):
        folder = shared / "data" / "extraction" / name
        for key, truth in json.loads((folder / "truth.json").read_text("utf8")).items():
            html = gzip.decompress((folder / "html" / f"{key}.html.gz").read_bytes()).decode()
            tree = parse(html)
            facts = pagetype.facts(tree, truth["url"])
            for node in chain.from_iterable(tree.by_tag(NEVER, tree.body).values()):
                tree.remove(node)
            survey = Survey(tree.flatten())
            if survey.units:
                host = key if name == "docs" else ".".join((urlsplit(truth["url"]).hostname or key).split(".")[-2:])
                labels, weights = label(truth, survey.texts)
                rows.append(Row(zlib.crc32(host.encode()), features.columns(survey, facts), labels, weights))
    return rows


def label(truth: dict[str, Any], texts: list[str]) -> tuple[list[float], list[float]]:
    if "articleBody" in truth:
        return label_by_body(truth["articleBody"] or "", texts)
    wanted, unwanted = ([plain(s) for s in truth.get(side, [])] for side in ("with", "without"))
    labels = []
    for text in map(plain, texts):
        if not text:
            labels.append(-1.0)
        elif any(s and (s in text or (text in s and len(text) > 12)) for s in wanted):
            labels.append(1.0)
        else:
            labels.append(0.0 if any(s and s in text for s in unwanted) else -1.0)
    return labels, [8.0 if y >= 0 else 0.0 for y in labels]


def plain(text: str) -> str:
    return re.sub(r"\W+", " ", text.lower()).strip()


def label_by_body(body: str, texts: list[str]) -> tuple[list[float], list[float]]:
    """Long blocks by their four-word shingles; short ones by their words and what their neighbours are."""
    truth = WORD.findall(body.lower())
    joined = f" {' '.join(truth)} "
    known = set(zip(*(truth[i:] for i in range(4)), strict=False))
    words = [WORD.findall(text.lower()) for text in texts]
    labels, weights = [], []
    for found in words:
        if len(found) >= 6:
            own = list(zip(*(found[i:] for i in range(4)), strict=False))
            labels.append(float(sum(s in known for s in own) > len(own) / 2))
            weights.append(len(found) ** 0.75)
        elif found:
            labels.append(float(f" {' '.join(found)} " in joined))
            weights.append(0.6 * len(found) ** 0.75)
        else:
            labels.append(-1.0)
            weights.append(0.0)
    for i, found in enumerate(words):
        if labels[i] == 1 and len(found) < 6:
            near = [labels[j] for j in range(max(0, i - 4), min(len(words), i + 5)) if j != i and words[j]]
            if sum(near) < len(near) * 0.34:
                weights[i] /= 4
                labels[i] = labels[i] if len(found) > 2 else 0.0
    total = sum(weights) or 1.0
    return labels, [100 * weight / total for weight in weights]


def matrix(rows: list[Row]) -> tuple[np.ndarray, list[str]]:
    numbers = [name for name in rows[0].columns if name not in {"small", "big"}]
    names = numbers + [f"small:{sign}" for sign in signs.BITS] + [f"big:{sign}" for sign in BIG]
    parts = []
    for row in rows:
        small, big = (np.array(row.columns[name], np.int64) for name in ("small", "big"))
        columns = [np.array(row.columns[name], np.float32) for name in numbers]
        columns += [(small & bit) != 0 for bit in signs.BITS.values()]
        columns += [(big & signs.BITS[sign]) != 0 for sign in BIG]
        parts.append(np.stack(columns, 1).astype(np.float32))
    return np.concatenate(parts), names


def fit(x: np.ndarray, y: np.ndarray, w: np.ndarray) -> HistGradientBoostingClassifier:
    model = HistGradientBoostingClassifier(
        max_iter=120,
        learning_rate=0.12,
        max_leaf_nodes=16,
        l2_regularization=8,
        min_samples_leaf=80,
        max_bins=64,
        max_features=0.2,
        random_state=1,
    )
    usable = (y >= 0) & (w > 0)
    return model.fit(x[usable], y[usable] > 0.5, sample_weight=w[usable])


def as_text(model: HistGradientBoostingClassifier, names: list[str]) -> str:
    """The model in the format that `perseid.content.forest` reads."""

    def tokens(nodes: Any, at: int) -> str:
        node = nodes[at]
        if node["is_leaf"]:
            return f"{node['value']:+.3f}"
        name = names[node["feature_idx"]]
        threshold = "0" if ":" in name else f"{node['num_threshold']:.4g}"
        return f"{name} {threshold} {tokens(nodes, node['left'])} {tokens(nodes, node['right'])}"

    lines = ["# Written by benchmarks/train_blocks.py; forest.py tells the format."]
    lines.append(f"{float(model._baseline_prediction[0, 0]):+.3f}")  # noqa: SLF001  # no public way to the trees
    lines += [tokens(stage[0].nodes, 0) for stage in model._predictors]  # noqa: SLF001
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folds", type=int, default=4)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    shared = Path(os.environ.get("PERSEID_SHARED", Path(__file__).resolve().parents[2] / "shared"))
    rows = load(shared)
    x, names = matrix(rows)
    y = np.array([value for row in rows for value in row.labels])
    w = np.array([value for row in rows for value in row.weights])
    fold = np.array([row.site % arguments.folds for row in rows for _ in row.labels])
    print(f"{len(rows)} pages, {len(y)} blocks, {len(names)} features")
    for held in range(arguments.folds if arguments.folds > 1 else 0):
        model = fit(x[fold != held], y[fold != held], w[fold != held])
        test = (fold == held) & (y >= 0) & (w > 0)
        right = (model.predict(x[test]) > 0.5) == (y[test] > 0.5)
        print(f"fold {held}: {np.average(right, weights=w[test]):.4f} of the weight judged right")
    if arguments.write:
        forest.FILE.write_text(as_text(fit(x, y, w), names), "ascii")
        print(f"wrote {forest.FILE}")


if __name__ == "__main__":
    main()
