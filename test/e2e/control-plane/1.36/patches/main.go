// Reads lines of {"type", "object", "patch"} and prints what the API server's own code makes of each: {"result"} or {"code"}.
package main

import (
	"bufio"
	"encoding/json"
	"net/http"
	"os"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
)

const panicked = 599

type example struct {
	Type          string
	Object, Patch json.RawMessage
}

// What the code panics at is a 500 too.
func apply(given example) (result json.RawMessage, code int) {
	defer func() {
		if recover() != nil {
			code = panicked
		}
	}()
	if given.Type == "json" {
		patch, err := jsonpatch.DecodePatch(given.Patch)
		if err != nil {
			return nil, http.StatusBadRequest
		}
		result, err := patch.Apply(given.Object)
		if err != nil {
			return nil, http.StatusUnprocessableEntity
		}
		return result, 0
	}
	result, err := jsonpatch.MergePatch(given.Object, given.Patch)
	if err != nil {
		return nil, http.StatusBadRequest
	}
	return result, 0
}

func main() {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(make([]byte, 0, 1<<20), 1<<26)
	out := json.NewEncoder(os.Stdout)
	for in.Scan() {
		var given example
		if err := json.Unmarshal(in.Bytes(), &given); err != nil {
			panic(err)
		}
		result, code := apply(given)
		if code != 0 {
			out.Encode(map[string]int{"code": code})
		} else {
			out.Encode(map[string]json.RawMessage{"result": result})
		}
	}
}
