# Prints what a host and its containers have, in sections. A section starts with a line of `##`, its kind and its place.
# With "kernel" as its argument it looks at more than files.

if [[ $1 == kernel ]]; then
    look() {
        echo "## links $1"; ip -d -j link show; echo
        echo "## addresses $1"; ip -j addr show; echo
        echo "## routes $1"; ip -4 route show; ip -6 route show
        echo "## settings $1"
        grep -s . /proc/sys/net/ipv4/ip_forward /proc/sys/net/ipv6/conf/all/forwarding /proc/sys/net/core/somaxconn \
            /proc/sys/net/ipv4/ip_nonlocal_bind /proc/sys/net/ipv4/ip_local_port_range \
            /proc/sys/net/ipv4/conf/*/{arp_notify,log_martians,route_localnet,rp_filter} \
            /proc/sys/net/ipv6/conf/*/{accept_dad,accept_ra,disable_ipv6,enhanced_dad,keep_addr_on_down}
    }
    look host
    for name in $(ip netns list | cut -d' ' -f1 | sort); do
        ip netns exec "$name" bash -c "$(declare -f look); look $name"
    done
    echo "## iptables host"; iptables-save
    echo "## ip6tables host"; ip6tables-save
    echo "## nft host"
    for table in bridge\ nat inet\ cni_plugins_masquerade ip\ cni_hostport ip6\ cni_hostport; do
        nft list table $table 2>/dev/null
    done
fi

echo "## files host"
find /var/lib/cni /run/cni -printf '%M %p\n' -type f -exec bash -c 'printf "%q" "$(head -c 1000 "$0" | tr -d "\\0")"; echo' {} \; 2>/dev/null |
    while read -r mode path; do
        case $mode in
            -*) read -r content; echo "$mode $path $content" ;;
            *) echo "$mode $path" ;;
        esac
    done | sort
true
