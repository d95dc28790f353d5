// Reads lines of {"files", "env", "context"}: a small machine. Prints for each what clientcmd connects with there, or why it
// does not. The service account's folder of client-go has been moved to "serviceaccount" in the working directory (-overlay).
package main

import (
	"bufio"
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"clusterprofile-credentials/access/wire"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
)

type execConfig struct {
	APIVersion      string            `json:"apiVersion"`
	Command         string            `json:"command"`
	Args            []string          `json:"args"`
	Env             map[string]string `json:"env"`
	InteractiveMode string            `json:"interactiveMode"`
}

type result struct {
	Error              string      `json:"error,omitempty"`
	Namespace          string      `json:"namespace,omitempty"`
	Host               string      `json:"host,omitempty"`
	CA                 []byte      `json:"ca,omitempty"`
	Insecure           bool        `json:"insecure,omitempty"`
	ServerName         string      `json:"serverName,omitempty"`
	Proxy              string      `json:"proxy,omitempty"`
	DisableCompression bool        `json:"disableCompression,omitempty"`
	Exec               *execConfig `json:"exec,omitempty"`
	// What a request carries that is not the plugin's.
	wire.Seen
}

var variables = []string{"KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT", "POD_NAMESPACE"}

func load(line []byte, folder string) (out result) {
	var input struct {
		Files   map[string]string
		Env     map[string]string
		Context string
	}
	must(json.Unmarshal([]byte(strings.ReplaceAll(string(line), "$DIR", folder)), &input))
	must(os.MkdirAll(folder, 0o755))
	must(os.Chdir(folder))
	for name, text := range input.Files {
		must(os.MkdirAll(filepath.Dir(name), 0o755))
		must(os.WriteFile(name, []byte(text), 0o644))
	}
	for _, name := range variables {
		must(os.Unsetenv(name))
	}
	for name, value := range input.Env {
		must(os.Setenv(name, value))
	}
	clientcmd.RecommendedHomeFile = filepath.Join(folder, "home", ".kube", "config")
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	overrides := &clientcmd.ConfigOverrides{CurrentContext: input.Context}
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides)
	config, err := loader.ClientConfig()
	if err != nil {
		return result{Error: err.Error()}
	}
	namespace, _, err := loader.Namespace()
	if err != nil {
		return result{Error: err.Error()}
	}
	out = result{Namespace: namespace, Host: config.Host, Insecure: config.Insecure, ServerName: config.ServerName}
	out.DisableCompression = config.DisableCompression
	if config.Proxy != nil {
		proxy, err := config.Proxy(&http.Request{URL: &url.URL{}})
		must(err)
		out.Proxy = proxy.String()
	}
	if exec := config.ExecProvider; exec != nil {
		mode := string(exec.InteractiveMode)
		out.Exec = &execConfig{exec.APIVersion, exec.Command, append([]string{}, exec.Args...), map[string]string{}, mode}
		for _, variable := range exec.Env {
			out.Exec.Env[variable.Name] = variable.Value
		}
		config.ExecProvider = nil
	}
	wire.Tap(config, &out.Seen)
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return result{Error: err.Error()}
	}
	if config.CAData != nil {
		out.CA = config.CAData
	} else if config.CAFile != "" {
		out.CA, err = os.ReadFile(config.CAFile)
		must(err)
	}
	request, err := http.NewRequest("GET", "https://server/", nil)
	must(err)
	if _, err := client.Do(request); err != nil {
		return result{Error: err.Error()}
	}
	return out
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	klog.LogToStderr(false)
	temporary, err := os.MkdirTemp("", "kubeconfigs-")
	must(err)
	defer os.RemoveAll(temporary)
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(make([]byte, 0, 1<<22), 1<<22)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for index := 0; in.Scan(); index++ {
		// client-go caches by path.
		folder := filepath.Join(temporary, strconv.Itoa(index))
		line, err := json.Marshal(load(in.Bytes(), folder))
		must(err)
		must(os.Chdir(temporary))
		must(os.RemoveAll(folder))
		_, err = out.WriteString(strings.ReplaceAll(string(line), folder, "$DIR") + "\n")
		must(err)
	}
}
