"""Who may rename and delete: one setting, with a default that fits where the server listens."""

import pytest
import streamlit as st

from smfh.types import InputError
from smfh.ui.rights import changed_by, maker_of, may_change

HERE, ELSEWHERE = ("localhost", "127.0.0.1", "::1"), (None, "192.168.1.7", "::", "class.example.org")


@pytest.mark.parametrize("address", [*HERE, *ELSEWHERE])
def test_on_this_computer_all_may_and_elsewhere_the_maker(monkeypatch, address):
    monkeypatch.delenv("SMFH_CHANGED_BY", raising=False)
    monkeypatch.setattr(st, "get_option", {"server.address": address}.__getitem__)
    assert changed_by() == ("all" if address in HERE else "maker")


def test_the_setting_wins_and_must_be_a_word_that_is_known(monkeypatch):
    for said in ("all", "maker"):
        monkeypatch.setenv("SMFH_CHANGED_BY", said)
        assert changed_by() == said
    monkeypatch.setenv("SMFH_CHANGED_BY", "nobody")
    with pytest.raises(InputError, match="SMFH_CHANGED_BY must be 'all' or 'maker'; got 'nobody'"):
        changed_by()


def test_what_nobody_made_nobody_may_change(monkeypatch):
    monkeypatch.setenv("SMFH_CHANGED_BY", "maker")
    assert may_change(maker_of("ann"), "ann")
    assert not may_change(maker_of("ann"), "bob")
    assert not may_change("", "ann")
    assert not may_change("", "")
    monkeypatch.setenv("SMFH_CHANGED_BY", "all")
    assert may_change("", "bob")
