"""Which addresses are local, special or public, however they are wrapped; and who may open them."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perseid.errors import ConfigError
from perseid.fetch.address import AddressKind, address_kind
from perseid.fetch.guard import BAD_PORTS, SETTING, Allowance, host_name, judge_address

KINDS = {
    AddressKind.PUBLIC: [
        "8.8.8.8", "1.1.1.1", "93.184.215.14", "172.15.255.255", "172.32.0.0", "100.63.255.255",
        "100.128.0.0", "169.253.255.255", "169.255.0.0", "192.167.255.255", "192.169.0.0", "9.255.255.255",
        "11.0.0.0", "126.255.255.255", "128.0.0.0", "198.17.255.255", "198.20.0.0", "223.255.255.255",
        "192.0.1.0", "2606:4700:4700::1111", "2a00:1450:4001:80e::200e", "2001:4860:4860::8888",
        "::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "2000::", "3ffe::1",
    ],
    AddressKind.LOOPBACK: [
        "127.0.0.1", "127.255.255.255", "127.0.0.53", "0.0.0.0", "::1", "::", "::ffff:127.0.0.1",
        "::ffff:7f00:1", "::ffff:0.0.0.0", "64:ff9b::7f00:1", "2002:7f00:1::", "::7f00:1",
        "::ffff:0:127.0.0.1", "0:0:0:0:0:0:0:1", "0000::0001",
    ],
    AddressKind.PRIVATE: [
        "10.0.0.0", "10.255.255.255", "172.16.0.0", "172.31.255.255", "192.168.0.1", "198.18.0.1",
        "fc00::1", "fd12:3456::1", "fec0::1", "::ffff:10.0.0.1", "64:ff9b::a00:1", "64:ff9b:1::1",
        "2002:c0a8:1::", "2002:a00:1:ffff::", "::ffff:0:10.0.0.1", "2001:0:808:808:0:0:f5ff:fffe",
        "2001:0:a00:1::f7f7:f7f7",
    ],
    AddressKind.SHARED: ["100.64.0.0", "100.127.255.255", "::ffff:100.64.0.1", "64:ff9b::6440:1"],
    AddressKind.LINK_LOCAL: [
        "169.254.0.1", "169.254.255.255", "fe80::1", "fe80::1%eth0", "febf::1", "::ffff:169.254.1.1",
    ],
    AddressKind.METADATA: [
        "169.254.169.254", "169.254.170.2", "100.100.100.200", "168.63.129.16", "192.0.0.192",
        "fd00:ec2::254", "fd00:0ec2:0:0::254", "::ffff:169.254.169.254", "::ffff:a9fe:a9fe",
        "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::", "::ffff:0:169.254.169.254", "fd20:ce::254",
    ],
    AddressKind.MULTICAST: ["224.0.0.1", "239.255.255.255", "ff02::1", "ff0e::1", "::ffff:224.0.0.1"],
    AddressKind.RESERVED: [
        "0.0.0.1", "192.0.0.1", "192.0.2.1", "198.51.100.1", "203.0.113.1", "240.0.0.1", "255.255.255.255",
        "192.88.99.1", "2001:db8::1", "100::1", "3fff::1", "2001:10::1", "4000::1", "5f00::1", "1::1",
        "::808:808", "2002:808:808::1", "2001:0:808:808::f7f7:f7f7", "fe00::1",
    ],
    AddressKind.INVALID: [
        "", "localhost", "0x7f.0.0.1", "0x7f.1", "127.1", "2130706433", "0177.0.0.1", "127.0.0.1.", "1.2.3.4.5",
        "127.0.0.01", " 127.0.0.1", "127.0.0.1 ", "１２７.0.0.1", "[::1]", "::1::", "1.2.3.256", "a.b.c.d",
    ],
}  # fmt: skip


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind, texts in KINDS.items() for text in texts])
def test_every_address_has_its_kind(kind, text):
    assert address_kind(text) is kind


@given(st.ip_addresses(v=4))
def test_wrapping_an_address_never_makes_it_public(address: IPv4Address):
    plain = address_kind(str(address))
    number = int(address)
    for wrapped in (0xFFFF << 32 | number, (0x64FF9B << 96) | number):
        assert address_kind(str(IPv6Address(wrapped))) is plain
    for tunnelled in (number, (0x2002 << 112) | number << 80, (0x20010000 << 96) | number << 64):
        assert address_kind(str(IPv6Address(tunnelled))) is not AddressKind.PUBLIC


@given(st.one_of(st.ip_addresses(v=4), st.ip_addresses(v=6)))
def test_what_the_standard_library_calls_private_is_never_public(address):
    if address.is_private or address.is_loopback or address.is_link_local or address.is_unspecified:
        mapped = getattr(address, "ipv4_mapped", None)
        if mapped is None or not mapped.is_global:
            assert address_kind(str(address)) is not AddressKind.PUBLIC


@given(st.text(max_size=60))
def test_no_text_upsets_the_judgement(text):
    verdict = judge_address(text, 80)
    assert verdict.allowed == (address_kind(text) is AddressKind.PUBLIC)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind is not AddressKind.PUBLIC])
def test_all_but_public_is_refused_with_a_reason(kind):
    for text in KINDS[kind]:
        verdict = judge_address(text, 443)
        assert not verdict.allowed
        assert text in verdict.reason or repr(text) in verdict.reason
        assert (SETTING in verdict.reason) == (kind is not AddressKind.INVALID)


def test_public_is_allowed():
    assert all(judge_address(text, 443) == (True, False, "") for text in KINDS[AddressKind.PUBLIC])


@pytest.mark.parametrize(
    "kind", [AddressKind.LOOPBACK, AddressKind.PRIVATE, AddressKind.SHARED, AddressKind.LINK_LOCAL]
)
def test_the_setting_and_naming_open_local_addresses(kind):
    for text in KINDS[kind]:
        assert judge_address(text, 8080, Allowance(allow_private=True)) == (True, True, "")
        assert judge_address(text, 8080, named=True) == (True, True, "")


@pytest.mark.parametrize(
    "kind", [AddressKind.METADATA, AddressKind.MULTICAST, AddressKind.RESERVED, AddressKind.INVALID]
)
def test_neither_opens_metadata_and_special_addresses(kind):
    for text in KINDS[kind]:
        assert not judge_address(text, 80, Allowance(allow_private=True)).allowed
        assert not judge_address(text, 80, named=True).allowed


def test_listing_an_address_opens_just_that():
    allowance = Allowance.parse("169.254.169.254, fd12::/16")
    assert judge_address("169.254.169.254", 80, allowance).allowed
    assert judge_address("fd12::5", 80, allowance).allowed
    for text in ("169.254.169.253", "fd13::5", "127.0.0.1", "10.0.0.1"):
        assert not judge_address(text, 80, allowance).allowed


def test_ports_of_other_services_are_refused_unless_named():
    for port in (22, 25, 6667):
        assert port in BAD_PORTS
        assert not judge_address("8.8.8.8", port).allowed
        assert judge_address("8.8.8.8", port, named=True).allowed
        assert judge_address("8.8.8.8", port, Allowance.parse("8.8.8.8")).allowed
    for port in (80, 443, 8000, 8080, 8443, 3000, 5000, 9000):
        assert judge_address("8.8.8.8", port).allowed


@pytest.mark.parametrize(
    ("text", "allow_private", "hosts", "networks"),
    [
        ("", False, set(), []),
        ("false", False, set(), []),
        ("0", False, set(), []),
        ("true", True, set(), []),
        (" 1 ", True, set(), []),
        ("Yes", True, set(), []),
        ("WWW.Site.test., a.test", False, {"site.test", "a.test"}, []),
        ("10.0.0.0/8,[::1]", False, set(), ["10.0.0.0/8", "::1/128"]),
        ("127.0.0.1", False, set(), ["127.0.0.1/32"]),
    ],
)
def test_the_setting_is_read(text, allow_private, hosts, networks):
    allowance = Allowance.parse(text)
    assert allowance.allow_private is allow_private
    assert allowance.hosts == hosts
    assert [str(network) for network in allowance.networks] == networks


@pytest.mark.parametrize("text", ["10.0.0.1/8", "10.0.0.0/33", "site.test/8", "/"])
def test_a_wrong_network_is_a_configuration_error(text):
    with pytest.raises(ConfigError, match=SETTING):
        Allowance.parse(text)


def test_hosts_compare_without_www_dot_and_case():
    assert host_name("WWW.Example.COM.") == host_name("example.com") == "example.com"
    assert host_name("[::1]") == "::1"
    assert host_name("www.www.example.com") == "www.example.com"
    assert host_name("wwwexample.com") == "wwwexample.com"
