package sandbox

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

func streamOf(text string) *Stream[ExecStreamChunk] {
	return newStream[ExecStreamChunk](io.NopCloser(strings.NewReader(text)), "GET it")
}

func all(s *Stream[ExecStreamChunk]) string {
	var seen []string
	for s.Next() {
		seen = append(seen, s.Event().Data)
	}
	return strings.Join(seen, ",")
}

func TestEventsAreFoundHoweverTheyAreCut(t *testing.T) {
	const text = "data: {\"data\":\"1\"}\n\ndata:{\"data\":\"é\"}\r\n\n: ping\nid: 4\nevent: x\ndata:\n\ndata: {\"data\":\"3\"}"
	s := newStream[ExecStreamChunk](io.NopCloser(iotest.OneByteReader(strings.NewReader(text))), "GET it")
	if got := all(s); got != "1,é,3" || s.Err() != nil {
		t.Error(got, s.Err())
	}
	if long := streamOf("data: {\"data\":\"" + strings.Repeat("x", 100000) + "\"}\n"); !long.Next() || len(long.Event().Data) != 100000 {
		t.Error(long.Err())
	}
}

func TestAStreamThatFailsSaysWhy(t *testing.T) {
	for text, code := range map[string]Code{
		"data: {\"data\":\"1\"}\ndata: {\"type\":\"error\",\"error\":\"it is gone\",\"code\":\"gone\"}\n": ErrGone,
		"data: {\"data\":\"1\"}\ndata: what\n":                                 ErrProtocol,
		"data: {\"data\":\"1\"}\ndata: null\n":                                 ErrProtocol,
		"data: {\"data\":\"1\"}\ndata: " + strings.Repeat("x", lineMax) + "\n": ErrProtocol,
	} {
		s := streamOf(text)
		if got := all(s); got != "1" || !errors.Is(s.Err(), code) || !strings.Contains(s.Err().Error(), "GET it") {
			t.Errorf("%.80q: %q, %v", text, got, s.Err())
		}
	}
	broken := newStream[ExecStreamChunk](io.NopCloser(io.MultiReader(strings.NewReader("data: {}\nda"), iotest.ErrReader(io.ErrUnexpectedEOF))), "GET it")
	if all(broken); !errors.Is(broken.Err(), ErrConnection) || !errors.Is(broken.Err(), io.ErrUnexpectedEOF) {
		t.Error(broken.Err())
	}
}

func TestAllIsForRange(t *testing.T) {
	count := 0
	streamOf("data: {}\ndata: {}\ndata: {}\n").All()(func(_ ExecStreamChunk, err error) bool { count++; return count < 2 && err == nil })
	var last error
	streamOf("data: {}\ndata: what\n").All()(func(_ ExecStreamChunk, err error) bool { last = err; return true })
	if count != 2 || !errors.Is(last, ErrProtocol) {
		t.Error(count, last)
	}
}

func TestAStreamOutlivesTheTimeoutOfCallsAndIsLeft(t *testing.T) {
	left := make(chan struct{})
	s := serve(t, func(w http.ResponseWriter) {
		_, _ = io.WriteString(w, ": hello\n\n")
		w.(http.Flusher).Flush()
		time.Sleep(50 * time.Millisecond)
		for i := 0; i < 1000; i++ {
			if _, err := io.WriteString(w, "data: {\"type\":\"stdout\",\"data\":\"a\",\"timestamp\":1}\n\n"+strings.Repeat(" ", 100000)); err != nil {
				break
			}
		}
		close(left)
	})
	s.client.timeout = 10 * time.Millisecond
	stream, err := s.client.Handle("sbx_1").ExecStream(background, "yes", nil)
	if err != nil {
		t.Fatal(err)
	}
	if !stream.Next() || stream.Event().Data != "a" {
		t.Error(stream.Err())
	}
	if err := stream.Close(); err != nil || stream.Next() || stream.Err() != nil {
		t.Error(err, stream.Err())
	}
	<-left
}

func FuzzStream(f *testing.F) {
	f.Add([]byte("data: {\"type\":\"exit\",\"data\":\"0\"}\n\n"))
	f.Add([]byte("data: {\"type\":\"error\",\"error\":\"x\",\"code\":\"gone\"}\n"))
	f.Add([]byte(": ping\nevent: a\ndata:\ndata: [\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s := newStream[ContextEvent](io.NopCloser(bytes.NewReader(data)), "GET it")
		made := &Execution{}
		for s.Next() {
			event := s.Event()
			_ = made.add(&event, &CodeOptions{})
		}
		if s.Err() == nil && s.Next() {
			t.Error("it goes on after its end")
		}
	})
}
