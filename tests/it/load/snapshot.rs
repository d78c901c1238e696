//! What a host and its containers' namespaces look like, to the byte: links, addresses, routes, rules, files, settings and
//! processes.

use std::time::{Duration, Instant};

use cni_tests::private_host::PrivateHost;

/// Prints all of it. Files are all that the host has of its own, those changed below `/etc` by way of `/run`.
/// `last_reserved_ip` says whose turn it is, and the index beside it counts changes: of both, as of locks, the name and the
/// mode are compared alone. Its argument is the number of containers' namespaces.
const LOOK: &str = r##"
echo "# links"; ip -o link | sed 's/ qlen [0-9]*//'
echo "# addresses"; ip -o addr
echo "# routes"; ip -4 route show table all; ip -6 route show table all
echo "# policy"; ip -4 rule; ip -6 rule
echo "# iptables"; iptables-save | grep -v '^#' | sed 's/\[[0-9:]*\]//'
echo "# ip6tables"; ip6tables-save | grep -v '^#' | sed 's/\[[0-9:]*\]//'
echo "# nftables"; nft list ruleset | sed 's/counter packets [0-9]* bytes [0-9]*/counter/'
echo "# files"
find /run /dev/shm /var/lib /etc/cni -printf '%M %U %G %n %p %l\n' | sort
find /run /var/lib -type f ! -name 'last_reserved_ip.*' ! -name '.*.idx' -exec sha256sum {} + | sort
echo "# settings"; cd /proc/sys/net; for key in ipv4/ip_forward ipv4/conf/*/route_localnet ipv4/conf/*/forwarding ipv6/conf/*/accept_ra; do echo "$key $(cat $key)"; done
echo "# processes"; for process in /proc/[0-9]*/comm; do cat $process 2>/dev/null; done | grep -vxE 'timeout|bash|cat|grep|sort' | sort
for ((at = 0; at < $1; at++)); do
    echo "# namespace $at"; ip netns exec test-$at sh -c 'ip -o link; ip -o addr; ip route show table all'
done
"##;

/// How long the kernel may take to notice that a bridge has no port, which shows in its routes.
const PATIENCE: Duration = Duration::from_secs(20);
/// How many looks in a row, half a second apart, must be as the one before.
const EQUAL_LOOKS: usize = 3;

pub(super) struct Snapshot(String);

impl Snapshot {
    /// The host after one attachment has come and gone: it makes what stays, the bridge and the shared chains.
    pub(super) fn after_the_first(host: &PrivateHost, namespaces: usize) -> Self {
        super::cycles(host, namespaces);
        host.assert_clean();
        let mut last = look(host, namespaces);
        let deadline = Instant::now() + PATIENCE;
        // Until the kernel has come to rest: it tells of a link's carrier up to a second late.
        let mut equal = 0;
        while equal < EQUAL_LOOKS && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(500));
            let now = look(host, namespaces);
            equal = if now == last { equal + 1 } else { 0 };
            last = now;
        }
        Self(last)
    }

    pub(super) fn assert_unchanged(&self, host: &PrivateHost, namespaces: usize) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let now = look(host, namespaces);
            if now == self.0 {
                return;
            }
            if Instant::now() > deadline {
                let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
                let (before, after) = (lines(&self.0), lines(&now));
                let gone: Vec<_> = before.iter().filter(|line| !after.contains(line)).collect();
                let new: Vec<_> = after.iter().filter(|line| !before.contains(line)).collect();
                panic!("the host is not as it was: gone {gone:#?}, new {new:#?}");
            }
            std::thread::sleep(Duration::from_millis(500));
        }
    }
}

fn look(host: &PrivateHost, namespaces: usize) -> String {
    let text = host.run(["bash", "-c", LOOK, "look", &namespaces.to_string()]).stdout;
    assert!(
        text.contains("cni0") && text.contains("CNI-HOSTPORT-DNAT") || text.contains("cni_hostport"),
        "{text}"
    );
    text
}
