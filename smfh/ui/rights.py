"""Who may rename and delete what is kept: everybody, or whoever made it."""

import hashlib
import ipaddress
import os

import streamlit as st

from smfh.types import InputError

SETTING, BY_ALL, BY_MAKER = "SMFH_CHANGED_BY", "all", "maker"
OTHERS = "Only whoever made it can rename or delete it, in the browser that it was made with."


def maker_of(visitor: str) -> str:
    """What a run or a study keeps of the visitor who made it: no way back to the cookie."""
    return hashlib.sha256(f"maker {visitor}".encode()).hexdigest()[:32]


def may_change(maker: str, visitor: str) -> bool:
    """Whether this visitor may rename and delete what that one made; "" made what nobody may call theirs."""
    return changed_by() == BY_ALL or (bool(maker) and maker == maker_of(visitor))


def changed_by() -> str:
    """SMFH_CHANGED_BY, or: all on a server that this computer alone can reach, else whoever made it."""
    said = os.environ.get(SETTING) or (BY_ALL if _is_local() else BY_MAKER)
    if said not in (BY_ALL, BY_MAKER):
        raise InputError(f"{SETTING} must be {BY_ALL!r} or {BY_MAKER!r}; got {said[:40]!r}.")
    return said


def _is_local() -> bool:
    address = str(st.get_option("server.address") or "")
    try:
        return address == "localhost" or ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False
