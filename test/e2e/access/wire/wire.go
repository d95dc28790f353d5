// Package wire shows what client-go would send, without a connection.
package wire

import (
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"

	"golang.org/x/net/http/httpguts"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
)

// Seen is what a server would see of a request.
type Seen struct {
	Header      map[string][]string `json:"header,omitempty"`
	Certificate string              `json:"certificate,omitempty"`
}

// server stands where the connection would be: a request comes in as it would leave.
type server struct {
	transport *http.Transport
	seen      *Seen
}

// Tap makes the config's requests end in seen.
func Tap(config *rest.Config, seen *Seen) {
	config.WrapTransport = func(inner http.RoundTripper) http.RoundTripper {
		for {
			wrapped, ok := inner.(utilnet.RoundTripperWrapper)
			if !ok {
				break
			}
			inner = wrapped.WrappedRoundTripper()
		}
		return server{inner.(*http.Transport), seen}
	}
}

func (s server) RoundTrip(request *http.Request) (*http.Response, error) {
	// http.Transport refuses these.
	for name, values := range request.Header {
		for _, value := range values {
			if !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
				return nil, fmt.Errorf("invalid header %s", name)
			}
		}
	}
	s.seen.Header = map[string][]string{}
	for name, values := range request.Header {
		s.seen.Header[strings.ToLower(name)] = values
	}
	if config := s.transport.TLSClientConfig; config != nil && config.GetClientCertificate != nil {
		pair, err := config.GetClientCertificate(&tls.CertificateRequestInfo{})
		if err != nil {
			return nil, err
		}
		if len(pair.Certificate) > 0 {
			sum := sha256.Sum256(pair.Certificate[0])
			s.seen.Certificate = hex.EncodeToString(sum[:])
		}
	}
	return &http.Response{StatusCode: 200, Body: http.NoBody, Request: request}, nil
}
