package notation

import (
	"strconv"
	"strings"
	"time"
)

// months are the names of the months, by their first three letters.
var months = map[string]time.Month{
	"jan": 1, "feb": 2, "mar": 3, "apr": 4, "may": 5, "jun": 6, "jul": 7, "aug": 8, "sep": 9, "oct": 10, "nov": 11, "dec": 12,
}

// A day is a date as far as it was told: its text is "2006", "2006-01", "2006-01-02" or
// goes on with the time, so that one that is a prefix of the other agrees with it.
type day string

// readDate reads a date in a notation that can be read in one way only, or a time of day.
func readDate(s string) (day, int, bool) {
	for _, read := range []func(string) (day, int){isoDate, dottedDate, dayMonth, monthDay, clock} {
		if d, n := read(s); n > 0 {
			return d, n, true
		}
	}
	return "", 0, false
}

// isoDate reads 2006-01-02, 2006/01/02 and 2006-01, with a time or without.
func isoDate(s string) (day, int) {
	if len(s) < 7 || !IsDigit(s[0]) || s[4] != '-' && s[4] != '/' || (s[0] != '1' && s[0] != '2') {
		return "", 0
	}
	year, month := Whole(s[:4]), Whole(s[5:7])
	if year < 1000 || month < 1 || month > 12 {
		return "", 0
	}
	if len(s) < 10 || s[7] != s[4] || Whole(s[8:10]) < 1 || Whole(s[8:10]) > 31 {
		if len(s) > 7 && (IsDigit(s[7]) || s[7] == s[4]) || s[4] == '/' || year < 1900 {
			return "", 0
		}
		return day(s[:4] + "-" + s[5:7]), 7
	}
	d := s[:4] + "-" + s[5:7] + "-" + s[8:10]
	if len(s) >= 16 && (s[10] == 'T' || s[10] == ' ') && s[13] == ':' {
		for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04Z07:00", "2006-01-02T15:04"} {
			end := 11 + strings.IndexFunc(s[11:]+" ", func(r rune) bool { return !strings.ContainsRune("0123456789:.Z+-", r) })
			text := strings.TrimRight(s[:end], ".-")
			if at, err := time.Parse(layout, d+"T"+text[11:]); err == nil {
				return day(at.UTC().Format("2006-01-02T15:04:05")), len(text)
			}
		}
	}
	return day(d), 10
}

// dottedDate reads 02.01.2006, where the day stands first.
func dottedDate(s string) (day, int) {
	if len(s) < 8 || !IsDigit(s[0]) {
		return "", 0
	}
	end := strings.IndexFunc(s+" ", func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
	parts := strings.Split(strings.TrimRight(s[:end], "."), ".")
	if len(parts) != 3 || len(parts[2]) != 4 || len(parts[0]) > 2 || len(parts[1]) > 2 {
		return "", 0
	}
	return dayOf(Whole(parts[2]), Whole(parts[1]), Whole(parts[0])), len(strings.TrimRight(s[:end], "."))
}

// dayMonth reads 2 January 2006, 2nd Jan 2006 and 2 Jan.
func dayMonth(s string) (day, int) {
	if len(s) < 5 || !IsDigit(s[0]) {
		return "", 0
	}
	n := 1
	if IsDigit(s[1]) {
		n = 2
	}
	d := Whole(s[:n])
	for _, suffix := range []string{"st", "nd", "rd", "th"} {
		if strings.HasPrefix(s[n:], suffix) {
			n += 2
			break
		}
	}
	rest, ok := strings.CutPrefix(s[n:], " ")
	rest, of := strings.CutPrefix(rest, "of ")
	month, m := monthName(rest)
	if !ok || m == 0 {
		return "", 0
	}
	n = len(s) - len(rest) + m
	_ = of
	year, y := yearAfter(s[n:])
	return dayOf(year, int(month), d), n + y
}

// monthDay reads January 2, 2006, Jan 2 and January 2006.
func monthDay(s string) (day, int) {
	month, n := monthName(s)
	if n == 0 || n+2 > len(s) || s[n] != ' ' || !IsDigit(s[n+1]) {
		return "", 0
	}
	if year, y := yearAfter(s[n:]); y > 0 {
		return day(strconv.Itoa(year) + "-" + two(int(month))), n + y
	}
	end := n + 2
	if end < len(s) && IsDigit(s[end]) {
		end++
	}
	d := Whole(s[n+1 : end])
	for _, suffix := range []string{"st", "nd", "rd", "th"} {
		if strings.HasPrefix(s[end:], suffix) {
			end += 2
			break
		}
	}
	if !boundary(s, end) {
		return "", 0
	}
	year, y := yearAfter(s[end:])
	return dayOf(year, int(month), d), end + y
}

// monthName returns the month that s begins with.
func monthName(s string) (time.Month, int) {
	n := 0
	for n < len(s) && (s[n]|0x20) >= 'a' && (s[n]|0x20) <= 'z' {
		n++
	}
	if n < 3 || n > 9 || s[0] >= 'a' {
		return 0, 0
	}
	name := strings.ToLower(s[:n])
	month, ok := months[name[:3]]
	if !ok || n > 3 && name != "sept" && !strings.HasPrefix(strings.ToLower(month.String()), name) {
		return 0, 0
	}
	if strings.HasPrefix(s[n:], ".") {
		n++
	}
	return month, n
}

// yearAfter returns the year that s goes on with.
func yearAfter(s string) (int, int) {
	rest := strings.TrimLeft(s, ", ")
	n := len(s) - len(rest)
	if n == 0 || len(rest) < 4 || !boundary(rest, 4) {
		return 0, 0
	}
	if year := Whole(rest[:4]); year >= 1500 && year < 2200 {
		return year, n + 4
	}
	return 0, 0
}

// clock reads 15:04 and 15:04:05.
func clock(s string) (day, int) {
	if len(s) < 4 || !IsDigit(s[0]) {
		return "", 0
	}
	end := strings.IndexFunc(s+" ", func(r rune) bool { return r != ':' && (r < '0' || r > '9') })
	parts := strings.Split(s[:end], ":")
	if len(parts) < 2 || len(parts) > 3 || len(parts[1]) != 2 || len(parts[0]) > 2 || Whole(parts[0]) > 24 || Whole(parts[1]) > 59 {
		return "", 0
	}
	parts[0] = two(Whole(parts[0]))
	return day("T" + strings.Join(parts, ":")), end
}

func dayOf(year, month, d int) day {
	if month < 1 || month > 12 || d < 1 || d > 31 {
		return ""
	}
	if year == 0 {
		return day("-" + two(month) + "-" + two(d))
	}
	return day(strconv.Itoa(year) + "-" + two(month) + "-" + two(d))
}

func two(n int) string {
	if n < 10 {
		return "0" + strconv.Itoa(n)
	}
	return strconv.Itoa(n)
}

// Whole returns the number that digits give; -1 if they are none.
func Whole(digits string) int {
	n, err := strconv.Atoi(digits)
	if err != nil || n < 0 {
		return -1
	}
	return n
}

// compare compares two dates as far as both are told.
func (d day) compare(e day) Verdict {
	x, y := string(d), string(e)
	if strings.HasPrefix(x, "-") != strings.HasPrefix(y, "-") { // one lacks the year
		return verdictOf(strings.Contains(x, y) || strings.Contains(y, x))
	}
	if strings.HasPrefix(x, "T") != strings.HasPrefix(y, "T") {
		return Unknown
	}
	return verdictOf(strings.HasPrefix(x, y) || strings.HasPrefix(y, x))
}
