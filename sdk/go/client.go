package sandbox

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

const (
	defaultURL     = "http://localhost:3111"
	defaultTimeout = 30 * time.Second
	defaultRetries = 2
	connectTimeout = 10 * time.Second
	keepAlive      = 30 * time.Second // calls without a deadline still end when the other host is gone
)

// Config says where the server is and how long to wait for it. What is empty comes from the environment, as for the command line.
type Config struct {
	// Address of the server; otherwise III_SANDBOX_URL, otherwise http://localhost:3111
	URL string
	// Bearer token; otherwise III_SANDBOX_TOKEN or III_AUTH_TOKEN
	Token string `json:"-"`
	// PEM certificates to trust beside those of the system; otherwise III_CA_CERT
	CAFile string
	// Longest time for one answer; 0: 30 s, negative: no limit. Calls that take as long as their work (a command, a pull, a
	// snapshot) and streams have none: give them a context with a deadline
	Timeout time.Duration
	// How often a call that may be sent twice is sent again after a failure that passes; 0: 2, negative: never
	MaxRetries int
	// Use neither Token nor the environment's
	NoToken bool
}

// Format prints the configuration without its token, whatever the verb.
func (c Config) Format(f fmt.State, verb rune) {
	token := "none"
	if c.Token != "" {
		token = "(hidden)"
	}
	_, _ = fmt.Fprintf(f, "sandbox.Config{URL:%q, Token:%s, CAFile:%q, Timeout:%v, MaxRetries:%d, NoToken:%t}",
		shownURL(c.URL), token, c.CAFile, c.Timeout, c.MaxRetries, c.NoToken)
}

// Client is one server, with everything that can be asked of it.
type Client struct {
	ServerManagers
	// Every operation of the server under its own name
	API *API

	base       string
	http       *http.Client
	timeout    time.Duration
	maxRetries int
	// A function, because no print of a struct that holds this client shows what it gives
	token func() string
}

// API has every operation of the server under its own name, with its types. [Sandbox] and [Client] are the comfortable way to them.
type API struct {
	client *Client
}

// NewClient makes a client; it connects with the first call.
func NewClient(config Config) (*Client, error) {
	base := strings.TrimRight(first(config.URL, os.Getenv("III_SANDBOX_URL"), defaultURL), "/")
	if at, err := url.Parse(base); err != nil || (at.Scheme != "http" && at.Scheme != "https") || at.Host == "" || at.User != nil {
		return nil, &Error{Code: ErrArgument, Message: fmt.Sprintf("%q is not the address of a server", shownURL(base)),
			Fix: "it looks like " + defaultURL + ", without a user; the token is given apart"}
	}
	token := first(config.Token, os.Getenv("III_SANDBOX_TOKEN"), os.Getenv("III_AUTH_TOKEN"))
	if config.NoToken {
		token = ""
	}
	transport, err := transportFor(first(config.CAFile, os.Getenv("III_CA_CERT")))
	if err != nil {
		return nil, err
	}
	c := &Client{
		base:       base,
		http:       &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
		timeout:    config.Timeout,
		maxRetries: config.MaxRetries,
		token:      func() string { return token },
	}
	if c.timeout == 0 {
		c.timeout = defaultTimeout
	}
	if c.maxRetries == 0 {
		c.maxRetries = defaultRetries
	}
	c.API = &API{c}
	c.ServerManagers = newServerManagers(c.API)
	return c, nil
}

// URL is the address of the server.
func (c *Client) URL() string {
	return c.base
}

// Format prints the server's address, whatever the verb.
func (c *Client) Format(f fmt.State, verb rune) {
	_, _ = io.WriteString(f, "sandbox.Client("+c.base+")")
}

// Get calls a path of the server that this package does not know, and puts the JSON of its answer into reply, a pointer.
func (c *Client) Get(ctx context.Context, path string, reply any) error {
	call := newCall(http.MethodGet, path)
	call.safe = true
	return c.json(ctx, call, reply)
}

// Post is [Client.Get] with a body; both body and reply may be nil.
func (c *Client) Post(ctx context.Context, path string, body map[string]any, reply any) error {
	call := newCall(http.MethodPost, path)
	call.body = body
	return c.json(ctx, call, reply)
}

// One for all clients without certificates of their own, so that they share their connections.
var sharedTransport = newTransport(nil)

func newTransport(authorities *x509.CertPool) *http.Transport {
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: connectTimeout, KeepAlive: keepAlive}).DialContext,
		TLSHandshakeTimeout:   connectTimeout,
		TLSClientConfig:       &tls.Config{RootCAs: authorities, MinVersion: tls.VersionTLS12},
		MaxIdleConnsPerHost:   16,
		IdleConnTimeout:       90 * time.Second,
		ExpectContinueTimeout: time.Second,
	}
}

func transportFor(caFile string) (*http.Transport, error) {
	if caFile == "" {
		return sharedTransport, nil
	}
	pem, err := os.ReadFile(caFile)
	if err != nil {
		return nil, &Error{Code: ErrArgument, Message: "certificates to trust: " + err.Error(), Err: err}
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, &Error{Code: ErrArgument, Message: "certificates to trust: " + caFile + " holds no PEM certificate"}
	}
	return newTransport(pool), nil
}

func first(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}

// An address as it may be shown: without the password of its user.
func shownURL(text string) string {
	at, err := url.Parse(text)
	if err != nil {
		return "(not a URL)"
	}
	return at.Redacted()
}

// Int is a number that is there, for options: {Memory: sandbox.Int(512)}.
func Int(n int64) *int64 { return &n }

// Number is the same for fractions.
func Number(n float64) *float64 { return &n }

// Bool is the same for options that are true unless they are given.
func Bool(b bool) *bool { return &b }
