// Docker's own library of credential helpers, on both sides of one. Called with an action (get, list ...) it is a helper on
// their server side, whose logins are in the file LOGINS: {host: [user name, secret]}. Without one it reads lines of
// {"helper", "env", "action", "serverURL"}, calls the helper (itself where it is empty) with their client, and prints what the
// client makes of it.
package main

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"sync"

	"github.com/docker/docker-credential-helpers/client"
	"github.com/docker/docker-credential-helpers/credentials"
	"github.com/docker/docker-credential-helpers/registryurl"
)

func main() {
	if len(os.Args) > 1 {
		serve()
	} else {
		ask()
	}
}

type logins map[string][2]string

func (l logins) Add(*credentials.Credentials) error { return os.ErrPermission }
func (l logins) Delete(string) error                { return os.ErrPermission }

func (l logins) Get(serverURL string) (string, string, error) {
	parsed, err := registryurl.Parse(serverURL)
	if err != nil {
		return "", "", err
	}
	usual := ":443"
	if parsed.Scheme == "http" {
		usual = ":80"
	}
	found, ok := l[strings.ToLower(strings.TrimSuffix(parsed.Host, usual))]
	if !ok {
		return "", "", credentials.NewErrCredentialsNotFound()
	}
	return found[0], found[1], nil
}

func (l logins) List() (map[string]string, error) {
	all := map[string]string{}
	for host, login := range l {
		switch host {
		case "docker.io", "registry-1.docker.io":
		case "index.docker.io":
			all["https://index.docker.io/v1/"] = login[0]
		default:
			all[host] = login[0]
		}
	}
	return all, nil
}

func serve() {
	content, err := os.ReadFile(os.Getenv("LOGINS"))
	check(err)
	var known logins
	check(json.Unmarshal(content, &known))
	credentials.Name = "docker-credential-reference"
	credentials.Serve(known)
}

type question struct {
	Helper, Action, ServerURL string
	Env                       map[string]string
}

type result struct {
	Credentials *credentials.Credentials `json:"credentials,omitempty"`
	List        map[string]string        `json:"list,omitempty"`
	Problem     string                   `json:"problem,omitempty"`
	Said        string                   `json:"said,omitempty"`
}

func ask() {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(make([]byte, 0, 1<<20), 1<<20)
	questions := []question{}
	for in.Scan() {
		var one question
		check(json.Unmarshal(in.Bytes(), &one))
		questions = append(questions, one)
	}
	check(in.Err())
	results := make([]result, len(questions))
	places := make(chan struct{}, 4)
	var waiting sync.WaitGroup
	for index, one := range questions {
		waiting.Go(func() {
			places <- struct{}{}
			results[index] = call(one)
			<-places
		})
	}
	waiting.Wait()
	out := json.NewEncoder(os.Stdout)
	for _, one := range results {
		check(out.Encode(one))
	}
}

func call(one question) result {
	helper := one.Helper
	if helper == "" {
		own, err := os.Executable()
		check(err)
		helper = own
	}
	program := client.NewShellProgramFuncWithEnv(helper, &one.Env)
	switch one.Action {
	case "list":
		found, err := client.List(program)
		return result{List: found, Problem: problem(err)}
	case "store":
		err := client.Store(program, &credentials.Credentials{ServerURL: one.ServerURL, Username: "u", Secret: "s"})
		return result{Problem: problem(err)}
	case "erase":
		return result{Problem: problem(client.Erase(program, one.ServerURL))}
	case "get":
		found, err := client.Get(program, one.ServerURL)
		return result{Credentials: found, Problem: problem(err)}
	default:
		// The client knows no other; the program is called as it would.
		command := program(one.Action)
		command.Input(strings.NewReader(one.ServerURL))
		out, err := command.Output()
		if err != nil {
			return result{Problem: "another error"}
		}
		return result{Said: string(out)}
	}
}

func problem(err error) string {
	switch {
	case err == nil:
		return ""
	case credentials.IsErrCredentialsNotFound(err):
		return "not found"
	case strings.Contains(err.Error(), credentials.NewErrCredentialsMissingServerURL().Error()):
		return "no server URL"
	default:
		return "another error"
	}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
