// Reads lines of {"file", "profile"} and prints the rest.Config that the Go library makes of each, or why it makes none.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	"sigs.k8s.io/cluster-inventory-api/apis/v1alpha1"
	"sigs.k8s.io/cluster-inventory-api/pkg/access"
)

type result struct {
	Error       string            `json:"error,omitempty"`
	Host        string            `json:"host,omitempty"`
	CA          []byte            `json:"ca,omitempty"`
	Proxy       string            `json:"proxy,omitempty"`
	APIVersion  string            `json:"apiVersion,omitempty"`
	Command     string            `json:"command,omitempty"`
	Args        []string          `json:"args,omitempty"`
	Env         map[string]string `json:"env,omitempty"`
	ClusterInfo bool              `json:"provideClusterInfo,omitempty"`
	Config      json.RawMessage   `json:"config,omitempty"`
}

func build(line []byte) (out result) {
	// A panic of the library's is an answer, too.
	defer func() {
		if problem := recover(); problem != nil {
			out = result{Error: fmt.Sprint("panic: ", problem)}
		}
	}()
	var input struct {
		File    json.RawMessage
		Profile v1alpha1.ClusterProfile
	}
	if err := json.Unmarshal(line, &input); err != nil {
		return result{Error: err.Error()}
	}
	var file access.Config
	if err := json.Unmarshal(input.File, &file); err != nil {
		return result{Error: err.Error()}
	}
	config, err := access.New(file.Providers).BuildConfigFromCP(&input.Profile)
	if err != nil {
		return result{Error: err.Error()}
	}
	exec := config.ExecProvider
	out = result{Host: config.Host, CA: config.CAData, APIVersion: exec.APIVersion, Command: exec.Command,
		Args: exec.Args, Env: map[string]string{}, ClusterInfo: exec.ProvideClusterInfo}
	for _, variable := range exec.Env {
		out.Env[variable.Name] = variable.Value
	}
	if proxy, err := config.Proxy(&http.Request{}); err == nil && proxy != nil {
		out.Proxy = proxy.String()
	}
	if unknown, ok := exec.Config.(*runtime.Unknown); ok && unknown != nil && !reflect.ValueOf(unknown).IsNil() {
		out.Config = unknown.Raw
	}
	return out
}

func main() {
	klog.SetOutput(devNull{})
	klog.LogToStderr(false)
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(make([]byte, 0, 1<<22), 1<<22)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	encoder := json.NewEncoder(out)
	for in.Scan() {
		if err := encoder.Encode(build(in.Bytes())); err != nil {
			panic(err)
		}
	}
}

type devNull struct{}

func (devNull) Write(text []byte) (int, error) { return len(text), nil }
