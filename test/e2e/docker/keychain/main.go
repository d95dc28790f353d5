// Reads lines of {"config": a config.json, "images": [name]} and prints, for each image, the login that crane and that Docker
// find in it: [{"crane": "user password", "docker": "user password"}], empty where they find none.
package main

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"github.com/distribution/reference"
	"github.com/docker/cli/cli/config"
	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
)

type logins struct {
	Crane  string `json:"crane"`
	Docker string `json:"docker"`
}

func main() {
	folder, err := os.MkdirTemp("", "docker-config-")
	check(err)
	defer os.RemoveAll(folder)
	// DefaultKeychain reads a file, and looks at these for where it is.
	check(os.Setenv("HOME", folder))
	check(os.Setenv("DOCKER_CONFIG", folder))
	check(os.Unsetenv("DOCKER_AUTH_CONFIG"))
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(make([]byte, 0, 1<<20), 1<<20)
	out := json.NewEncoder(os.Stdout)
	for in.Scan() {
		var input struct {
			Config string
			Images []string
		}
		check(json.Unmarshal(in.Bytes(), &input))
		check(os.WriteFile(filepath.Join(folder, "config.json"), []byte(input.Config), 0o600))
		found := []logins{}
		for _, image := range input.Images {
			found = append(found, logins{crane(image), docker(input.Config, image)})
		}
		check(out.Encode(found))
	}
	check(in.Err())
}

func crane(image string) string {
	repository, err := name.NewRepository(image)
	check(err)
	authenticator, err := authn.DefaultKeychain.Resolve(repository)
	check(err)
	auth, err := authenticator.Authorization()
	check(err)
	return login(auth.Username, auth.Password)
}

// Docker looks for the registry of an image only.
func docker(content, image string) string {
	file, err := config.LoadFromReader(strings.NewReader(content))
	check(err)
	named, err := reference.ParseNormalizedNamed(image)
	check(err)
	auth, err := file.GetAuthConfig(reference.Domain(named))
	check(err)
	return login(auth.Username, auth.Password)
}

func login(username, password string) string {
	if username == "" && password == "" {
		return ""
	}
	return username + " " + password
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
