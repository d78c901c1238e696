//! A client that never stops sending follows the port, not the container that had it.

use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use plugin_support::netns::NetNs;
use serde_json::json;

use super::lab::{BACKENDS, C1, C2, HOST, Lab};

/// Serves UDP: answers each datagram with its name.
fn serve(netns: &NetNs, name: &'static str) {
    let socket = netns.run(|| UdpSocket::bind("[::]:8125")).unwrap().unwrap();
    std::thread::spawn(move || {
        let mut buffer = [0; 16];
        while let Ok((_, from)) = socket.recv_from(&mut buffer) {
            // Who asked may have gone.
            let _ = socket.send_to(name.as_bytes(), from);
        }
    });
}

/// Sends from always the same port.
struct Client(UdpSocket);

impl Client {
    fn new(netns: &NetNs, to: &str) -> Self {
        let to: SocketAddr = to.parse().unwrap();
        let any = if to.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
        let socket = netns.run(|| UdpSocket::bind(any)).unwrap().unwrap();
        socket.connect(to).unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
        Self(socket)
    }

    /// Who answers; `None` if nobody does.
    fn ask(&self) -> Option<String> {
        let mut buffer = [0; 16];
        // A refusal of an earlier datagram is told to a later one.
        let _ = self.0.send(b"?");
        let length = self.0.recv(&mut buffer).ok()?;
        Some(String::from_utf8_lossy(&buffer[..length]).into_owned())
    }
}

#[test]
fn c73_a_steady_client_reaches_the_next_container() {
    let mappings = json!([{"hostPort": 8125, "containerPort": 8125, "protocol": "udp"}]);
    for backend in BACKENDS {
        let Some(lab) = Lab::new() else { return };
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
