"""Every task, by name."""

from enum import IntEnum

from otherminds.tom.tasks.false_belief import FALSE_BELIEF
from otherminds.tom.tasks.perspective_taking import PERSPECTIVE_TAKING
from otherminds.tom.tasks.task import Question, Task
from otherminds.tom.tasks.understanding import UNDERSTANDING

TASKS: dict[str, Task] = {task.name: task for task in (FALSE_BELIEF, PERSPECTIVE_TAKING, UNDERSTANDING)}
QUESTIONS: dict[str, Question] = {question.name: question for task in TASKS.values() for question in task.questions}
Asked = IntEnum("Asked", [name.upper() for name in QUESTIONS], start=0)
"""The questions of all tasks, as a log names them: each has a name of its own."""


def tasks_named(names: str) -> list[Task]:
    """The tasks of a comma-separated list.

    Raises: ValueError naming what there is.
    """
    found = list(dict.fromkeys(name.strip() for name in names.split(",") if name.strip()))
    if unknown := [name for name in found if name not in TASKS]:
        raise ValueError(f"--task {unknown[0]!r}: there is no such task; there are {', '.join(TASKS)}")
    if not found:
        raise ValueError(f"--task {names!r}: name at least one task of {', '.join(TASKS)}")
    return [TASKS[name] for name in found]
