package tools

import (
	"sync"

	"github.com/mur-capsules/mur/lib/policy"
	"github.com/mur-capsules/mur/lib/wasmhost"
	"github.com/mur-capsules/mur/lib/wasmhost/outbound"
)

// Clients hold one HTTP client for each guest, under that guest's rules, so that
// connections outlive a call. The zero value is ready for use.
type Clients struct {
	mu     sync.Mutex
	byName map[string]*outbound.Client
}

// Of returns the client of the guest with a full name. No rules, no client: a
// nil wasmhost.HTTP denies every request.
func (c *Clients) Of(name string, rules policy.Rules) wasmhost.HTTP {
	if len(rules) == 0 {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byName == nil {
		c.byName = map[string]*outbound.Client{}
	}
	if c.byName[name] == nil {
		c.byName[name] = outbound.New(rules, outbound.Options{})
	}
	return c.byName[name]
}

// Close ends idle connections.
func (c *Clients) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, client := range c.byName {
		client.Close()
	}
}
