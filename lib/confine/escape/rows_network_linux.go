package escape

func networkRows() []Row {
	const gone = "ECONNREFUSED|closed"
	return []Row{
		{ID: "CON-P65", What: "with an empty list reach services of the host", Kind: Boundary, Tries: []Try{
			always("ECONNREFUSED", "connect", "127.0.0.1:$OPEN"),
			always("ECONNREFUSED", "connect", "$ADDRESS:$OPEN"),
			always("ok", "loopback"),
			always("NXDOMAIN", "dns", "$NAME", "A"),
		}},
		{ID: "CON-P66", What: "reach a listed host by its name", Kind: Boundary, Terms: listed, Tries: []Try{
			always("ok", "connect-name", "$NAME", "$OPEN", "A"),
			always("ok", "connect", "127.0.0.1:$LOCAL"),
			always("NOERROR 1", "dns", "localhost", "A"),
		}},
		{ID: "CON-P67", What: "reach a listed host's outside address without its name", Kind: Boundary, Terms: listed, Tries: []Try{
			always("closed", "connect", "$NAMED:$OPEN"),
		}},
		{ID: "CON-P68", What: "reach an unlisted address on a listed port", Kind: Boundary, Terms: listed, Tries: []Try{
			always("closed", "connect", "192.0.2.1:$OPEN"),
		}},
		{ID: "CON-P69", What: "reach a listed host on an unlisted port", Kind: Boundary, Terms: listed, Tries: []Try{
			always("ECONNREFUSED", "connect-name", "$NAME", "$CLOSED", "A"),
		}},
		{ID: "CON-P70", What: "name a listed host to an unlisted address", Kind: Boundary, Terms: listed, Tries: []Try{
			always("closed", "connect-saying", "192.0.2.1:$OPEN", "GET / HTTP/1.1\r\nHost: $NAME\r\n\r\n"),
			always("closed", "connect-saying", "192.0.2.1:$OPEN", "CONNECT $NAME:$OPEN HTTP/1.1\r\n\r\n"),
		}},
		{ID: "CON-P71", What: "resolve a listed name twice", Kind: Boundary, Terms: listed, Tries: []Try{
			always("ok", "connect-name", "$NAME", "$OPEN", "A"),
		}},
		{ID: "CON-P72", What: "carry bytes out in a question", Kind: Boundary, Terms: listed, Tries: []Try{
			always("NXDOMAIN", "dns", "secret.$NAME", "A"),
			always("NXDOMAIN", "dns", "secret.example", "A"),
			always("NXDOMAIN", "dns", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb.cccccccccccccccccccccccccccccccccccccccccccccccccc.dddddddddddddddddddddddddddddddddddddddddd.example", "A"),
		}},
		{ID: "CON-P73", What: "ask for other records of a listed name", Kind: Boundary, Terms: listed, Tries: []Try{
			always("NOERROR 0", "dns", "$NAME", "TXT"),
			always("NOERROR 0", "dns", "$NAME", "MX"),
			always("NOERROR 0", "dns", "$NAME", "ANY"),
		}},
		{ID: "CON-P74", What: "ask a public resolver", Kind: Boundary, Terms: listed, Tries: []Try{
			always("NOERROR 1", "dns", "$NAME", "A", "192.0.2.53:53"),
		}},
		{ID: "CON-P75", What: "send datagrams outside", Kind: Boundary, Terms: listed, special: datagrams},
		{ID: "CON-P76", What: "IPv6", Kind: Boundary, Terms: listed, Tries: []Try{
			always(gone+"|ENETUNREACH|EADDRNOTAVAIL", "connect", "[2001:db8::1]:$OPEN"),
			always(gone+"|ENETUNREACH|EADDRNOTAVAIL", "connect", "[::ffff:192.0.2.1]:$OPEN"),
			always("ok", "connect-name", "$NAME", "$OPEN", "$AAAA"),
		}},
		{ID: "CON-P77", What: "raw and ICMP sockets", Kind: Boundary, Tries: []Try{
			refused("EPERM", "socket", "2", "3", "1"),
			refused("EPERM|EACCES", "socket", "2", "2", "1"),
		}},
		{ID: "CON-P78", What: "other families of sockets", Kind: Boundary, Tries: []Try{
			refused("EACCES", "socket", "16", "3", "0"), refused("EACCES", "socket", "17", "3", "0"),
			refused("EPERM", "socket", "40", "1", "0"), refused("EPERM", "socket", "38", "5", "0"),
			refused("EPERM", "socket", "31", "3", "0"), refused("EPERM", "socket", "30", "5", "0"),
		}},
		{ID: "CON-P79", What: "200 connections at once", Kind: Boundary, Terms: listed, Tries: []Try{
			always("ok:128", "crowd", "127.0.0.1:$LOCAL", "200"),
		}},
		{ID: "CON-P80", What: "the interfaces, and an address more", Kind: Boundary, Tries: []Try{
			always("ok:lo", "interfaces"),
			{Do: []string{"add-address"}, Scoped: "EPERM|EACCES", Sealed: "EPERM|EACCES", Control: []string{"loopback"}},
		}},
		{ID: "CON-P81", What: "the 17th listed port", Kind: Boundary, Terms: crowded, Tries: []Try{
			always("ECONNREFUSED", "connect", "127.0.0.1:$SEVENTEENTH"),
			always("ok", "connect", "127.0.0.1:$FIRST"),
		}},
	}
}

func socketRows() []Row {
	return []Row{
		{ID: "CON-P82", What: "connect to a socket of the host by path", Kind: Boundary, Tries: []Try{
			refused("socket: EACCES", "unix", "$SOCKET"),
		}},
		{ID: "CON-P83", What: "connect to an abstract socket of the host", Kind: Boundary, Tries: []Try{
			refused("socket: EACCES", "unix", "$ABSTRACT"),
		}},
		{ID: "CON-P84", What: "the same with unix_sockets", Kind: Boundary, Terms: sockets, Tries: []Try{
			{Do: []string{"unix", "$ABSTRACT"}, Advisory: "ECONNREFUSED|EPERM", Scoped: "ECONNREFUSED|EPERM", Sealed: "ECONNREFUSED|EPERM", Control: []string{"socket", "1", "1", "0"}},
		}},
		{ID: "CON-P85", What: "send to a socket of the host from a datagram pair", Kind: Boundary, Tries: []Try{
			{Do: []string{"datagram-pair", "$SOCKET"}, Scoped: "socketpair: EACCES", Sealed: "socketpair: EACCES", Control: []string{"pass"}},
		}},
		{ID: "CON-P86", What: "pass a descriptor through a stream pair", Kind: Boundary, Tries: []Try{
			always("ok", "pass"),
		}},
	}
}
