// An informer of client-go's for the ConfigMaps of a namespace: informer KUBECONFIG NAMESPACE json|protobuf|metadata.
// With metadata it is an informer of metadata only, in protobuf.
// It says when it has synced, and then answers each line of its input: "count" with what it has used and seen since the line
// before, "dump" with the versions in its cache.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

// usage is the CPU that this process has used, in seconds, and the most memory that it had, in MB. The maximum of getrusage is not
// this process's alone: it begins with the memory of the one that forked it.
func usage() (float64, float64) {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		panic(err)
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		panic(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	var peak float64
	if _, err := fmt.Sscan(rest, &peak); err != nil {
		panic(err)
	}
	return float64(used.Utime.Sec+used.Stime.Sec) + float64(used.Utime.Usec+used.Stime.Usec)/1e6, peak / 1024
}

func heap() float64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return float64(stats.HeapAlloc)
}

func main() {
	config, err := clientcmd.BuildConfigFromFlags("", os.Args[1])
	if err != nil {
		panic(err)
	}
	config.QPS = -1
	stop := make(chan struct{})
	if os.Args[3] == "metadata" {
		client := metadata.NewForConfigOrDie(metadata.ConfigFor(config))
		maps := corev1.SchemeGroupVersion.WithResource("configmaps")
		if _, err := client.Resource(maps).Namespace(os.Args[2]).List(context.Background(), metav1.ListOptions{Limit: 1}); err != nil {
			panic(err)
		}
		factory := metadatainformer.NewFilteredSharedInformerFactory(client, 0, os.Args[2], nil)
		run(factory.ForResource(maps).Informer(), stop)
		return
	}
	// Where nothing is said it asks for protobuf, and for JSON as the second best.
	config.ContentType = "application/" + os.Args[3]
	if os.Args[3] == "protobuf" {
		config.ContentType = "application/vnd.kubernetes.protobuf"
	}
	config.AcceptContentTypes = config.ContentType
	client := kubernetes.NewForConfigOrDie(config)
	// As the others: there is a connection before it begins.
	if _, err := client.CoreV1().ConfigMaps(os.Args[2]).List(context.Background(), metav1.ListOptions{Limit: 1}); err != nil {
		panic(err)
	}
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(os.Args[2]))
	run(factory.Core().V1().ConfigMaps().Informer(), stop)
}

func run(informer cache.SharedIndexInformer, stop chan struct{}) {
	// What ours leaves out, too.
	informer.SetTransform(func(object interface{}) (interface{}, error) {
		if accessor, err := meta.Accessor(object); err == nil {
			accessor.SetManagedFields(nil)
		}
		return object, nil
	})
	var events atomic.Int64
	count := func(interface{}) { events.Add(1) }
	informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    count,
		UpdateFunc: func(_, object interface{}) { count(object) },
		DeleteFunc: count,
	})
	out := json.NewEncoder(os.Stdout)
	before := heap()
	began := time.Now()
	used, start := usage()
	go informer.Run(stop)
	cache.WaitForCacheSync(stop, informer.HasSynced)
	objects := len(informer.GetStore().ListKeys())
	for int(events.Load()) < objects {
		time.Sleep(time.Millisecond)
	}
	seconds := time.Since(began).Seconds()
	cpu, peak := usage()
	out.Encode(map[string]float64{
		"seconds": seconds, "cpu": cpu - used, "objects": float64(objects), "start": start, "peak": peak,
		"heap": (heap() - before) / float64(max(objects, 1)),
	})
	events.Store(0)
	used, _ = usage()
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		switch lines.Text() {
		case "count":
			cpu, peak := usage()
			out.Encode(map[string]float64{"events": float64(events.Load()), "cpu": cpu - used, "peak": peak})
		case "reset":
			events.Store(0)
			used, _ = usage()
			out.Encode(map[string]float64{})
		case "dump":
			versions := map[string]string{}
			for _, object := range informer.GetStore().List() {
				size := 0
				if configMap, ok := object.(*corev1.ConfigMap); ok {
					size = len(configMap.Data["v"])
				}
				accessor, err := meta.Accessor(object)
				if err != nil {
					panic(err)
				}
				versions[accessor.GetNamespace()+"/"+accessor.GetName()] = accessor.GetResourceVersion() + " " + string(accessor.GetUID()) + " " + strconv.Itoa(size)
			}
			out.Encode(map[string]interface{}{"objects": versions})
		}
	}
	close(stop)
}
