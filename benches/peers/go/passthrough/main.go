// A plugin on Go's skel whose ADD gives the prevResult back. The equal of ../../../src/bin/passthrough.rs.
package main

import (
	"encoding/json"
	"errors"

	"github.com/containernetworking/cni/pkg/skel"
	"github.com/containernetworking/cni/pkg/types"
	"github.com/containernetworking/cni/pkg/version"
)

func add(args *skel.CmdArgs) error {
	conf := types.NetConf{}
	if err := json.Unmarshal(args.StdinData, &conf); err != nil {
		return err
	}
	if err := version.ParsePrevResult(&conf); err != nil {
		return err
	}
	if conf.PrevResult == nil {
		return errors.New("there is no prevResult")
	}
	return types.PrintResult(conf.PrevResult, conf.CNIVersion)
}

func done(*skel.CmdArgs) error { return nil }

func main() {
	skel.PluginMain(add, done, done, version.All, "gives the prevResult back")
}
