package tools

import (
	"fmt"
)

// seconds returns ms, followed by the same in seconds.
func seconds(ms int64) string { return fmt.Sprintf("%d ms (%.1f s)", ms, float64(ms)/1000) }

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

func yesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}
