"""The sections of a comparison, in order. Each measures, and renders its table."""

from . import (
    btable,
    cold,
    inflaters,
    memory,
    narrow,
    people,
    python,
    readers,
    ready,
    sizes,
    steps,
    tfrecord,
    training,
)

SECTIONS = {
    "readers": readers,
    "cold": cold,
    "inflaters": inflaters,
    "steps": steps,
    "python": python,
    "ready": ready,
    "training": training,
    "narrow": narrow,
    "people": people,
    "memory": memory,
    "tfrecord": tfrecord,
    "btable": btable,
    "sizes": sizes,
}
