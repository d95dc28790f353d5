// Reads a list of ClusterProfiles from stdin, builds a rest.Config for each with the provider file that is the argument, and prints whom
// each cluster takes the caller for.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/cluster-inventory-api/apis/v1alpha1"
	"sigs.k8s.io/cluster-inventory-api/pkg/access"
)

func must[T any](value T, err error) T {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return value
}

func main() {
	config := must(access.NewFromFile(os.Args[1]))
	var list v1alpha1.ClusterProfileList
	must(0, json.NewDecoder(os.Stdin).Decode(&list))
	for _, profile := range list.Items {
		built := must(config.BuildConfigFromCP(&profile))
		client := must(rest.HTTPClientFor(built))
		body := `{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}`
		url := built.Host + "/apis/authentication.k8s.io/v1/selfsubjectreviews"
		answer := must(client.Post(url, "application/json", strings.NewReader(body)))
		text := must(io.ReadAll(answer.Body))
		if answer.StatusCode != http.StatusCreated {
			must(0, fmt.Errorf("%s: %s", profile.Name, text))
		}
		var review struct{ Status struct{ UserInfo struct{ Username string } } }
		must(0, json.Unmarshal(text, &review))
		fmt.Println(profile.Namespace+"/"+profile.Name, review.Status.UserInfo.Username)
	}
}
