package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

func resident() float64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		panic(err)
	}
	var size, pages float64
	if _, err := fmt.Sscan(string(text), &size, &pages); err != nil {
		panic(err)
	}
	return pages * float64(os.Getpagesize())
}

func sockets() (count float64) {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		panic(err)
	}
	for _, entry := range entries {
		if target, err := os.Readlink("/proc/self/fd/" + entry.Name()); err == nil && strings.HasPrefix(target, "socket:") {
			count++
		}
	}
	return count
}

// watches opens so many watches of one namespace, changes it, and waits until each has told of it.
func watches(client *kubernetes.Clientset, count int, name string) {
	ctx := context.Background()
	namespace, err := client.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		panic(err)
	}
	before, began, used := resident(), time.Now(), cpu()
	options := metav1.ListOptions{FieldSelector: "metadata.name=" + name, ResourceVersion: namespace.ResourceVersion}
	var opened, told sync.WaitGroup
	for i := 0; i < count; i++ {
		opened.Add(1)
		told.Add(1)
		go func() {
			watch, err := client.CoreV1().Namespaces().Watch(ctx, options)
			if err != nil {
				panic(err)
			}
			opened.Done()
			<-watch.ResultChan()
			told.Done()
		}()
	}
	opened.Wait()
	figures := map[string]float64{
		"open":    time.Since(began).Seconds() * 1e3,
		"cpu":     (cpu() - used) * 1e6 / float64(count),
		"memory":  (resident() - before) / float64(count),
		"sockets": sockets(),
	}
	changed := time.Now()
	patch := []byte(fmt.Sprintf(`{"metadata":{"labels":{"changed":"go-%d"}}}`, changed.UnixNano()))
	if _, err := client.CoreV1().Namespaces().Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		panic(err)
	}
	told.Wait()
	figures["event"] = time.Since(changed).Seconds() * 1e3
	json.NewEncoder(os.Stdout).Encode(figures)
}
