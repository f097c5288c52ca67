package web

import (
	"encoding/json"
	"errors"
	"net/http"

	"flame/board/feed"
	"flame/core"
)

// answer returns a handler that writes what f returns as JSON.
func answer(f func(r *http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v, err := f(r)
		if err != nil {
			refuse(w, err)
			return
		}
		writeJSON(w, http.StatusOK, v)
	}
}

// refuse answers with what is wrong.
func refuse(w http.ResponseWriter, err error) {
	status := http.StatusInternalServerError
	for is, code := range map[error]int{
		core.ErrNotFound: http.StatusNotFound, core.ErrInvalid: http.StatusBadRequest, core.ErrUnavailable: http.StatusServiceUnavailable,
	} {
		if errors.Is(err, is) {
			status = code
		}
	}
	writeJSON(w, status, map[string]any{"trouble": feed.TroubleOf(err)})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a page that is gone needs no answer
}
