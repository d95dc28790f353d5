package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"os"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
)

const protobufType = "application/vnd.kubernetes.protobuf"

var (
	inProtobuf = protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)
	events     = protobuf.NewRawSerializer(scheme.Scheme, scheme.Scheme)
	patches    atomic.Int64
)

// An object in both encodings; of the hub's kind there is no protobuf.
type object struct {
	json, protobuf []byte
	typed          *corev1.ConfigMap
}

// A cluster with one kind of object.
type apiServer struct {
	sync.Mutex
	kind, plural, group string
	version             int
	names               []string
	objects             map[string]object
	watchers            map[chan []byte]bool // whether in protobuf
}

func newServer(kind, plural, group string) *apiServer {
	return &apiServer{kind: kind, plural: plural, group: group, version: 1, objects: map[string]object{}, watchers: map[chan []byte]bool{}}
}

func encode(o runtime.Object, serializer runtime.Encoder) []byte {
	var buffer bytes.Buffer
	must(serializer.Encode(o, &buffer))
	return buffer.Bytes()
}

// frame is one event of a watch. In protobuf it has its length before it.
func frame(kind string, o object, asProtobuf bool) []byte {
	if !asProtobuf {
		return fmt.Appendf(nil, `{"type":%q,"object":%s}`+"\n", kind, o.json)
	}
	event := encode(&metav1.WatchEvent{Type: kind, Object: runtime.RawExtension{Raw: o.protobuf}}, events)
	size := len(event)
	return append([]byte{byte(size >> 24), byte(size >> 16), byte(size >> 8), byte(size)}, event...)
}

func (c *apiServer) put(name string, o object, kind string) {
	if _, known := c.objects[name]; !known {
		c.names = append(c.names, name)
	}
	c.objects[name] = o
	for watcher, asProtobuf := range c.watchers {
		watcher <- frame(kind, o, asProtobuf)
	}
}

// set writes a ConfigMap of a kibibyte, with the managedFields that an API server adds.
func (c *apiServer) set(name, at string) {
	c.Lock()
	defer c.Unlock()
	c.version++
	kind := "MODIFIED"
	if _, known := c.objects[name]; !known {
		kind = "ADDED"
	}
	fields := `{"f:data":{".":{},"f:at":{},"f:v":{}},"f:metadata":{"f:annotations":{".":{},"f:team":{}},"f:labels":{".":{},"f:app":{}}}}`
	now := metav1.NewTime(time.Unix(1_790_000_000, 0))
	configMap := &corev1.ConfigMap{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "bench", UID: "7f0c6d1e-9b1a-4c55-8f0e-3d2a1b0c9e8f", ResourceVersion: strconv.Itoa(c.version),
			CreationTimestamp: now, Labels: map[string]string{"app": name}, Annotations: map[string]string{"team": "fleet"},
			ManagedFields: []metav1.ManagedFieldsEntry{{
				Manager: "bench", Operation: "Apply", APIVersion: "v1", Time: &now, FieldsType: "FieldsV1", FieldsV1: &metav1.FieldsV1{Raw: []byte(fields)},
			}},
		},
		Data: map[string]string{"at": at, "v": strings.Repeat("setting: "+name+"\n", 1024/(10+len(name)))},
	}
	text, err := json.Marshal(configMap)
	must(err)
	c.put(name, object{text, encode(configMap, inProtobuf), configMap}, kind)
}

func (c *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	asProtobuf := c.kind == "ConfigMap" && r.Method != http.MethodPatch && strings.HasPrefix(r.Header.Get("Accept"), protobufType)
	w.Header().Set("Content-Type", "application/json")
	if asProtobuf {
		w.Header().Set("Content-Type", protobufType)
	}
	name, isObject := strings.CutPrefix(r.URL.Path, c.group+"/namespaces/bench/"+c.plural+"/")
	switch {
	case r.URL.Path == c.group:
		w.Header().Set("Content-Type", "application/json")
		_, version, _ := strings.Cut(strings.TrimPrefix(c.group, "/api"), "/")
		version = strings.TrimPrefix(version, "/")
		fmt.Fprintf(w, `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":%q,"resources":[{"name":%q,"kind":%q,"namespaced":true,"verbs":["get","list","watch","patch"]}]}`, version, c.plural, c.kind)
	case r.URL.Path == "/api":
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"kind":"APIVersions","versions":["v1"]}`)
	case r.URL.Path == "/apis":
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"kind":"APIGroupList","apiVersion":"v1","groups":[]}`)
	case r.URL.Path == "/version":
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"major":"1","minor":"37","gitVersion":"v1.37.0"}`)
	case isObject:
		if r.Method == http.MethodPatch {
			must2(io.Copy(io.Discard, r.Body))
			patches.Add(1)
		}
		c.Lock()
		o, known := c.objects[name]
		c.Unlock()
		if !known {
			http.NotFound(w, r)
		} else if asProtobuf {
			w.Write(o.protobuf)
		} else {
			w.Write(o.json)
		}
	case strings.HasSuffix(r.URL.Path, "/"+c.plural) && query.Get("watch") != "":
		c.watch(w, r.Context(), query.Get("sendInitialEvents") == "true", asProtobuf)
	case strings.HasSuffix(r.URL.Path, "/"+c.plural):
		c.list(w, query.Get("limit"), query.Get("continue"), asProtobuf)
	default:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)
	}
}

func must2[T any](_ T, err error) { must(err) }

func (c *apiServer) list(w io.Writer, limit, from string, asProtobuf bool) {
	c.Lock()
	defer c.Unlock()
	begin, _ := strconv.Atoi(from)
	end := len(c.names)
	next := ""
	if count, _ := strconv.Atoi(limit); count > 0 && begin+count < end {
		end = begin + count
		next = strconv.Itoa(end)
	}
	if asProtobuf {
		list := &corev1.ConfigMapList{ListMeta: metav1.ListMeta{ResourceVersion: strconv.Itoa(c.version), Continue: next}}
		for _, name := range c.names[begin:end] {
			list.Items = append(list.Items, *c.objects[name].typed)
		}
		list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMapList"))
		must(inProtobuf.Encode(list, w))
		return
	}
	fmt.Fprintf(w, `{"kind":"%sList","apiVersion":%q,"metadata":{"resourceVersion":"%d","continue":%q},"items":[`, c.kind, "v1", c.version, next)
	for i, name := range c.names[begin:end] {
		if i > 0 {
			io.WriteString(w, ",")
		}
		w.Write(c.objects[name].json)
	}
	io.WriteString(w, "]}")
}

func (c *apiServer) bookmark(ends bool) object {
	configMap := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{ResourceVersion: strconv.Itoa(c.version)}}
	configMap.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	if ends {
		configMap.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	}
	text, err := json.Marshal(configMap)
	must(err)
	return object{text, encode(configMap, inProtobuf), configMap}
}

func (c *apiServer) watch(w http.ResponseWriter, ctx context.Context, initial, asProtobuf bool) {
	if asProtobuf {
		w.Header().Set("Content-Type", protobufType+";stream=watch")
	}
	changes := make(chan []byte, 65_536)
	c.Lock()
	c.watchers[changes] = asProtobuf
	var first []object
	if initial {
		for _, name := range c.names {
			first = append(first, c.objects[name])
		}
	}
	end := c.bookmark(true)
	c.Unlock()
	defer func() {
		c.Lock()
		delete(c.watchers, changes)
		c.Unlock()
	}()
	flusher := w.(http.Flusher)
	if initial {
		buffered := bufio.NewWriterSize(w, 65_536)
		for _, o := range first {
			buffered.Write(frame("ADDED", o, asProtobuf))
		}
		buffered.Write(frame("BOOKMARK", end, asProtobuf))
		must(ignore(buffered.Flush()))
	}
	flusher.Flush()
	ticker := time.NewTicker(time.Minute)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case bytes := <-changes:
			w.Write(bytes)
		case <-ticker.C:
			c.Lock()
			bookmark := c.bookmark(false)
			c.Unlock()
			w.Write(frame("BOOKMARK", bookmark, asProtobuf))
		}
		flusher.Flush()
	}
}

// A client that leaves is no failure of the server.
func ignore(error) error { return nil }

func certificate() (tls.Certificate, string) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "bench"}, NotAfter: time.Now().Add(24 * time.Hour), IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	must(err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

// serve COUNT:OBJECTS... makes so many clusters of so many objects, and a hub with their profiles. It says where they are. Each
// line of its input, "update COUNT PER-SECOND", changes objects of all clusters in turn.
func serve(sizes []string) {
	chain, ca := certificate()
	listen := func(c *apiServer) string {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		must(err)
		server := &http.Server{Handler: c, TLSConfig: &tls.Config{Certificates: []tls.Certificate{chain}}, ErrorLog: log.New(io.Discard, "", 0)}
		go server.ServeTLS(listener, "", "")
		return "https://" + listener.Addr().String()
	}
	var clusters []*apiServer
	var servers []string
	hub := newServer("ClusterProfile", "clusterprofiles", "/apis/multicluster.x-k8s.io/v1alpha1")
	for _, size := range sizes {
		var count, objects int
		must2(fmt.Sscanf(size, "%d:%d", &count, &objects))
		for range count {
			c := newServer("ConfigMap", "configmaps", "/api/v1")
			for i := range objects {
				c.set(fmt.Sprintf("map-%d", i), "")
			}
			server := listen(c)
			profile, err := json.Marshal(map[string]any{
				"apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "ClusterProfile",
				"metadata": map[string]any{"namespace": "bench", "name": fmt.Sprintf("c-%d", len(clusters)), "resourceVersion": "1", "uid": strconv.Itoa(len(clusters))},
				"spec":     map[string]any{"clusterManager": map[string]any{"name": "bench"}},
				"status": map[string]any{"accessProviders": []any{map[string]any{
					"name": "bench", "cluster": map[string]any{"server": server, "certificate-authority-data": []byte(ca)},
				}}},
			})
			must(err)
			hub.put(fmt.Sprintf("c-%d", len(clusters)), object{json: profile}, "ADDED")
			clusters = append(clusters, c)
			servers = append(servers, server)
		}
	}
	say(map[string]any{"hub": listen(hub), "servers": servers, "ca": ca})
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var count, rate int
		must2(fmt.Sscanf(lines.Text(), "update %d %d", &count, &rate))
		began := time.Now()
		for i := range count {
			time.Sleep(time.Until(began.Add(time.Duration(i) * time.Second / time.Duration(rate))))
			c := clusters[i%len(clusters)]
			c.set(c.names[i/len(clusters)%len(c.names)], strconv.FormatInt(time.Now().UnixMicro(), 10))
		}
		say(map[string]any{"patches": patches.Load()})
	}
}

func middle(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sort.Float64s(values)
	return values[len(values)/2]
}
