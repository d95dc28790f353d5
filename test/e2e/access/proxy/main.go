// Reads lines of {"proxy", "noProxy", "server"} and prints the proxy that Go takes for the server, "none" or "error".
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/url"
	"os"

	"golang.org/x/net/http/httpproxy"
)

func proxyFor(line []byte) string {
	var input struct{ Proxy, NoProxy, Server string }
	if err := json.Unmarshal(line, &input); err != nil {
		return "error"
	}
	server, err := url.Parse(input.Server)
	if err != nil {
		return "error"
	}
	config := httpproxy.Config{HTTPSProxy: input.Proxy, HTTPProxy: input.Proxy, NoProxy: input.NoProxy}
	proxy, err := config.ProxyFunc()(server)
	if err != nil {
		return "error"
	}
	if proxy == nil {
		return "none"
	}
	return proxy.Scheme + "://" + proxy.Host
}

func main() {
	in := bufio.NewScanner(os.Stdin)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for in.Scan() {
		answer, err := json.Marshal(proxyFor(in.Bytes()))
		if err != nil {
			panic(err)
		}
		fmt.Fprintln(out, string(answer))
	}
}
