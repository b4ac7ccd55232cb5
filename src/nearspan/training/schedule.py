"""The learning rate of every step: a function of where training stands, so that a resumed run goes on with it."""

from nearspan.config import TrainingSettings


def rate(settings: TrainingSettings, peak: float, epoch: int, step: int, steps: int, pretraining: int = 0) -> float:
    """The learning rate of a step in an epoch of `steps` steps, for weights that learn at `peak` at most.

    Where generators learn alone in the first `pretraining` epochs, these have the whole schedule, warm-up included, and
    the epochs after them have it once more.

    >>> settings = TrainingSettings(schedule="linear", epochs=5)
    >>> [rate(settings, peak=1.0, epoch=epoch, step=0, steps=2) for epoch in range(5)]
    [0.0, 1.0, 0.75, 0.5, 0.25]
    """
    first, stop = (0, pretraining) if epoch < pretraining else (pretraining, settings.epochs)
    if settings.schedule == "inverse":
        return inverse(peak, epoch - first, settings.decay)
    return linear(peak, (epoch - first) * steps + step, (stop - first) * steps, settings.warmup)


def inverse(peak: float, epoch: int, decay: float) -> float:
    """peak / (1 + rho t) in epoch t (Ouchi et al., 2020)."""
    return peak / (1 + decay * epoch)


def linear(peak: float, step: int, total: int, warmup: float) -> float:
    """From 0 up to the peak over the first `warmup` of all steps, and down to 0 when the last one is done."""
    rising = int(warmup * total)
    if step < rising:
        return peak * step / rising
    return peak * (total - step) / (total - rising)


def linear_share(peak: float, share: float, warmup: float) -> float:
    """The same, when this share of all is done.

    >>> [linear_share(1.0, share, warmup=0.2) for share in (0.1, 0.6, 1.0)]
    [0.5, 0.5, 0.0]
    """
    if share < warmup:
        return peak * share / warmup
    return peak * (1 - share) / (1 - warmup)
