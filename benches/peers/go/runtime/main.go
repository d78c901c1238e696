// A runtime on Go's libcni: `runtime add|gc <conf dir> <plugin dir> <cache dir> <network>`.
//
// `gc` removes every cached attachment: this version of libcni has no GC of its own.
package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/containernetworking/cni/libcni"
)

type cached struct {
	ContainerID string `json:"containerId"`
	IfName      string `json:"ifName"`
	NetworkName string `json:"networkName"`
}

func main() {
	command, confDir, pluginDir, cacheDir, name := os.Args[1], os.Args[2], os.Args[3], os.Args[4], os.Args[5]
	list, err := libcni.LoadConfList(confDir, name)
	check(err)
	client := libcni.NewCNIConfigWithCacheDir([]string{pluginDir}, cacheDir, nil)
	if command == "add" {
		rt := &libcni.RuntimeConf{ContainerID: "bench", NetNS: "/run/netns/none", IfName: "eth0"}
		result, err := client.AddNetworkList(context.Background(), list, rt)
		check(err)
		check(result.Print())
		return
	}
	dir := filepath.Join(cacheDir, "results")
	entries, err := os.ReadDir(dir)
	check(err)
	for _, entry := range entries {
		text, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		check(err)
		stale := cached{}
		check(json.Unmarshal(text, &stale))
		if stale.NetworkName != name {
			continue
		}
		rt := &libcni.RuntimeConf{ContainerID: stale.ContainerID, IfName: stale.IfName}
		check(client.DelNetworkList(context.Background(), list, rt))
	}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
