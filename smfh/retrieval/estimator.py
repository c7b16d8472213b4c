"""A hashing method as a scikit-learn estimator: one matrix X whose columns belong to several modalities."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from smfh.hamming import Queries, unpack
from smfh.hashing import HashMethod, SMFHPlus
from smfh.retrieval.evaluation import score_codes
from smfh.types import BoolArray, FloatArray, InputError, MultimodalDataset, unknown

DTYPES = (np.float64, np.float32)


class SMFHEstimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Cross-modal hashing for `Pipeline`, `GridSearchCV` and `cross_val_score`.

    Parameters
    ----------
    modalities
        The columns of X by modality name: a slice, positions, or column names of a data frame. By default
        the first half of the columns is modality "a" and the second half is "b".
    method
        A method with its parameters, by default `SMFHPlus()`. In a parameter grid, the parameters are named
        `method__bits`, `method__graph_weight` and so on.
    encode
        The modality whose codes `transform` returns, by default the first.

    Attributes
    ----------
    hasher_ : FittedHasher
        The trained model.
    classes_ : array
        The classes of y, or their column numbers if y is a matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.model_selection import GridSearchCV
    >>> from smfh import SMFHEstimator
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(3, size=90)
    >>> X = np.hstack([np.eye(3)[y] + rng.random((90, 3)) for _ in "ab"])
    >>> columns = {"image": slice(0, 3), "text": slice(3, 6)}
    >>> search = GridSearchCV(SMFHEstimator(columns), {"method__bits": [4, 8]}, cv=3).fit(X, y)
    >>> float(search.best_score_) > 0.9
    True
    """

    def __init__(
        self, modalities: Mapping[str, Any] | None = None, method: HashMethod | None = None, encode: str = ""
    ) -> None:
        self.modalities = modalities
        self.method = method
        self.encode = encode

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters; with `deep`, also those of the method, as method__name."""
        params: dict[str, Any] = super().get_params(deep=False)
        if deep and isinstance(self._method, HashMethod):
            params |= {f"method__{name}": value for name, value in self._method.get_params().items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters of the estimator, and of its method as method__name."""
        prefix = "method__"
        own = {name: value for name, value in params.items() if not name.startswith(prefix)}
        for name in own.keys() - self.get_params(deep=False).keys():
            hint = self._method.name_hint(name, prefix)
            raise InputError(
                f"SMFHEstimator has no parameter {name!r}. Its own parameters are modalities, method and encode; "
                f"of the parameters of its method, {hint}."
            )
        super().set_params(**own)
        if inner := {name.removeprefix(prefix): params[name] for name in params if name.startswith(prefix)}:
            self.method = self._method.set_params(**inner)
        return self

    def fit(self, X: Any, y: Any) -> Self:
        """Train on the rows of X with the classes y: one class per row, or a matrix of 0 and 1."""
        X, y = validate_data(self, X, y, multi_output=True, dtype=DTYPES, ensure_min_samples=2)
        self.classes_ = np.unique(y) if y.ndim == 1 else np.arange(y.shape[1])
        self.columns_ = self._columns()
        self.labels_ = self._labels(y)
        train = MultimodalDataset("X", {t: X[:, at] for t, at in self.columns_.items()}, self.labels_)
        self.hasher_ = self._method.fit(train)
        return self

    def transform(self, X: Any) -> FloatArray:
        """Return the codes of one modality of X as 0.0 and 1.0, (rows, bits)."""
        check_is_fitted(self)
        modality = self.encode or self.hasher_.modalities[0]
        if modality not in self.columns_:
            raise unknown("modality", modality, self.columns_)
        X = validate_data(self, X, reset=False, dtype=DTYPES)
        codes = self.hasher_.encode(modality, X[:, self.columns_[modality]])
        return unpack(codes, self.hasher_.bits).astype(np.float64)

    def score(self, X: Any, y: Any) -> float:
        """Return mAP@100 with the rows of X as queries, averaged over all directions.

        The training items are the database, ranked by Hamming distance.
        """
        check_is_fitted(self)
        X, y = validate_data(self, X, y, reset=False, multi_output=True, dtype=DTYPES)
        labels, hasher = self._labels(y), self.hasher_
        scores = [
            score_codes(
                Queries(hasher.encode(s, X[:, self.columns_[s]])),
                hasher.database_codes[t],
                labels,
                self.labels_,
                hasher.bits,
            )
            for s, t in hasher.directions
        ]
        return float(np.mean([score.mean_average_precision for score in scores]))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    @property
    def _n_features_out(self) -> int:
        return self.hasher_.bits

    @property
    def _method(self) -> HashMethod:
        return SMFHPlus() if self.method is None else self.method

    def _columns(self) -> dict[str, Any]:
        """Return the column positions of each modality."""
        width, names = self.n_features_in_, list(getattr(self, "feature_names_in_", ()))
        if self.modalities is None:
            if width == 1:
                raise InputError("Two modalities need at least two columns; got 1 feature(s).")
            return {"a": np.arange(width // 2), "b": np.arange(width // 2, width)}
        columns: dict[str, Any] = {}
        for modality, given in self.modalities.items():
            if isinstance(given, slice):
                columns[modality] = np.arange(width)[given]
            elif any(isinstance(one, str) for one in given):
                if missing := [one for one in given if one not in names]:
                    raise InputError(f"X has no column {missing[0]!r}, which {modality} needs.")
                columns[modality] = np.array([names.index(one) for one in given])
            else:
                columns[modality] = np.arange(width)[np.asarray(given)]
        return columns

    def _labels(self, y: Any) -> BoolArray:
        labels: BoolArray = y[:, None] == self.classes_ if y.ndim == 1 else y.astype(bool)
        return labels
