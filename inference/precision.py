"""What is kept between calls is kept for one precision: arrays made in float64 are no use where float32 holds."""

from collections.abc import Callable
from functools import cache, wraps
from typing import Any

import jax


def cached[F: Callable[..., Any]](function: F) -> F:
    """`functools.cache` for a function that returns arrays, or functions that hold some: kept for each precision apart.

    Without it the first caller would decide the dtypes of all later ones.
    """
    kept = cache(lambda double, arguments, options: function(*arguments, **dict(options)))

    @wraps(function)
    def look_up(*arguments: Any, **options: Any) -> Any:
        return kept(jax.config.jax_enable_x64, arguments, tuple(options.items()))

    return look_up
