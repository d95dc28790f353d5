// Reads lines of {"pattern", "image"} and prints what the kubelet's own code makes of each: true or false.
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
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for in.Scan() {
		var pair struct{ Pattern, Image string }
		if err := json.Unmarshal(in.Bytes(), &pair); err != nil {
			panic(err)
		}
		matched, err := credentialprovider.URLsMatchStr(pair.Pattern, pair.Image)
		if matched && err == nil {
			out.WriteString("true\n")
		} else {
			out.WriteString("false\n")
		}
	}
}
