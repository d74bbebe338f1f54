package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

const aSandbox = `{"id":"sbx_1","name":"n","image":"i","status":"running","createdAt":1,"expiresAt":2,"config":{},"metadata":{}}`

// A server that gives each request the next answer, and a client of it. The requests are kept.
type script struct {
	client   *Client
	requests []*http.Request
	bodies   []string
}

func serve(t *testing.T, answers ...func(http.ResponseWriter)) *script {
	t.Helper()
	s := &script{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.requests, s.bodies = append(s.requests, r), append(s.bodies, string(body))
		answers[len(s.requests)-1](w)
	}))
	t.Cleanup(server.Close)
	s.client = clientOf(t, Config{URL: server.URL + "//", Token: "secret"})
	return s
}

func clientOf(t *testing.T, config Config) *Client {
	t.Helper()
	client, err := NewClient(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func answer(status int, body string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

var background = context.Background()

func TestRequestsCarryTheTokenAndOnlyWhatWasGiven(t *testing.T) {
	s := serve(t, answer(200, aSandbox), answer(200, aSandbox), answer(200, `{"items":[],"total":0,"page":1,"pageSize":20}`))
	if _, err := s.client.Create(background, nil); err != nil {
		t.Fatal(err)
	}
	options := &CreateOptions{Image: "mine", Memory: Int(0), Env: map[string]string{}, IdempotencyKey: "once-7"}
	if _, err := s.client.Create(background, options); err != nil {
		t.Fatal(err)
	}
	if _, err := s.client.API.SandboxList(background, &ListOptions{Status: "a b", Metadata: map[string]string{"x": "&"}}); err != nil {
		t.Fatal(err)
	}
	if got := s.requests[0].Header.Get("Authorization"); got != "Bearer secret" || s.requests[0].URL.Path != "/sandbox/sandboxes" {
		t.Errorf("%q, %q", got, s.requests[0].URL.Path)
	}
	if s.bodies[0] != "{}" || s.bodies[1] != `{"env":{},"image":"mine","memory":0}` || s.requests[1].Header.Get("Idempotency-Key") != "once-7" {
		t.Errorf("%q", s.bodies)
	}
	if query := s.requests[2].URL.Query(); query.Get("status") != "a b" || query.Get("metadata") != `{"x":"\u0026"}` || len(query) != 2 {
		t.Errorf("%v", query)
	}
}

func TestAnIDStaysOneSegment(t *testing.T) {
	s := serve(t, answer(200, aSandbox))
	if _, err := s.client.Connect(background, "a/../b?c#d e"); err != nil {
		t.Fatal(err)
	}
	if got := s.requests[0].URL.EscapedPath(); got != "/sandbox/sandboxes/a%2F..%2Fb%3Fc%23d%20e" {
		t.Error(got)
	}
	for _, bad := range []string{"", ".", ".."} {
		if _, err := s.client.Connect(background, bad); !errors.Is(err, ErrArgument) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestAReadIsTriedAgainAndAChangeIsNot(t *testing.T) {
	busy := answer(503, `{"error":"no room"}`)
	s := serve(t, busy, busy, answer(200, aSandbox))
	if _, err := s.client.Connect(background, "sbx_1"); err != nil || len(s.requests) != 3 {
		t.Error(err, len(s.requests))
	}
	s = serve(t, busy)
	if _, err := s.client.Create(background, nil); !errors.Is(err, ErrNoCapacity) || len(s.requests) != 1 {
		t.Error(err, len(s.requests))
	}
	now := func(w http.ResponseWriter) { w.Header().Set("Retry-After", "0"); w.WriteHeader(429) }
	s = serve(t, now, answer(200, aSandbox))
	if _, err := s.client.Create(background, &CreateOptions{IdempotencyKey: "k"}); err != nil || len(s.requests) != 2 {
		t.Error(err, len(s.requests))
	}
	later := func(w http.ResponseWriter) { w.Header().Set("Retry-After", "60"); w.WriteHeader(429) }
	s = serve(t, later)
	if _, err := s.client.Connect(background, "sbx_1"); !errors.Is(err, ErrRateLimited) {
		t.Error(err)
	}
}

func TestErrorsNameTheOperationTheAddressAndTheCure(t *testing.T) {
	s := serve(t, answer(404, `{"error":"sandbox not found: sbx_1"}`), answer(401, `{"error":"no token"}`), answer(502, "<html>a proxy's page"))
	s.client.maxRetries = -1
	_, err := s.client.Connect(background, "sbx_1")
	if want := "GET " + s.client.URL() + "/sandbox/sandboxes/sbx_1: 404 not_found: sandbox not found: sbx_1"; err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	var failure *Error
	if !errors.As(err, &failure) || failure.Status != 404 || !errors.Is(err, ErrNotFound) || errors.Is(err, ErrConflict) {
		t.Errorf("%#v", failure)
	}
	if _, err = s.client.Connect(background, "x"); !errors.Is(err, ErrUnauthorized) || !strings.Contains(err.Error(), "III_SANDBOX_TOKEN") {
		t.Error(err)
	}
	if _, err = s.client.Connect(background, "x"); !errors.Is(err, ErrBadGateway) || !strings.Contains(err.Error(), "a proxy's page") {
		t.Error(err)
	}
}

func TestNoServer(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := "http://" + listener.Addr().String()
	listener.Close()
	_, err = clientOf(t, Config{URL: address, MaxRetries: -1}).Create(background, nil)
	for _, part := range []string{"POST " + address + "/sandbox/sandboxes: ", "refused", "`iii serve` starts one", "III_SANDBOX_URL"} {
		if !errors.Is(err, ErrConnection) || !strings.Contains(err.Error(), part) {
			t.Errorf("%v does not say %q", err, part)
		}
	}
	if strings.Count(err.Error(), address) != 1 {
		t.Errorf("the address is said twice: %v", err)
	}
	for _, bad := range []string{"localhost:3111", "ftp://x", "http://", "::"} {
		if _, err := NewClient(Config{URL: bad}); !errors.Is(err, ErrArgument) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestAServerThatDoesNotAnswerIsLeftAfterTheTime(t *testing.T) {
	hang := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { <-hang }))
	defer server.Close()
	defer close(hang)
	client := clientOf(t, Config{URL: server.URL, Timeout: 100 * time.Millisecond})
	if _, err := client.Connect(background, "sbx_1"); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, ErrConnection) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(background)
	cancel()
	if _, err := client.Create(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestAnswersThatAreNotOurs(t *testing.T) {
	s := serve(t, answer(200, "<html>"), answer(200, "null"), answer(200, "{}"), answer(302, ""))
	for range [3]int{} {
		if _, err := s.client.Create(background, nil); !errors.Is(err, ErrProtocol) || !strings.Contains(err.Error(), s.client.URL()) {
			t.Error(err)
		}
	}
	if _, err := s.client.Create(background, nil); err == nil {
		t.Error("a redirection was followed")
	}
}

func TestPathsThatThePackageDoesNotKnow(t *testing.T) {
	s := serve(t, answer(200, `{"a":1}`), answer(200, `{"b":2}`), answer(200, "null"))
	var got map[string]int
	if err := s.client.Get(background, "/sandbox/new", &got); err != nil || got["a"] != 1 {
		t.Error(err, got)
	}
	if err := s.client.Post(background, "/sandbox/new", map[string]any{"x": 1}, &got); err != nil || got["b"] != 2 || s.bodies[1] != `{"x":1}` {
		t.Error(err, got, s.bodies)
	}
	if err := s.client.Post(background, "/sandbox/new", nil, nil); err != nil || s.bodies[2] != "" {
		t.Error(err, s.bodies)
	}
}

func TestTheEnvironmentCountsUnlessSomethingIsGiven(t *testing.T) {
	for name, value := range map[string]string{"III_SANDBOX_URL": "http://there:1/", "III_SANDBOX_TOKEN": "", "III_AUTH_TOKEN": "other", "III_CA_CERT": ""} {
		t.Setenv(name, value)
	}
	if c := clientOf(t, Config{}); c.URL() != "http://there:1" || c.token() != "other" {
		t.Error(c.URL(), c.token())
	}
	t.Setenv("III_SANDBOX_TOKEN", "ours")
	if c := clientOf(t, Config{URL: "http://here:2"}); c.URL() != "http://here:2" || c.token() != "ours" {
		t.Error(c.URL(), c.token())
	}
	if c := clientOf(t, Config{Token: "given"}); c.token() != "given" {
		t.Error(c.token())
	}
	if c := clientOf(t, Config{NoToken: true}); c.token() != "" {
		t.Error(c.token())
	}
	t.Setenv("III_SANDBOX_URL", "")
	if c := clientOf(t, Config{}); c.URL() != "http://localhost:3111" {
		t.Error(c.URL())
	}
	t.Setenv("III_CA_CERT", "/no/such/file")
	if _, err := NewClient(Config{}); !errors.Is(err, ErrArgument) || !strings.Contains(err.Error(), "/no/such/file") {
		t.Error(err)
	}
}

// However it is printed, and wherever it is held.
func TestNothingShowsTheToken(t *testing.T) {
	const secret = "tok-3f9a"
	config := Config{URL: "http://localhost:1", Token: secret, MaxRetries: -1}
	client := clientOf(t, config)
	box := client.Handle("sbx_1")
	_, err := box.Exec(background, "true", nil)
	_, other := clientOf(t, Config{URL: "http://localhost:1", Token: secret + "\n"}).Connect(background, "x")
	withUser := Config{URL: "http://user:" + secret + "@x"}
	_, bad := NewClient(withUser)
	var failure *Error
	if !errors.As(err, &failure) || other == nil || bad == nil {
		t.Fatal(err, other, bad)
	}
	values := []any{config, &config, withUser, client, *client, box, box.Env, *box.Env, client.API, *client.API, client.Volumes, err, failure, *failure, other, bad,
		struct{ client *Client }{client}, struct{ box *Sandbox }{box}, []any{config}, map[string]any{"c": client}}
	for _, value := range values {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x"} {
			if text := fmt.Sprintf(verb, value); strings.Contains(text, secret) || strings.Contains(text, fmt.Sprintf("%x", secret)) {
				t.Errorf("%s of %T: %s", verb, value, text)
			}
		}
	}
	if text, err := json.Marshal(config); err != nil || strings.Contains(string(text), secret) {
		t.Errorf("%s %v", text, err)
	}
	if got := fmt.Sprintf("%+v %v", config, client); !strings.Contains(got, "(hidden)") || !strings.Contains(got, "localhost:1") {
		t.Error(got)
	}
}
