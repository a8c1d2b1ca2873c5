"""Judges the log of a consumer that was killed and went on: each pass must have each record id once.

It knows nothing of readers and states, only the log's lines, one JSON object each:

    {"resumed": N}              the consumer starts from state N, or from the beginning if N is null
    {"ids": [..], "pass": P}    the ids of a batch
    {"state": N, ..}            state N, after all that the log has before it; other keys are not read
    {"end": true}               all passes are done

Batches after state N count only until the log says that state N was resumed. A line that the kill cut is no
line. Run it as `python judge.py LOG --records N --passes P`.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterable


def judge(lines: Iterable[str], records: int, passes: int) -> list[str]:
    """What is wrong with a log: nothing if each pass has each id once."""
    batches: list[tuple[int, list[int]]] = []
    # How many batches come before each state.
    before: dict[int, int] = {}
    is_started = is_ended = False
    for line in lines:
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if "resumed" in entry:
            state = entry["resumed"]
            if state is None:
                batches, before = [], {}
            elif state not in before:
                return [f"state {state} was resumed, but is not in the log"]
            else:
                del batches[before[state] :]
                # States after it are of batches that no longer count.
                before = {number: at for number, at in before.items() if number <= state}
            is_started = True
        elif not is_started:
            return ["the log does not begin with a start"]
        elif "ids" in entry:
            batches.append((entry["pass"], entry["ids"]))
        elif "state" in entry:
            before[entry["state"]] = len(batches)
        elif "end" in entry:
            is_ended = True
    wrong = [] if is_ended else ["the log has no end"]
    for number in range(passes):
        wrong += _judge_pass(number, [ids for of, ids in batches if of == number], records)
    others = {of for of, _ in batches} - set(range(passes))
    wrong += [f"batches of pass {of}" for of in sorted(others)]
    return wrong


def _judge_pass(number: int, batches: list[list[int]], records: int) -> list[str]:
    found = Counter(id_ for ids in batches for id_ in ids)
    missing = [id_ for id_ in range(records) if id_ not in found]
    repeated = [id_ for id_, times in found.items() if times > 1]
    unknown = [id_ for id_ in found if not 0 <= id_ < records]
    kinds = {"missing": missing, "repeated": repeated, "unknown": unknown}
    return [
        f"pass {number}: {len(ids)} ids are {kind}, such as {sorted(ids)[:5]}"
        for kind, ids in kinds.items()
        if ids
    ]


def main() -> None:
    """Print what is wrong, and end with 1 if anything is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("log")
    parser.add_argument("--records", type=int, required=True, help="ids are 0 to N - 1")
    parser.add_argument("--passes", type=int, required=True)
    options = parser.parse_args()
    with open(options.log, errors="replace") as log:
        wrong = judge(log, options.records, options.passes)
    print("\n".join(wrong) or "each pass has each id once")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
