// What the bench of controllers needs in Go: "controllers serve ..." is an API server that is never the bottleneck, "controllers
// run ..." a controller of controller-runtime's with one cache for each cluster, as multicluster-runtime has it.
package main

import (
	"encoding/json"
	"os"
)

var out = json.NewEncoder(os.Stdout)

func say(line any) { must(out.Encode(line)) }

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	switch os.Args[1] {
	case "serve":
		serve(os.Args[2:])
	case "run":
		run(os.Args[2])
	}
}
