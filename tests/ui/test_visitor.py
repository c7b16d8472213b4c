"""The edit policy: who may rename and delete saved runs and studies."""

from types import SimpleNamespace

import pytest
import streamlit as st

from smfh.types import InputError
from smfh.ui.visitor import edit_policy, is_only_local, may_edit, owner_id

LOCAL, PUBLIC = ("localhost", "127.0.0.1", "::1"), (None, "192.168.1.7", "::", "class.example.org")


@pytest.mark.parametrize("address", [*LOCAL, *PUBLIC])
def test_by_default_anyone_edits_on_a_local_server_and_owners_elsewhere(monkeypatch, address):
    for name in ("SMFH_EDIT_POLICY", "SMFH_CHANGED_BY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(st, "get_option", {"server.address": address}.__getitem__)
    assert edit_policy() == ("anyone" if address in LOCAL else "owner")


@pytest.mark.parametrize("name", ["SMFH_EDIT_POLICY", "SMFH_CHANGED_BY"])
def test_the_environment_sets_the_policy_with_old_words_too(monkeypatch, name):
    for value, policy in {"anyone": "anyone", "owner": "owner", "all": "anyone", "maker": "owner"}.items():
        monkeypatch.setenv(name, value)
        assert edit_policy() == policy
    monkeypatch.setenv(name, "nobody")
    with pytest.raises(InputError, match="SMFH_EDIT_POLICY must be 'anyone' or 'owner'; got 'nobody'"):
        edit_policy()


def test_with_the_owner_policy_only_a_known_owner_may_edit(monkeypatch):
    monkeypatch.setenv("SMFH_EDIT_POLICY", "owner")
    assert may_edit(owner_id("ann"), "ann")
    assert not any(may_edit(owner, "bob") for owner in (owner_id("ann"), ""))


HERE = {"Host": "localhost:8501", "Origin": "http://localhost:8501"}


@pytest.mark.parametrize(
    ("address", "hosts", "headers", "is_local"),
    [
        ("localhost", ["localhost", "127.0.0.1", "::1"], HERE, True),
        ("127.0.0.1", ["localhost"], {"Host": "127.0.0.1:8501"}, True),
        ("::1", ["::1"], {"Host": "[::1]:8501", "Origin": "http://[::1]:8501"}, True),
        ("localhost", ["localhost"], HERE | {"Origin": "https://class.example.org"}, False),
        ("localhost", ["localhost"], HERE | {"Host": "class.example.org"}, False),
        ("localhost", ["localhost"], HERE | {"X-Forwarded-For": "10.0.0.7"}, False),
        ("localhost", ["localhost"], HERE | {"Forwarded": "for=10.0.0.7"}, False),
        ("localhost", ["class.example.org"], HERE, False),
        ("localhost", ["*"], HERE, False),
        ("localhost", [], HERE, False),
        ("192.168.1.7", ["localhost"], HERE, False),
        ("", ["localhost"], HERE, False),
        (None, ["localhost"], HERE, False),
    ],
)
def test_folders_are_only_for_a_server_that_only_this_computer_reaches(monkeypatch, address, hosts, headers, is_local):
    options = {"server.address": address, "server.allowedHosts": hosts}
    monkeypatch.setattr(st, "get_option", options.__getitem__)
    monkeypatch.setattr(st, "context", SimpleNamespace(headers=headers))
    assert is_only_local() == is_local
