package provider

import (
	"context"
	"net"
	"net/http"
	"time"
)

// Server is a Handler that listens on a loopback port.
type Server struct {
	*Handler
	// URL is the scheme and authority it answers at.
	URL string

	server *http.Server
	end    context.CancelFunc
	served chan struct{}
}

// Start makes one that listens at addr, such as "127.0.0.1:8080"; "" picks a
// free port. The caller closes it.
func Start(addr string, opt Options) (*Server, error) {
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	ctx, end := context.WithCancel(context.Background())
	s := &Server{Handler: New(opt), URL: "http://" + l.Addr().String(), end: end, served: make(chan struct{})}
	s.server = &http.Server{
		Handler:           s.Handler,
		ReadHeaderTimeout: 30 * time.Second,
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
	go func() {
		defer close(s.served)
		_ = s.server.Serve(l) // ends with ErrServerClosed
	}()
	return s, nil
}

// Base is what gateway.endpoint is set to: the URL to which clients of the
// protocol add their path.
func (s *Server) Base() string {
	if s.opt.Wire == OpenAI {
		return s.URL + "/v1"
	}
	return s.URL
}

// Close ends every answer, those that hang included, and stops listening.
func (s *Server) Close() {
	s.end()
	_ = s.server.Close()
	<-s.served
}
