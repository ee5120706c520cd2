//! Network: there is none, and no socket of the host is in reach.

use crate::case::{Case, run};
use std::net::{TcpListener, TcpStream};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};

/// A perl program that reports the error of one call.
fn perl(case: &Case, program: &str) -> String {
    run(&case.command(&["perl", "-MSocket", "-e", program])).out
}

#[test]
fn n1_no_network_by_default() {
    let case = Case::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    TcpStream::connect(("127.0.0.1", port)).expect("control: the listener is there");
    let connect = |address: &str, port: u16| {
        perl(
            &case,
            &format!(
                "socket(S, AF_INET, SOCK_STREAM, 0) or die; \
             print connect(S, sockaddr_in({port}, inet_aton('{address}'))) ? 'open' : \"$!\""
            ),
        )
    };
    assert_eq!(connect("127.0.0.1", port), "Connection refused");
    for address in ["169.254.169.254", "10.0.0.1", "8.8.8.8"] {
        assert_eq!(connect(address, 80), "Network is unreachable", "{address}");
    }
    let interfaces = case.sh("tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '").out;
    assert!(interfaces.lines().all(|name| name == "lo" || name.ends_with("0")), "{interfaces}");
}

#[test]
fn n1_its_own_loopback_works() {
    let case = Case::new();
    let talk = "socket(L, AF_INET, SOCK_STREAM, 0) or die; \
        bind(L, sockaddr_in(0, INADDR_LOOPBACK)) or die; listen(L, 1) or die; \
        socket(C, AF_INET, SOCK_STREAM, 0) or die; print connect(C, getsockname(L)) ? 'talks' : $!";
    assert_eq!(perl(&case, talk), "talks");
}

#[test]
fn n1_no_unix_socket_of_the_host_is_in_reach() {
    let case = Case::new();
    let outside = Case::new();
    let path = outside.path().join("daemon.sock");
    let _listener = UnixListener::bind(&path).unwrap();
    UnixStream::connect(&path).expect("control: the socket is there");
    let connect = format!(
        "socket(S, AF_UNIX, SOCK_STREAM, 0) or die; \
         print connect(S, sockaddr_un('{}')) ? 'open' : \"$!\"",
        path.display()
    );
    assert_eq!(perl(&case, &connect), "No such file or directory");

    let name = format!("chancery-{}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    let _abstract = UnixListener::bind_addr(&address).unwrap();
    UnixStream::connect_addr(&address).expect("control: the abstract socket is there");
    let connect = format!(
        "socket(S, AF_UNIX, SOCK_STREAM, 0) or die; \
         print connect(S, pack('S a*', AF_UNIX, qq(\\0{name}))) ? 'open' : \"$!\""
    );
    assert_eq!(perl(&case, &connect), "Connection refused");
}

#[test]
fn n1_only_the_families_that_a_namespace_contains_exist() {
    let case = Case::new();
    // packet, alg, vsock, bluetooth, and netlink with another protocol than routes.
    for (family, kind, protocol) in [(17, 3, 0), (38, 5, 0), (40, 1, 0), (31, 3, 0), (16, 3, 9)] {
        let open = format!("print socket(S, {family}, {kind}, {protocol}) ? 'made' : \"$!\"");
        let said = perl(&case, &open);
        assert_eq!(said, "Address family not supported by protocol", "family {family}");
    }
    assert_eq!(perl(&case, "print socket(S, 16, 3, 0) ? 'made' : \"$!\""), "made");
    assert_eq!(
        perl(&case, "print socket(S, 2, 3, 1) ? 'made' : \"$!\""),
        "Operation not permitted"
    );
}
