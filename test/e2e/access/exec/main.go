// Reads lines of {"kubeconfig", "answer"}: text, and what the plugin prints. Prints for each what client-go tells the
// plugin, and what two requests carry afterwards, or why it sends none.
package main

import (
	"bufio"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"

	"clusterprofile-credentials/access/wire"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/klog/v2"
)

type result struct {
	// Why the kubeconfig is refused, or the request.
	ConfigError string            `json:"configError,omitempty"`
	Error       string            `json:"error,omitempty"`
	Command     string            `json:"command,omitempty"`
	Args        []string          `json:"args,omitempty"`
	Env         map[string]string `json:"env,omitempty"`
	// KUBERNETES_EXEC_INFO of each run.
	Runs []json.RawMessage `json:"runs,omitempty"`
	wire.Seen
}

// What the plugin does: it notes what it was told, and prints the answer.
const script = `printf '%s\0' "$KUBERNETES_EXEC_INFO" >>"$CASE.runs"; cat "$CASE.answer"`

func build(line []byte, folder string, index int) (out result) {
	var input struct{ Kubeconfig, Answer string }
	if err := json.Unmarshal(line, &input); err != nil {
		return result{ConfigError: err.Error()}
	}
	loader, err := clientcmd.NewClientConfigFromBytes([]byte(input.Kubeconfig))
	if err != nil {
		return result{ConfigError: err.Error()}
	}
	config, err := loader.ClientConfig()
	if err != nil {
		return result{ConfigError: err.Error()}
	}
	name := filepath.Join(folder, strconv.Itoa(index))
	if exec := config.ExecProvider; exec != nil {
		out.Command, out.Args, out.Env = exec.Command, exec.Args, map[string]string{}
		for _, variable := range exec.Env {
			out.Env[variable.Name] = variable.Value
		}
		exec.Command, exec.Args = "/bin/sh", []string{"-c", script}
		exec.Env = []clientcmdapi.ExecEnvVar{{Name: "CASE", Value: name}}
		if err := os.WriteFile(name+".answer", []byte(input.Answer), 0o600); err != nil {
			panic(err)
		}
		defer os.Remove(name + ".answer")
		defer os.Remove(name + ".runs")
	}
	wire.Tap(config, &out.Seen)
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		out.ConfigError = err.Error()
		return out
	}
	for range 2 {
		// An expired credential is fetched again for the second.
		request, err := http.NewRequest("GET", "https://server/", nil)
		if err != nil {
			panic(err)
		}
		if _, err := client.Do(request); err != nil {
			out.Error = err.Error()
			break
		}
	}
	runs, _ := os.ReadFile(name + ".runs")
	for _, run := range strings.Split(string(runs), "\x00") {
		if run != "" {
			out.Runs = append(out.Runs, json.RawMessage(run))
		}
	}
	return out
}

func main() {
	klog.LogToStderr(false)
	folder, err := os.MkdirTemp("", "exec-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(folder)
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(make([]byte, 0, 1<<22), 1<<22)
	var lines [][]byte
	for in.Scan() {
		lines = append(lines, append([]byte(nil), in.Bytes()...))
	}
	results := make([]result, len(lines))
	next := make(chan int)
	var group sync.WaitGroup
	for range 2 * runtime.NumCPU() {
		group.Go(func() {
			for index := range next {
				results[index] = build(lines[index], folder, index)
			}
		})
	}
	for index := range lines {
		next <- index
	}
	close(next)
	group.Wait()
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	encoder := json.NewEncoder(out)
	for _, one := range results {
		if err := encoder.Encode(one); err != nil {
			panic(err)
		}
	}
}
