"""Review: people answer the texts that teach most, one after the other, and each answer is in the memory at once."""

from nearspan.review.retraining import finish_swap
from nearspan.review.review import Review
from nearspan.review.task import Answer, Progress, Task

__all__ = ["Answer", "Progress", "Review", "Task", "finish_swap"]
