#!/bin/sh
# The IPAM plugin of a conformance run: writes down how it was called, then answers or has a real plugin answer.
home=@HOME@
real=@REAL@
mark=@MARK@

# What the shell finds in its own environment need not be what it was given; the kernel knows.
# A directory can be made once, so that each call has its own; the file only says from where on it is worth trying.
call=0
if [ -e "$home/last" ]; then read -r call <"$home/last"; fi
while
    call=$((call + 1))
    ! command -p mkdir "$home/calls/$call" 2>/dev/null
do
    if [ "$call" -gt 100000 ]; then exit 1; fi
done
echo "$call" >"$home/last"
command -p cat "/proc/$$/environ" >"$home/calls/$call/environ"
command -p cat >"$home/calls/$call/stdin"
if [ -n "$mark" ]; then printf '%s\n' "$mark" >&2; fi

if [ -e "$home/fail/$CNI_COMMAND" ]; then
    command -p cat "$home/fail/$CNI_COMMAND"
    exit 1
fi

if [ -n "$real" ]; then
    "$real" <"$home/calls/$call/stdin" >"$home/calls/$call/stdout"
    status=$?
    command -p cat "$home/calls/$call/stdout"
    exit "$status"
fi

owner="$CNI_CONTAINERID $CNI_IFNAME"
case "$CNI_COMMAND" in
ADD)
    # .1 is the gateway's.
    number=2
    while ! command -p mkdir "$home/leases/$number" 2>/dev/null; do
        number=$((number + 1))
        if [ "$number" -gt 254 ]; then
            printf '%s' '{"cniVersion":"1.0.0","code":111,"msg":"no address is left"}'
            exit 1
        fi
    done
    printf '%s' "$owner" >"$home/leases/$number/owner"
    # The file is a format.
    printf "$(command -p cat "$home/result")" "$number" >"$home/calls/$call/stdout"
    command -p cat "$home/calls/$call/stdout"
    ;;
DEL)
    for lease in "$home/leases"/*; do
        if [ "$(command -p cat "$lease/owner" 2>/dev/null)" = "$owner" ]; then command -p rm -r "$lease"; fi
    done
    ;;
VERSION)
    printf '%s' '{"cniVersion":"1.0.0","supportedVersions":["0.1.0","0.2.0","0.3.0","0.3.1","0.4.0","1.0.0","1.1.0"]}'
    ;;
esac
exit 0
