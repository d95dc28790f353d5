// Reads lines of {"answers": [{key: user name}], "image"} and prints the user names that the kubelet's keyring finds.
package main

import (
	"bufio"
	"encoding/json"
	"os"

	"k8s.io/kubernetes/pkg/credentialprovider"
)

func main() {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(make([]byte, 0, 1<<20), 1<<20)
	out := json.NewEncoder(os.Stdout)
	for in.Scan() {
		var input struct {
			Answers []map[string]string
			Image   string
		}
		if err := json.Unmarshal(in.Bytes(), &input); err != nil {
			panic(err)
		}
		keyring := &credentialprovider.BasicDockerKeyring{}
		for _, answer := range input.Answers {
			config := credentialprovider.DockerConfig{}
			for key, name := range answer {
				config[key] = credentialprovider.DockerConfigEntry{Username: name, Password: "x"}
			}
			keyring.Add(nil, config)
		}
		found, _ := keyring.Lookup(input.Image)
		names := []string{}
		for _, one := range found {
			names = append(names, one.Username)
		}
		if err := out.Encode(names); err != nil {
			panic(err)
		}
	}
}
