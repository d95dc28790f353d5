package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

type settings struct {
	Hub, Ca, Command string
	Servers          []string
	Protobuf, Apply  bool
	Marks            []int
	Concurrency      int
}

// multicluster-runtime's.
type request struct {
	cluster int
	reconcile.Request
}

func (s settings) config(server string) *rest.Config {
	config := &rest.Config{Host: server, TLSClientConfig: rest.TLSClientConfig{CAData: []byte(s.Ca)}, QPS: -1}
	config.ExecProvider = &clientcmdapi.ExecConfig{APIVersion: "client.authentication.k8s.io/v1", Command: s.Command, InteractiveMode: "Never"}
	if s.Protobuf {
		config.ContentType = protobufType
		config.AcceptContentTypes = protobufType + ",application/json"
	} else {
		config.ContentType = "application/json"
		config.AcceptContentTypes = "application/json"
	}
	return config
}

// run SETTINGS says when a cluster's first object, and when so many objects, have been reconciled. To each line of its input it
// answers how many reconciles there were since the last, and how late they were after an update (the median, in milliseconds).
func run(given string) {
	var s settings
	must(json.Unmarshal([]byte(given), &s))
	log.SetLogger(logr.Discard())
	ctx := context.Background()
	hub, err := manager.New(s.config(s.Hub), manager.Options{Metrics: server.Options{BindAddress: "0"}})
	must(err)
	var clusters sync.Map
	var lock sync.Mutex
	count, total := 0, 0
	first := map[int]bool{}
	var late []float64
	noted := func(r request, at string) {
		lock.Lock()
		defer lock.Unlock()
		count++
		total++
		if !first[r.cluster] {
			first[r.cluster] = true
			say(map[string]any{"first": r.cluster})
		}
		for _, mark := range s.Marks {
			if mark == total {
				say(map[string]any{"mark": mark})
			}
		}
		if micros, err := strconv.ParseInt(at, 10, 64); err == nil {
			late = append(late, float64(time.Now().UnixMicro()-micros)/1e3)
		}
	}
	reconciler := reconcile.TypedFunc[request](func(ctx context.Context, r request) (reconcile.Result, error) {
		found, _ := clusters.Load(r.cluster)
		c := found.(cluster.Cluster).GetClient()
		var object corev1.ConfigMap
		if err := c.Get(ctx, r.NamespacedName, &object); err != nil {
			return reconcile.Result{}, client.IgnoreNotFound(err)
		}
		if s.Apply {
			desired := applycorev1.ConfigMap(r.Name, r.Namespace).WithLabels(map[string]string{"app": r.Name}).WithData(map[string]string{"seen": string(object.UID)})
			if err := c.Apply(ctx, desired, client.ForceOwnership, client.FieldOwner("bench")); err != nil {
				fmt.Fprintln(os.Stderr, err)
				return reconcile.Result{}, err
			}
		}
		noted(r, object.Data["at"])
		return reconcile.Result{}, nil
	})
	c, err := controller.NewTyped("bench", hub, controller.TypedOptions[request]{
		Reconciler: reconciler, MaxConcurrentReconciles: s.Concurrency,
	})
	must(err)
	go func() { must(hub.Start(ctx)) }()
	<-hub.Elected()
	for index, address := range s.Servers {
		go func() {
			// What ours leaves out, too.
			strip := func(o *cluster.Options) {
				o.Scheme = scheme.Scheme
				o.Cache = cache.Options{DefaultTransform: cache.TransformStripManagedFields()}
			}
			made, err := cluster.New(s.config(address), strip)
			must(err)
			clusters.Store(index, made)
			go func() { must(made.Start(ctx)) }()
			enqueue := handler.TypedEnqueueRequestsFromMapFunc(func(_ context.Context, o *corev1.ConfigMap) []request {
				return []request{{index, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(o)}}}
			})
			must(c.Watch(source.TypedKind(made.GetCache(), &corev1.ConfigMap{}, enqueue)))
		}()
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		lock.Lock()
		say(map[string]any{"reconciles": count, "late": middle(late)})
		count, late = 0, nil
		lock.Unlock()
	}
}
