//! Which addresses the guard lets pass.

use heddle_runtime::EgressPolicy;
use std::net::IpAddr;

fn permits(policy: &EgressPolicy, address: &str) -> bool {
    policy.permits("example.com", Some(443), address.parse::<IpAddr>().unwrap())
}

#[test]
fn public_addresses_pass() {
    let policy = EgressPolicy::default();
    for address in [
        "1.1.1.1",
        "93.184.216.34",
        "100.63.255.255",
        "100.128.0.1",
        "172.15.0.1",
        "172.32.0.1",
        "198.17.255.255",
        "198.20.0.1",
        "192.0.1.1",
        "223.255.255.255",
        "2606:4700:4700::1111",
        "2a00:1450:4001::1",
        "::ffff:1.1.1.1",
        "64:ff9b::1.1.1.1",
        "2001:4860:4860::8888",
        "2620:fe::fe",
    ] {
        assert!(permits(&policy, address), "{address}");
    }
}

#[test]
fn everything_else_is_refused() {
    let policy = EgressPolicy::default();
    for address in [
        "0.0.0.0",
        "0.1.2.3",
        "10.0.0.1",
        "10.255.255.255",
        "100.64.0.1",
        "100.100.100.200",
        "100.127.255.255",
        "127.0.0.1",
        "127.255.255.255",
        "168.63.129.16",
        "169.254.169.254",
        "172.16.0.1",
        "172.31.255.255",
        "192.0.0.192",
        "192.0.2.1",
        "192.88.99.1",
        "192.168.1.1",
        "198.18.0.1",
        "198.19.255.255",
        "198.51.100.1",
        "203.0.113.1",
        "224.0.0.1",
        "239.255.255.255",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::127.0.0.1",
        "::8.8.8.8",
        "::ffff:127.0.0.1",
        "::ffff:169.254.169.254",
        "::ffff:10.0.0.1",
        "64:ff9b::127.0.0.1",
        "64:ff9b::169.254.169.254",
        "64:ff9b:1::1",
        "100::1",
        "2001::1",
        "2001:0:7f00:1::",
        "2001:2::1",
        "2001:20::1",
        "2001:db8::1",
        "2002:7f00:1::",
        "2002:a9fe:a9fe::",
        "3fff::1",
        "5f00::1",
        "fc00::1",
        "fd00:ec2::254",
        "fe80::1",
        "febf::1",
        "fec0::1",
        "ff02::1",
    ] {
        assert!(!permits(&policy, address), "{address}");
    }
}

#[test]
fn the_allow_list_opens_networks_addresses_and_single_ports() {
    let policy = EgressPolicy::parse([
        "10.1.0.0/16",
        " 192.168.0.7 ",
        "127.0.0.1:8080",
        "[::1]:9000",
        "DB.internal:5432",
        "",
    ])
    .unwrap();
    let permits = |host, port, address: &str| policy.permits(host, port, address.parse().unwrap());
    assert!(permits("a", None, "10.1.2.3") && permits("a", Some(1), "::ffff:10.1.2.3"));
    assert!(!permits("a", Some(1), "10.2.0.1"));
    assert!(permits("a", Some(1), "192.168.0.7") && !permits("a", Some(1), "192.168.0.8"));
    assert!(permits("a", Some(8080), "127.0.0.1"));
    assert!(!permits("a", Some(8081), "127.0.0.1") && !permits("a", None, "127.0.0.1"));
    assert!(permits("a", Some(9000), "::1") && !permits("a", Some(9001), "::1"));
    assert!(permits("db.INTERNAL", Some(5432), "10.9.9.9"));
    assert!(!permits("db.internal", Some(5433), "10.9.9.9") && !permits("x", Some(5432), "10.9.9.9"));
}

#[test]
fn an_entry_that_is_neither_network_nor_host_with_port_is_refused() {
    for entry in [
        "db.internal",
        "10.0.0.0/33",
        "http://a:80",
        "a:99999",
        ":80",
        "a b:80",
    ] {
        assert!(EgressPolicy::parse([entry]).is_err(), "{entry}");
    }
}
