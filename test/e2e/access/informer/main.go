// An informer of client-go's for the ConfigMaps of a namespace: informer KUBECONFIG NAMESPACE json|protobuf.
// It says when it has synced, and then answers each line of its input: "count" with what it has used and seen since the line
// before, "dump" with the versions in its cache.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"runtime"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

// usage is the CPU that this process has used, in seconds, and the most memory that it had, in MB.
func usage() (float64, float64) {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		panic(err)
	}
	return float64(used.Utime.Sec+used.Stime.Sec) + float64(used.Utime.Usec+used.Stime.Usec)/1e6, float64(used.Maxrss) / 1024
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
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0,
		informers.WithNamespace(os.Args[2]),
		// What ours leaves out, too.
		informers.WithTransform(func(object interface{}) (interface{}, error) {
			if configMap, ok := object.(*corev1.ConfigMap); ok {
				configMap.ManagedFields = nil
			}
			return object, nil
		}))
	informer := factory.Core().V1().ConfigMaps().Informer()
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
	used, _ := usage()
	stop := make(chan struct{})
	factory.Start(stop)
	factory.WaitForCacheSync(stop)
	objects := len(informer.GetStore().ListKeys())
	for int(events.Load()) < objects {
		time.Sleep(time.Millisecond)
	}
	seconds := time.Since(began).Seconds()
	cpu, peak := usage()
	out.Encode(map[string]float64{
		"seconds": seconds, "cpu": cpu - used, "objects": float64(objects), "peak": peak,
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
				configMap := object.(*corev1.ConfigMap)
				versions[configMap.Namespace+"/"+configMap.Name] = configMap.ResourceVersion + " " + string(configMap.UID) + " " + strconv.Itoa(len(configMap.Data["v"]))
			}
			out.Encode(map[string]interface{}{"objects": versions})
		}
	}
	close(stop)
}
