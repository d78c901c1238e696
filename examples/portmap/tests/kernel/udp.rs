//! A client that never stops sending follows the port, not the container that had it.

use std::cell::Cell;
use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use plugin_support::netns::NetNs;
use serde_json::json;

use super::lab::{BACKENDS, C1, C2, HOST, Lab};

/// Serves UDP: answers each datagram with its name and what was said.
fn serve(netns: &NetNs, name: &'static str) {
    let socket = netns.run(|| UdpSocket::bind("[::]:8125")).unwrap().unwrap();
    std::thread::spawn(move || {
        let mut said = [0; 16];
        while let Ok((length, from)) = socket.recv_from(&mut said) {
            let answer = [name.as_bytes(), &said[..length]].concat();
            // Who asked may have gone.
            let _ = socket.send_to(&answer, from);
        }
    });
}

/// Sends from always the same port.
struct Client {
    socket: UdpSocket,
    said: Cell<u8>,
}

/// How often to send before the test has failed.
const TRIES: usize = 40;

impl Client {
    fn new(netns: &NetNs, to: &str) -> Self {
        let to: SocketAddr = to.parse().unwrap();
        let any = if to.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
        let socket = netns.run(|| UdpSocket::bind(any)).unwrap().unwrap();
        socket.connect(to).unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
        Self { socket, said: Cell::new(b'a') }
    }

    /// Who answers; `None` if the host says that nobody does.
    fn ask(&self) -> Option<String> {
        self.said.set(self.said.get() + 1);
        let said = self.said.get();
        // Sent again only if the answer is late: what comes late is an answer as well.
        for _ in 0..TRIES {
            if self.socket.send(&[said]).is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused) {
                return None;
            }
            let mut answer = [0; 16];
            loop {
                match self.socket.recv(&mut answer) {
                    Ok(length) => match answer[..length].split_last() {
                        Some((last, name)) if *last == said => {
                            return Some(String::from_utf8_lossy(name).into_owned());
                        }
                        // To what was said earlier.
                        _ => {}
                    },
                    Err(error) if error.kind() == ErrorKind::ConnectionRefused => return None,
                    Err(_) => break,
                }
            }
        }
        panic!("neither an answer nor a refusal");
    }
}

#[test]
fn c73_a_steady_client_reaches_the_next_container() {
    let mappings = json!([{"hostPort": 8125, "containerPort": 8125, "protocol": "udp"}]);
    for backend in BACKENDS {
        let Some(lab) = Lab::new() else { return };
        // A refusal each time, however often.
        for key in ["net.ipv4.icmp_ratelimit", "net.ipv6.icmp.ratelimit"] {
            lab.host.sysctl().write(key, "0").unwrap();
        }
        serve(&lab.c1, "c1");
        serve(&lab.c2, "c2");
        let keys = json!({"backend": backend});
        let clients = HOST.map(|address| {
            let address = if address.contains(':') { format!("[{address}]") } else { address.to_owned() };
            Client::new(&lab.outside, &format!("{address}:8125"))
        });
        // It has begun before anything was there.
        for client in &clients {
            assert_eq!(client.ask(), None, "{backend}");
        }
        lab.run(lab.add_to(&lab.c1, "cid1", C1, &keys, &mappings)).assert_success();
        for client in &clients {
            assert_eq!(
                client.ask().as_deref(),
                Some("c1"),
                "{backend}: the flow to the host must be forgotten"
            );
        }
        lab.run(lab.del("cid1", &keys)).assert_success();
        for client in &clients {
            assert_eq!(client.ask(), None, "{backend}: the flow to the container must be forgotten");
        }
        lab.run(lab.add_to(&lab.c2, "cid2", C2, &keys, &mappings)).assert_success();
        for client in &clients {
            assert_eq!(client.ask().as_deref(), Some("c2"), "{backend}");
        }
    }
}
