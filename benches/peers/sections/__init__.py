"""The parts of a comparison, in order: each measures, and makes its table of what was measured."""

from . import inflaters, memory, narrow, people, readers, steps

SECTIONS = {
    "readers": readers,
    "inflaters": inflaters,
    "steps": steps,
    "narrow": narrow,
    "people": people,
    "memory": memory,
}
