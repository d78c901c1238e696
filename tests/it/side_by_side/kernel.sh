# Prints what the kernel has in the places that are its arguments, `host` and containers, in sections. A section starts
# with a line of `##`, its kind and its place. The first argument is a script that prints more.
more=$1
shift

# Patterns of names: each namespace has its own links.
settings="
    /proc/sys/net/core/somaxconn
    /proc/sys/net/ipv4/{ip_forward,ip_local_port_range,ip_nonlocal_bind}
    /proc/sys/net/ipv4/conf/*/{arp_notify,log_martians,route_localnet,rp_filter}
    /proc/sys/net/ipv6/conf/all/forwarding
    /proc/sys/net/ipv6/conf/*/{accept_dad,accept_ra,disable_ipv6,enhanced_dad,keep_addr_on_down,ndisc_notify}
"
look_at_settings="grep -s . ${settings//$'\n'/}"

look() {
    local place=$1
    shift
    echo "## links $place"
    ip "$@" -d -j addr show
    echo
    echo "## routes $place"
    ip "$@" -4 route show
    ip "$@" -6 route show
    echo "## more $place"
    eval "$more"
    echo "## settings $place"
}

for place; do
    if [[ $place == host ]]; then
        look host
        eval "$look_at_settings"
        echo "## iptables host"
        iptables-save
        echo "## ip6tables host"
        ip6tables-save
        echo "## nft host"
        # Without what iptables made.
        nft list ruleset |
            awk '/^table /{ own = $2 == "bridge" || $3 !~ /^(filter|mangle|nat|raw|security)$/ } own'
    elif [[ -e /run/netns/$place ]]; then
        look "$place" -n "$place"
        nsenter --net="/run/netns/$place" bash -c "$look_at_settings"
    fi
done
