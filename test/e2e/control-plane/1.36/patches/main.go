// Reads lines of {"type", "kind", "object", "patch"} and prints what the API server's own code makes of each: {"result"} or {"code"}.
package main

import (
	"bufio"
	"encoding/json"
	"net/http"
	"os"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	admission "k8s.io/api/admissionregistration/v1"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/mergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

var kinds = map[string]any{
	"Pod":                            core.Pod{},
	"Deployment":                     apps.Deployment{},
	"Service":                        core.Service{},
	"ServiceAccount":                 core.ServiceAccount{},
	"Node":                           core.Node{},
	"ValidatingWebhookConfiguration": admission.ValidatingWebhookConfiguration{},
}

const panicked = 599

type example struct {
	Type, Kind    string
	Object, Patch json.RawMessage
}

// What the code panics at is a 500 too.
func apply(given example) (result json.RawMessage, code int) {
	defer func() {
		if recover() != nil {
			code = panicked
		}
	}()
	switch given.Type {
	case "json":
		patch, err := jsonpatch.DecodePatch(given.Patch)
		if err != nil {
			return nil, http.StatusBadRequest
		}
		result, err := patch.Apply(given.Object)
		if err != nil {
			return nil, http.StatusUnprocessableEntity
		}
		return result, 0
	case "merge":
		result, err := jsonpatch.MergePatch(given.Object, given.Patch)
		if err != nil {
			return nil, http.StatusBadRequest
		}
		return result, 0
	}
	var object, patch strategicpatch.JSONMap
	if json.Unmarshal(given.Object, &object) != nil || json.Unmarshal(given.Patch, &patch) != nil {
		return nil, http.StatusBadRequest
	}
	merged, err := strategicpatch.StrategicMergeMapPatch(object, patch, kinds[given.Kind])
	switch err {
	case nil:
		result, err := json.Marshal(merged)
		if err != nil {
			panic(err)
		}
		return result, 0
	case mergepatch.ErrBadPatchFormatForPrimitiveList, mergepatch.ErrBadPatchFormatForRetainKeys, mergepatch.ErrBadPatchFormatForSetElementOrderList:
		return nil, http.StatusBadRequest
	case mergepatch.ErrNoListOfLists, mergepatch.ErrPatchContentNotMatchRetainKeys:
		return nil, http.StatusUnprocessableEntity
	}
	return nil, http.StatusInternalServerError
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
