// resolver stands in a chain and adds name resolution to the result: the servers of the configuration, or those that the
// runtime asks for, and the search domain of the pod's namespace. It keeps them in a file for each attachment.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/containernetworking/cni/pkg/skel"
	"github.com/containernetworking/cni/pkg/types"
	current "github.com/containernetworking/cni/pkg/types/100"
	"github.com/containernetworking/cni/pkg/version"
)

type netConf struct {
	types.NetConf
	Nameservers   []string `json:"nameservers"`
	StateDir      string   `json:"stateDir"`
	RuntimeConfig struct {
		DNS struct {
			Servers []string `json:"servers"`
		} `json:"dns"`
	} `json:"runtimeConfig"`
}

type podArgs struct {
	types.CommonArgs
	K8S_POD_NAMESPACE types.UnmarshallableString
}

func load(stdin []byte) (*netConf, error) {
	conf := &netConf{}
	if err := json.Unmarshal(stdin, conf); err != nil {
		return nil, types.NewError(types.ErrInvalidNetworkConfig, "cannot read the configuration", err.Error())
	}
	if conf.StateDir == "" {
		return nil, types.NewError(types.ErrInvalidNetworkConfig, "stateDir is missing", "")
	}
	if err := version.ParsePrevResult(&conf.NetConf); err != nil {
		return nil, err
	}
	return conf, nil
}

func file(conf *netConf, args *skel.CmdArgs) string {
	return filepath.Join(conf.StateDir, args.ContainerID+"-"+args.IfName)
}

func cmdAdd(args *skel.CmdArgs) error {
	conf, err := load(args.StdinData)
	if err != nil {
		return err
	}
	if conf.PrevResult == nil {
		return types.NewError(types.ErrInvalidNetworkConfig, "resolver must stand behind another plugin", "")
	}
	result, err := current.NewResultFromResult(conf.PrevResult)
	if err != nil {
		return err
	}
	pod := podArgs{}
	if err := types.LoadArgs(args.Args, &pod); err != nil {
		return err
	}
	servers := conf.Nameservers
	if len(conf.RuntimeConfig.DNS.Servers) > 0 {
		servers = conf.RuntimeConfig.DNS.Servers
	}
	if len(servers) == 0 {
		return types.NewError(100, "no name server", "neither in the configuration nor from the runtime")
	}
	result.DNS.Nameservers = append(result.DNS.Nameservers, servers...)
	if pod.K8S_POD_NAMESPACE != "" {
		result.DNS.Search = append(result.DNS.Search, string(pod.K8S_POD_NAMESPACE)+".svc.cluster.local")
	}
	if err := os.WriteFile(file(conf, args), []byte(strings.Join(servers, "\n")), 0o644); err != nil {
		return fmt.Errorf("cannot keep the name servers: %w", err)
	}
	return types.PrintResult(result, conf.CNIVersion)
}

func cmdDel(args *skel.CmdArgs) error {
	conf, err := load(args.StdinData)
	if err != nil {
		return err
	}
	if err := os.Remove(file(conf, args)); err != nil && !os.IsNotExist(err) {
		return err
	}
	return nil
}

func cmdCheck(args *skel.CmdArgs) error {
	conf, err := load(args.StdinData)
	if err != nil {
		return err
	}
	if _, err := os.Stat(file(conf, args)); err != nil {
		return fmt.Errorf("the name servers are gone: %w", err)
	}
	return nil
}

func main() {
	skel.PluginMain(cmdAdd, cmdCheck, cmdDel, version.PluginSupports("0.3.1", "0.4.0", "1.0.0"), "resolver v0.1")
}
