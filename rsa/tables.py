"""Results with names: a log-probability array as a labelled table."""

import numpy as np
import xarray as xr
from jaxtyping import Array, Float
from numpy.typing import ArrayLike


def labelled(log_p: Float[Array, "..."], **axes: ArrayLike) -> xr.DataArray:
    """exp(log_p) as an xarray.DataArray whose axes and entries have names.

    log_p: any shape, log-probabilities.
    axes: one name an axis, in order, with that axis's entries: labelled(log_listener, utterance=["some", "all"],
        meaning=[0, 1, 2, 3]).
    Returns: probabilities; pick with .sel(utterance="some"), print with .to_pandas().
    Raises: ValueError if the names do not fit the shape; it names the axis.
    """
    shape = np.shape(log_p)
    if len(axes) != len(shape):
        raise ValueError(f"{len(axes)} axes are named ({', '.join(axes)}) for an array of shape {shape}")
    for (name, entries), size in zip(axes.items(), shape, strict=True):
        if len(entries) != size:
            raise ValueError(f"{name} has {len(entries)} entries for an axis of {size}, in an array of shape {shape}")
    return xr.DataArray(np.exp(np.asarray(log_p)), coords={name: list(axes[name]) for name in axes}, dims=list(axes))
