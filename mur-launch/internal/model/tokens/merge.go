package tokens

// tokens counts the tokens of one piece: neighbours are merged, the pair of the
// lowest rank first and the leftmost of equals, until no pair is a token.
func (v *vocabulary) tokens(s string) int {
	if len(s) < 2 || v.rank(s) != none {
		return 1
	}
	if len(s) > 64 {
		return v.long(s)
	}
	// ends[i] is where the part that begins at i ends; ranks[i] the rank of that
	// part merged with the next.
	var startsBuf [65]uint8
	var ranksBuf [64]uint32
	starts, ranks := startsBuf[:len(s)+1], ranksBuf[:len(s)]
	for i := range starts {
		starts[i] = uint8(i)
	}
	pair := func(i int) uint32 {
		if i+2 >= len(starts) {
			return none
		}
		return v.rank(s[starts[i]:starts[i+2]])
	}
	for i := range ranks {
		ranks[i] = pair(i)
	}
	for len(ranks) > 1 {
		best, at := uint32(none), 0
		for i, r := range ranks {
			if r < best {
				best, at = r, i
			}
		}
		if best == none {
			break
		}
		starts = append(starts[:at+1], starts[at+2:]...)
		ranks = append(ranks[:at+1], ranks[at+2:]...)
		ranks[at] = pair(at)
		if at > 0 {
			ranks[at-1] = pair(at - 1)
		}
	}
	return len(ranks)
}

// long is tokens for a piece of any length, in n log n.
func (v *vocabulary) long(s string) int {
	n := len(s)
	next := make([]int32, n+1) // of each part that still begins there
	prev := make([]int32, n+1)
	for i := range next {
		next[i], prev[i] = int32(i+1), int32(i-1)
	}
	gone := make([]bool, n+1)
	q := make(pairs, 0, n)
	offer := func(i int32) {
		if i < 0 || int(next[i]) >= n {
			return
		}
		end := next[next[i]]
		if r := v.rank(s[i:end]); r != none {
			q.push(candidate{r, i, end})
		}
	}
	for i := range n {
		offer(int32(i))
	}
	count := n
	for len(q) > 0 {
		c := q.pop()
		if gone[c.at] || int(next[c.at]) >= n || next[next[c.at]] != c.end {
			continue // one of its parts has been merged since
		}
		gone[next[c.at]] = true
		next[c.at] = c.end
		if int(c.end) <= n {
			prev[c.end] = c.at
		}
		count--
		offer(c.at)
		offer(prev[c.at])
	}
	return count
}

type candidate struct {
	rank    uint32
	at, end int32
}

func (c candidate) before(o candidate) bool {
	return c.rank < o.rank || c.rank == o.rank && c.at < o.at
}

// pairs is a heap of candidates, the next to merge first.
type pairs []candidate

func (p *pairs) push(c candidate) {
	q := append(*p, c)
	i := len(q) - 1
	for i > 0 && c.before(q[(i-1)/2]) {
		q[i] = q[(i-1)/2]
		i = (i - 1) / 2
	}
	q[i] = c
	*p = q
}

func (p *pairs) pop() candidate {
	q := *p
	top, last := q[0], q[len(q)-1]
	q = q[:len(q)-1]
	for i, k := 0, 1; len(q) > 0; k = 2*i + 1 {
		if k+1 < len(q) && q[k+1].before(q[k]) {
			k++
		}
		if k >= len(q) || !q[k].before(last) {
			q[i] = last
			break
		}
		q[i], i = q[k], k
	}
	*p = q
	return top
}
