"""The parts of a comparison, in order: each measures, and makes its table of what was measured."""

from . import inflaters, memory, narrow, people, python, readers, ready, steps, training

SECTIONS = {
    "readers": readers,
    "inflaters": inflaters,
    "steps": steps,
    "python": python,
    "ready": ready,
    "training": training,
    "narrow": narrow,
    "people": people,
    "memory": memory,
}
