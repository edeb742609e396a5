"""Li et al. 2007, figure 3: topics as the generalised bias of a text classifier, 20-newsgroups.

Four subsets (comp.*: 5 groups, rec.*, sci.*, talk.*: 4 each), the 2000 words of highest mutual information with the
class, a linear kernel on bags of words, and 10 topic features by probabilistic latent semantic analysis (pLSA). The
source compares the SVM on words, the SVM on topic features, and SVM-GB (words in the kernel, the topic features free)
for 100 to 3200 training documents, ten runs each. The curves are lost; the text claims that
- the SVM on topic features does well for few training documents and loses its advantage for a moderate number,
- SVM-GB is the best of the three from 800 training documents on,
- SVM-GB is better than the SVM on words in all experiments.

What the source leaves open, and what we do:
- Words are chosen once for each subset, from all its documents, as the source seems to do: the labels of test
  documents have a say in the vocabulary, which is the same for all three methods.
- pLSA is non-negative matrix factorisation with the Kullback-Leibler loss. The features are the proportions of the
  topics in a document, so that the constant is in their span and is not added.
- Topics are fitted to the counts of all documents, without labels. With --topics training they come from the training
  documents only; for few of these the topics are poor, and so are the two methods that use them.
- Word counts are scaled to unit length for the kernel (--words counts: left as they are).
- Alpha is chosen by leave-one-out errors, for each pair of classes, in all three methods; the loss is the squared
  hinge (--loss hinge: that of the source).
- Our copy of talk.* has 3253 documents, too few to test on after 3200 for training.
"""

from __future__ import annotations

import time
import warnings

import _data
import numpy as np
from _bias_data import arguments, markdown_table, say, write_markdown
from scipy import sparse
from sklearn.decomposition import NMF
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import normalize

from seminorm import SVC

SUBSETS = ("comp.", "rec.", "sci.", "talk.")
SIZES = (100, 200, 400, 800, 1600, 3200)
WORDS, TOPICS = 2000, 10
FEWEST_TEST = 200
METHODS = ("SVM, words", "SVM, topics", "SVM-GB")


def documents() -> dict[str, tuple[sparse.csr_matrix, np.ndarray]]:
    """Counts and labels of each subset, the two parts of the by-date split put together."""
    data = _data.arrays("newsgroups/20news_counts.npz")
    parts = [
        sparse.csr_matrix(
            (data[f"{part}_data"].astype(float), data[f"{part}_indices"], data[f"{part}_indptr"]),
            shape=tuple(data[f"shape_{part}"]),
        )
        for part in ("train", "test")
    ]
    counts, y = sparse.vstack(parts).tocsr(), np.concatenate([data["y_train"], data["y_test"]]).astype(int)
    subsets = {}
    for name in SUBSETS:
        rows = np.flatnonzero(np.char.startswith(data["target_names"], name)[y])
        subsets[name + "*"] = (_informative(counts[rows], y[rows]), y[rows])
    return subsets


def _informative(counts: sparse.csr_matrix, y: np.ndarray) -> sparse.csr_matrix:
    """The columns of the words whose presence has the highest mutual information with the class."""
    n = counts.shape[0]
    present = np.array([(counts[y == label] > 0).sum(axis=0).A1 for label in np.unique(y)]) / n
    share = np.array([[(y == label).mean()] for label in np.unique(y)])
    total = present.sum(axis=0)
    information = _relative_entropy(present, share * total) + _relative_entropy(share - present, share * (1 - total))
    return counts[:, np.sort(np.argsort(-information.sum(axis=0), kind="stable")[:WORDS])]


def _relative_entropy(joint: np.ndarray, independent: np.ndarray) -> np.ndarray:
    return joint * np.log(np.where(joint > 0, joint, 1.0) / np.where(joint > 0, independent, 1.0))


def topic_features(counts: sparse.csr_matrix, fitted_on: np.ndarray, steps: int) -> np.ndarray:
    """Proportions of the topics in each document, P(topic | document); equal ones for an empty document."""
    model = NMF(
        TOPICS, solver="mu", beta_loss="kullback-leibler", init="nndsvda", max_iter=steps, tol=1e-5, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the number of steps is what we ask for
        model.fit(counts[fitted_on])
        weights = model.transform(counts) * model.components_.sum(axis=1)
    total = weights.sum(axis=1, keepdims=True)
    return np.where(total > 0, weights / np.where(total > 0, total, 1.0), 1.0 / TOPICS)


def accuracy(Z, Z_test, y, y_test, loss: str, features=None, features_test=None) -> float:
    """One-versus-one with a linear kernel; the constant is free if no features are given."""
    machine = SVC("precomputed", loss=loss, multi_class="ovo").fit(_gram(Z, Z), y, null_columns=features)
    return float((machine.predict(_gram(Z_test, Z), null_columns=features_test) == y_test).mean())


def _gram(A, B) -> np.ndarray:
    product = A @ B.T
    return product.toarray() if sparse.issparse(product) else product


def run(words, topics, y, train, test, loss: str) -> list[float]:
    """Accuracies of the three methods on one split."""
    labels = (y[train], y[test])
    return [
        accuracy(words[train], words[test], *labels, loss),
        accuracy(topics[train], topics[test], *labels, loss),
        accuracy(words[train], words[test], *labels, loss, topics[train], topics[test]),
    ]


def verdict(means: dict[str, dict[int, np.ndarray]]) -> list[str]:
    """How often each claim of the source holds, over subsets and sizes."""
    cells = [(size, mean) for rows in means.values() for size, mean in rows.items()]
    large = [mean for size, mean in cells if size >= 800]
    lines = [
        f"- SVM-GB better than SVM on words: {sum(m[2] > m[0] for _, m in cells)} of {len(cells)} experiments "
        "(source: all)",
        f"- SVM-GB the best of the three from 800 documents on: {sum(m.argmax() == 2 for m in large)} of {len(large)} "
        "(source: all)",
    ]
    for size in sorted({size for size, _ in cells}):
        here = [mean for found, mean in cells if found == size]
        lines.append(
            f"- {size} documents: SVM on topics the best in {sum(m.argmax() == 1 for m in here)} of {len(here)}"
        )
    return lines


def main():
    parser = arguments(__doc__)
    parser.add_argument("--runs", type=int, help="random splits for each size (default 10, quick 2)")
    parser.add_argument("--topics", choices=("all", "training"), default="all", help="documents the topics come from")
    parser.add_argument("--words", choices=("unit", "counts"), default="unit", help="scaling of the words")
    parser.add_argument("--loss", choices=("hinge", "squared_hinge"), default="squared_hinge")
    options = parser.parse_args()
    runs = options.runs or (1 if options.quick else 10)
    sizes, steps = (SIZES[:2], 30) if options.quick else (SIZES, 300)
    text = [
        "Test accuracy on 20-newsgroups in per cent, mean and standard deviation over",
        f"{runs} random splits [Li et al. 2007, figure 3: curves without numbers].",
        f"Topics from {options.topics} documents, words as {options.words}, loss {options.loss}.",
    ]
    means: dict[str, dict[int, np.ndarray]] = {}
    for name, (counts, y) in documents().items():
        everything = np.arange(len(y))
        words = normalize(counts) if options.words == "unit" else counts
        topics = topic_features(counts, everything, steps) if options.topics == "all" else None
        say(f"{name} {len(y)} documents, {len(np.unique(y))} groups")
        means[name], cells = {}, {method: [] for method in METHODS}
        for size in sizes:
            if len(y) - size < FEWEST_TEST:
                for method in METHODS:
                    cells[method].append("-")
                continue
            start, found = time.perf_counter(), []
            for k in range(runs):
                train, test = train_test_split(everything, train_size=size, stratify=y, random_state=k)
                features = topic_features(counts, train, steps) if topics is None else topics
                found.append(run(words, features, y, train, test, options.loss))
            percent = 100 * np.array(found)
            means[name][size] = percent.mean(axis=0)
            deviations = percent.std(axis=0, ddof=1) if runs > 1 else np.zeros(len(METHODS))
            for method, mean, deviation in zip(METHODS, means[name][size], deviations, strict=True):
                cells[method].append(f"{mean:.1f} ± {deviation:.1f}")
            shown = ", ".join(f"{method} {cells[method][-1]}" for method in METHODS)
            say(f"  {size}: {shown} ({time.perf_counter() - start:.0f} s)")
        table = markdown_table([name, *map(str, sizes)], [[method, *cells[method]] for method in METHODS])
        text += ["", table]
    text += ["", *verdict(means)]
    say("\n" + "\n".join(text))
    write_markdown(options.markdown, "\n".join(text))


if __name__ == "__main__":
    main()
