// named is an IPAM plugin that gives a pod the address which the configuration has for its name.
package main

import (
	"encoding/json"
	"fmt"
	"net"

	"github.com/containernetworking/cni/pkg/skel"
	"github.com/containernetworking/cni/pkg/types"
	current "github.com/containernetworking/cni/pkg/types/100"
	"github.com/containernetworking/cni/pkg/version"
)

type netConf struct {
	types.NetConf
	IPAM struct {
		Addresses map[string]types.IPNet `json:"addresses"`
		Gateway   net.IP                 `json:"gateway"`
	} `json:"ipam"`
}

type podArgs struct {
	types.CommonArgs
	K8S_POD_NAME types.UnmarshallableString
}

func load(args *skel.CmdArgs) (*netConf, error) {
	conf := &netConf{}
	if err := json.Unmarshal(args.StdinData, conf); err != nil {
		return nil, types.NewError(types.ErrInvalidNetworkConfig, "cannot read the configuration", err.Error())
	}
	return conf, nil
}

func address(conf *netConf, args *skel.CmdArgs) (net.IPNet, error) {
	pod := podArgs{}
	if err := types.LoadArgs(args.Args, &pod); err != nil {
		return net.IPNet{}, err
	}
	found, ok := conf.IPAM.Addresses[string(pod.K8S_POD_NAME)]
	if !ok {
		return net.IPNet{}, types.NewError(110, fmt.Sprintf("no address for pod %q", pod.K8S_POD_NAME), "")
	}
	return net.IPNet(found), nil
}

func cmdAdd(args *skel.CmdArgs) error {
	conf, err := load(args)
	if err != nil {
		return err
	}
	found, err := address(conf, args)
	if err != nil {
		return err
	}
	result := &current.Result{
		CNIVersion: current.ImplementedSpecVersion,
		IPs:        []*current.IPConfig{{Address: found, Gateway: conf.IPAM.Gateway}},
	}
	return types.PrintResult(result, conf.CNIVersion)
}

func cmdDel(args *skel.CmdArgs) error {
	return nil
}

func cmdCheck(args *skel.CmdArgs) error {
	conf, err := load(args)
	if err != nil {
		return err
	}
	found, err := address(conf, args)
	if err != nil {
		return err
	}
	if err := version.ParsePrevResult(&conf.NetConf); err != nil {
		return err
	}
	result, err := current.NewResultFromResult(conf.PrevResult)
	if err != nil {
		return err
	}
	for _, ip := range result.IPs {
		if ip.Address.String() == found.String() {
			return nil
		}
	}
	return fmt.Errorf("the container has not got %s", found.String())
}

func main() {
	skel.PluginMain(cmdAdd, cmdCheck, cmdDel, version.All, "named v0.1")
}
