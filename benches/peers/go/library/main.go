// What Go's library takes for a piece of work: `library <work> <times>`, the input on stdin; prints nanoseconds a time.
// The equal of ../../../src/bin/library.rs.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/containernetworking/cni/pkg/types"
	_ "github.com/containernetworking/cni/pkg/types/020"
	_ "github.com/containernetworking/cni/pkg/types/040"
	_ "github.com/containernetworking/cni/pkg/types/100"
	"github.com/containernetworking/cni/pkg/types/create"
)

type attachment struct {
	ContainerID string `json:"containerID"`
	IfName      string `json:"ifname"`
}

type gcRequest struct {
	types.NetConf
	ValidAttachments []attachment `json:"cni.dev/valid-attachments"`
}

func result(input []byte) error {
	result, err := create.CreateFromBytes(input)
	if err != nil {
		return err
	}
	old, err := result.GetAsVersion("0.4.0")
	if err != nil {
		return err
	}
	return old.PrintTo(io.Discard)
}

func gc(input []byte) error {
	request := gcRequest{}
	if err := json.Unmarshal(input, &request); err != nil {
		return err
	}
	if len(request.ValidAttachments) == 0 {
		return fmt.Errorf("no attachments")
	}
	return nil
}

func main() {
	work := map[string]func([]byte) error{"result": result, "gc": gc}[os.Args[1]]
	times, err := strconv.Atoi(os.Args[2])
	if err != nil {
		panic(err)
	}
	input, err := io.ReadAll(os.Stdin)
	if err != nil {
		panic(err)
	}
	start := time.Now()
	for i := 0; i < times; i++ {
		if err := work(input); err != nil {
			panic(err)
		}
	}
	fmt.Println(float64(time.Since(start).Nanoseconds()) / float64(times))
}
