"""Tests of the judge of consumers' logs."""

import json
import unittest

from .judge import judge


def batch(*ids, number=0):
    return {"ids": list(ids), "pass": number}


START, END = {"resumed": None}, {"end": True}


class Judge(unittest.TestCase):
    def judge(self, *entries, records=4, passes=1):
        return judge([json.dumps(entry) for entry in entries], records, passes)

    def test_a_whole_log(self):
        log = [START, batch(2, 0), {"state": 0}, batch(1, 3), {"state": 1}, END]
        self.assertEqual(self.judge(*log), [])
        other = [batch(0, 1, 2, 3, number=1), {"state": 2}, END]
        self.assertEqual(self.judge(*log[:-1], *other, passes=2), [])

    def test_batches_after_the_state_do_not_count(self):
        began = [START, batch(2, 0), {"state": 0}, batch(1, 3), {"state": 1}, batch(9, 9)]
        again = [{"resumed": 0}, batch(3, 1), {"state": 2}, END]
        self.assertEqual(self.judge(*began, *again), [])
        anew = [START, batch(0, 1, 2, 3), END]
        self.assertEqual(self.judge(*began, *anew), [])

    def test_a_batch_that_is_lost_or_repeated(self):
        began = [START, batch(0, 1), {"state": 0}, batch(2, 3), {"state": 1}, {"resumed": 1}]
        self.assertEqual(
            self.judge(*began, batch(2, 3), END),
            ["pass 0: 2 ids are repeated, such as [2, 3]"],
        )
        began[-1] = {"resumed": 0}
        self.assertEqual(self.judge(*began, END), ["pass 0: 2 ids are missing, such as [2, 3]"])
        self.assertEqual(
            self.judge(*began, batch(2, 4), END),
            [
                "pass 0: 1 ids are missing, such as [3]",
                "pass 0: 1 ids are unknown, such as [4]",
            ],
        )

    def test_a_state_of_batches_that_do_not_count(self):
        log = [START, batch(0, 1), {"state": 0}, batch(2, 3), {"state": 1}, {"resumed": 0}]
        self.assertEqual(
            self.judge(*log, {"resumed": 1}, END), ["state 1 was resumed, but is not in the log"]
        )

    def test_other_faults_of_a_log(self):
        whole = batch(0, 1, 2, 3)
        self.assertEqual(self.judge(START, whole), ["the log has no end"])
        self.assertEqual(self.judge(whole, END), ["the log does not begin with a start"])
        self.assertEqual(self.judge(START, whole, batch(number=1), END), ["batches of pass 1"])

    def test_a_line_that_the_kill_cut(self):
        lines = [json.dumps(START), '{"ids": [0, 1', json.dumps(batch(0, 1)), json.dumps(END)]
        self.assertEqual(judge(lines, 2, 1), [])


if __name__ == "__main__":
    unittest.main()
