"""Visitors: their names, who may edit saved runs and studies, and the keys of their private jobs."""

import hashlib
import ipaddress
import re
import secrets
from collections.abc import Hashable
from dataclasses import dataclass
from urllib.parse import urlsplit

import streamlit as st

from smfh.folders import read_variable
from smfh.types import InputError

VISITOR, COOKIE, NAME = "visitor", "smfh_visitor", re.compile("[0-9a-f]{32}")
ANYONE, OWNER = "anyone", "owner"
OLD_POLICIES = {"all": ANYONE, "maker": OWNER}
NOT_OWNER = "Only its owner can rename or delete it, in the browser that created it."


@dataclass(frozen=True)
class PrivateKey:
    """The key of a job whose result only one visitor may see; such jobs do not run on a cluster."""

    owner: str  # a visitor
    key: Hashable
    file: str = ""  # digest of the visitor's model file, if the job uses one


def visitor() -> str:
    """Return the secret random name of this visitor's browser, which a cookie stores."""
    if VISITOR not in st.session_state:
        st.session_state[VISITOR] = visitor_name(str(st.context.cookies.get(COOKIE, "")))
    name: str = st.session_state[VISITOR]
    return name


def visitor_name(cookie: str) -> str:
    """Return the name in a cookie, or a new one if the cookie is missing or forged."""
    return cookie if NAME.fullmatch(cookie) else secrets.token_hex(16)


def owner_id(visitor: str) -> str:
    """Return the hash of a visitor's name that is saved as owner of runs; it does not reveal the cookie."""
    return hashlib.sha256(f"maker {visitor}".encode()).hexdigest()[:32]


def may_edit(owner: str, visitor: str) -> bool:
    """Whether the visitor may rename and delete runs and studies of this owner ("" if unknown)."""
    return edit_policy() == ANYONE or (bool(owner) and owner == owner_id(visitor))


def is_only_local() -> bool:
    """Whether only this computer can reach the server, judging by its options and the request's headers.

    Behind a proxy the server may listen on localhost, but browsers name another host as the page's origin.
    """
    hosts = [str(st.get_option("server.address") or ""), *(st.get_option("server.allowedHosts") or ["*"])]
    headers = st.context.headers
    if any(name.lower() in ("forwarded", "via") or "forwarded" in name.lower() for name in headers):
        return False
    hosts += [urlsplit(f"//{headers['Host']}").hostname or ""] if "Host" in headers else []
    hosts += [urlsplit(headers["Origin"]).hostname or ""] if "Origin" in headers else []
    return all(_is_loopback(host) for host in hosts)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:  # a host name
        return host == "localhost"


def edit_policy() -> str:
    """Return SMFH_EDIT_POLICY; the default is "anyone" for a server on localhost, else "owner"."""
    is_local = _is_loopback(str(st.get_option("server.address") or ""))
    policy = read_variable("SMFH_EDIT_POLICY") or (ANYONE if is_local else OWNER)
    policy = OLD_POLICIES.get(policy, policy)
    if policy not in (ANYONE, OWNER):
        raise InputError(f"SMFH_EDIT_POLICY must be {ANYONE!r} or {OWNER!r}; got {policy[:40]!r}.")
    return policy
