package egress

import (
	"net/netip"

	"golang.org/x/net/dns/dnsmessage"
)

// ttl of every answer in seconds (CON-226).
const ttl = 60

// answer replies to one DNS message. Nil means that there is nothing to reply to:
// no header could be read. Listed names get their synthetic addresses, other
// types of a listed name an empty answer, everything else NXDOMAIN; anything but
// one well-formed question is FORMERR (CON-225, CON-226).
func answer(n *Names, msg []byte, ipv6 bool) []byte {
	var p dnsmessage.Parser
	h, err := p.Start(msg)
	if err != nil || h.Response {
		return nil
	}
	reply := dnsmessage.Header{ID: h.ID, Response: true, OpCode: h.OpCode, RecursionDesired: h.RecursionDesired, RecursionAvailable: true}
	q, err := p.Question()
	if err == nil {
		if _, second := p.Question(); second != dnsmessage.ErrSectionDone {
			err = dnsmessage.ErrSectionDone
		}
	}
	if err != nil || h.OpCode != 0 {
		reply.RCode = dnsmessage.RCodeFormatError
		return pack(reply, nil, nil)
	}
	pair, listed := n.lookup(q.Name.String())
	switch {
	case !listed:
		reply.RCode = dnsmessage.RCodeNameError
		return pack(reply, &q, nil)
	case q.Class != dnsmessage.ClassINET:
		return pack(reply, &q, nil)
	case q.Type == dnsmessage.TypeA:
		return pack(reply, &q, &pair[0])
	case q.Type == dnsmessage.TypeAAAA && ipv6:
		return pack(reply, &q, &pair[1])
	default:
		return pack(reply, &q, nil)
	}
}

func pack(h dnsmessage.Header, q *dnsmessage.Question, addr *netip.Addr) []byte {
	b := dnsmessage.NewBuilder(nil, h)
	b.EnableCompression()
	if q != nil {
		if b.StartQuestions() != nil || b.Question(*q) != nil {
			return nil
		}
	}
	if addr != nil {
		rh := dnsmessage.ResourceHeader{Name: q.Name, Class: dnsmessage.ClassINET, TTL: ttl}
		if b.StartAnswers() != nil {
			return nil
		}
		var err error
		if addr.Is4() {
			err = b.AResource(rh, dnsmessage.AResource{A: addr.As4()})
		} else {
			err = b.AAAAResource(rh, dnsmessage.AAAAResource{AAAA: addr.As16()})
		}
		if err != nil {
			return nil
		}
	}
	out, err := b.Finish()
	if err != nil {
		return nil
	}
	return out
}
