#!/usr/bin/env python3
"""What compare_modules.py's judge lets pass, and its page. Exits with 77 without PyTorch."""

import collections
import unittest
from unittest import mock

import compare_modules  # exits where PyTorch is missing
import torch

import module_page
from compare_modules import Peer, compare, differ
from modules import all_cases
from modules.cases import case, cases


def peer_of(name="Linear", *args, of=((2, 3),), **kwargs):
    torch.set_default_dtype(torch.float64)
    return Peer(case(name, *args, of=list(of), training=(True,), **kwargs)[0], 3)


def answer(peer):
    """What run_modules says where all is right."""
    keys = [[name, list(one.shape), str(one.dtype).removeprefix("torch.")] for name, one in peer.before.items()]
    return {"keys": keys, "text": peer.module.extra_repr(), "type": type(peer.module).__name__, "printed": str(peer.module),
            "results": list(peer.results), "gradients": list(peer.gradients), "state": list(peer.after.values())}  # fmt: skip


class Judge(unittest.TestCase):
    def test_the_same_agrees(self):
        peer = peer_of("Linear", 3, 4)
        self.assertEqual(compare(peer, answer(peer)), "")

    def test_a_part_in_10_to_the_11_is_seen(self):
        near, far = torch.tensor([1.0, 1 + 1e-13], dtype=torch.float64), torch.tensor([1.0, 1 + 1e-11], dtype=torch.float64)
        ones = torch.ones(2, dtype=torch.float64)
        self.assertEqual(differ(near, ones), "")
        self.assertIn("1 of 2 differ", differ(far, ones))

    def test_each_part_of_an_answer_is_compared(self):
        peer = peer_of("BatchNorm1d", 3, of=((4, 3),))
        for part, told in (("results", "result 0"), ("gradients", "gradient 0"), ("state", "weight after the call")):
            outcome = answer(peer)
            outcome[part][0] = outcome[part][0] + 1e-6
            self.assertIn(told, compare(peer, outcome))
        for part, wrong, told in (("text", "3", "prints"), ("keys", [], "state_dict"), ("error", "no memory", "no memory"),
                                  ("ended", "it took too long", "too long"), ("results", [], "0 results")):  # fmt: skip
            self.assertIn(told, compare(peer, {**answer(peer), part: wrong}))

    def test_keys_have_an_order(self):
        peer = peer_of("Linear", 3, 4)
        outcome = answer(peer)
        outcome["keys"].reverse()
        self.assertIn("the state_dict is", compare(peer, outcome))

    def test_what_is_known_is_so_up_to_its_bound(self):
        peer = peer_of("CELU", 0.7)
        for off, passes in ((1e-8, True), (1e-5, False)):
            outcome = answer(peer)
            outcome["gradients"][0] = outcome["gradients"][0] * (1 + off)
            self.assertEqual(compare(peer, outcome) == "", passes)
        self.assertTrue(peer.is_known)
        outcome = answer(peer)
        outcome["results"][0] = outcome["results"][0] * (1 + 1e-8)
        self.assertIn("result 0", compare(peer, outcome))

    def test_no_gradient_is_one_of_zeros(self):
        self.assertEqual(differ(None, torch.zeros(2)), "")
        self.assertNotEqual(differ(None, torch.ones(2)), "")


class Cases(unittest.TestCase):
    def test_arguments_have_their_names(self):
        made = cases("Conv2d", [((2, 3, 3), {"stride": 2})], of=[(1, 2, 5, 5)])
        self.assertEqual(made[0].args, {"in_channels": 2, "out_channels": 3, "kernel_size": 3, "stride": 2})
        self.assertEqual([one.training for one in made], [True, False])

    def test_every_class_is_accounted_for_once_it_has_a_case(self):
        agree = collections.Counter(one.name for one in all_cases())
        text, _ = module_page.page(agree, {}, 1e-12)
        self.assertIn(f"| `Conv2d` | yes | {agree['Conv2d']} |", text)
        for name in module_page.ABSENT:
            self.assertIn(f"| `{name}` | absent: ", text)
        del agree["Conv2d"]
        self.assertIn("Conv2d", module_page.page(agree, {}, 1e-12)[1])

    def test_a_twentieth_may_be_absent(self):
        agree = collections.Counter(one.name for one in all_cases())
        absent = {name: "for a reason" for name in list(agree)[:20]}
        with mock.patch.object(module_page, "ABSENT", absent):
            problems = module_page.page(collections.Counter({name: n for name, n in agree.items() if name not in absent}), {}, 1e-12)[1]
        self.assertTrue(any("more than 5%" in one for one in problems))


if __name__ == "__main__":
    unittest.main()
