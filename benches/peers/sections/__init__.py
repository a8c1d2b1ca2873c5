"""The parts of a comparison, in order: each measures, and makes its table of what was measured."""

from . import memory, narrow, people, readers, steps

SECTIONS = {
    "readers": readers,
    "steps": steps,
    "narrow": narrow,
    "people": people,
    "memory": memory,
}
