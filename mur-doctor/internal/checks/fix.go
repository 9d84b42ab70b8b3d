package checks

// fix carries out what rows offer, one after another, and says in each what was
// done (DIA-210). A row that was put right is no warning and no failure any more;
// one that could not be fails.
func fix(rows []Check) {
	for i := range rows {
		c := &rows[i]
		if c.fix == nil {
			continue
		}
		done, err := c.fix()
		if err != nil {
			c.Status, c.Message = Failed, c.Message+"; it could not be put right: "+err.Error()
			if c.Code == "" {
				c.Code = "E-IO-003"
			}
			continue
		}
		c.Status, c.Fixed, c.Remedy = OK, done, ""
	}
}
