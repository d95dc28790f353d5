// Lists namespaces through client-go's exec authenticator: bench KUBECONFIG REQUESTS WORKERS ROUNDS, a line of JSON for each round.
// With a fifth argument, get or apply, the dynamic client does that with the ConfigMap default/bench.
// Watches a namespace: bench KUBECONFIG watches COUNT NAMESPACE, a line of JSON.
package main

import (
	"context"
	"encoding/json"
	"os"
	"sort"
	"strconv"
	"sync"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

func number(index int) int {
	value, err := strconv.Atoi(os.Args[index])
	if err != nil {
		panic(err)
	}
	return value
}

// cpu is what this process has used, in seconds.
func cpu() float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return float64(usage.Utime.Sec+usage.Stime.Sec) + float64(usage.Utime.Usec+usage.Stime.Usec)/1e6
}

func dynamicCall(client dynamic.Interface, verb string) func() error {
	maps := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace("default")
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1",
		"kind":       "ConfigMap",
		"metadata":   map[string]any{"name": "bench"},
		"data":       map[string]any{"colour": "red"},
	}}
	return func() (err error) {
		if verb == "get" {
			_, err = maps.Get(context.Background(), "bench", metav1.GetOptions{})
		} else {
			_, err = maps.Apply(context.Background(), "bench", object, metav1.ApplyOptions{FieldManager: "bench", Force: true})
		}
		return err
	}
}

func main() {
	config, err := clientcmd.BuildConfigFromFlags("", os.Args[1])
	if err != nil {
		panic(err)
	}
	// The client's own limit of five requests a second is no part of the comparison.
	config.QPS = -1
	client := kubernetes.NewForConfigOrDie(config)
	if os.Args[2] == "watches" {
		watches(client, number(3), os.Args[4])
		return
	}
	requests, workers, rounds := number(2), number(3), number(4)
	send := func() error {
		_, err := client.CoreV1().Namespaces().List(context.Background(), metav1.ListOptions{})
		return err
	}
	if len(os.Args) > 5 {
		send = dynamicCall(dynamic.NewForConfigOrDie(config), os.Args[5])
	}
	for round := 0; round < rounds; round++ {
		began, used := time.Now(), cpu()
		var group sync.WaitGroup
		latencies := make([]float64, requests/workers*workers)
		for worker := 0; worker < workers; worker++ {
			group.Add(1)
			go func() {
				defer group.Done()
				for i := 0; i < requests/workers; i++ {
					sent := time.Now()
					if err := send(); err != nil {
						panic(err)
					}
					latencies[worker*(requests/workers)+i] = time.Since(sent).Seconds() * 1e3
				}
			}()
		}
		group.Wait()
		sort.Float64s(latencies)
		json.NewEncoder(os.Stdout).Encode(map[string]float64{
			"p50":     latencies[len(latencies)/2],
			"p99":     latencies[len(latencies)*99/100],
			"seconds": time.Since(began).Seconds() / float64(requests),
			"cpu":     (cpu() - used) * 1e6 / float64(requests),
		})
	}
}
