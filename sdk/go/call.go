package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"time"
)

const (
	firstPause   = 100 * time.Millisecond
	longestPause = 5 * time.Second
	answerMax    = 512 << 20 // a server must not fill the memory
	failureMax   = 1 << 20
)

// One request before it is sent. What goes wrong on the way is kept in err.
type call struct {
	method, path string
	query        url.Values
	header       http.Header
	body         map[string]any
	content      io.Reader // instead of a body: bytes, of which there are size, or -1
	size         int64
	key          string
	safe         bool // repeating it changes nothing
	long         bool // it takes as long as its work takes: no deadline
	err          error
}

// The template's {names} are replaced by the values that follow.
func newCall(method, template string, values ...any) *call {
	c := &call{method: method, query: url.Values{}}
	for _, value := range values {
		before, rest, _ := strings.Cut(template, "{")
		name, after, _ := strings.Cut(rest, "}")
		c.path += before + c.segment(name, fmt.Sprint(value))
		template = after
	}
	c.path += template
	return c
}

// An id is text from outside: it stays one segment of the path, and must not name another route.
func (c *call) segment(name, value string) string {
	if value == "" || value == "." || value == ".." {
		c.err = &Error{Code: ErrArgument, Message: fmt.Sprintf("%s %q is no id", name, value)}
	}
	return url.PathEscape(value)
}

func (c *call) set(name string, value any) {
	c.body[name] = value
}

// A field of the query string: text as it is, anything else as JSON.
func (c *call) ask(name string, value any) {
	if text, ok := value.(string); ok {
		c.query.Set(name, text)
		return
	}
	text, err := json.Marshal(value)
	if err != nil {
		c.err = &Error{Code: ErrArgument, Message: name + ": " + err.Error(), Err: err}
	}
	c.query.Set(name, string(text))
}

// The members of a struct of options that are not empty; a list or map without elements is sent when it is not nil.
func (c *call) setAll(options any) {
	given := reflect.ValueOf(options)
	if given.IsNil() {
		return
	}
	given = given.Elem()
	for i := 0; i < given.NumField(); i++ {
		value, tag := given.Field(i), given.Type().Field(i).Tag
		if value.IsZero() {
			continue
		}
		name, _, _ := strings.Cut(tag.Get("json"), ",")
		switch tag.Get("in") {
		case "key":
			c.key = value.String()
		case "query":
			c.ask(name, value.Interface())
		default:
			c.set(name, value.Interface())
		}
	}
}

// With an Idempotency-Key the server carries a call out once, however often it comes.
func (c *call) mayBeSentTwice() bool {
	return c.safe || c.key != ""
}

// How the call is named in errors.
func (c *Client) operation(call *call) string {
	return call.method + " " + c.base + call.path
}

func (c *Client) request(ctx context.Context, call *call, accept string, body []byte) (*http.Request, error) {
	target := c.base + call.path
	if len(call.query) > 0 {
		target += "?" + call.query.Encode()
	}
	request, err := http.NewRequestWithContext(ctx, call.method, target, bytes.NewReader(body))
	if err != nil {
		return nil, &Error{Code: ErrArgument, Message: err.Error(), Err: err}
	}
	for name, values := range call.header {
		request.Header[name] = values
	}
	request.Header.Set("Accept", accept)
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if call.content != nil {
		request.Body, request.GetBody, request.ContentLength = io.NopCloser(call.content), nil, call.size
		request.Header.Set("Content-Type", "application/octet-stream")
		request.Header.Set("Expect", "100-continue") // what is refused is not sent
		request.Close = true                         // the connection of an upload that ends early cannot be used again
	}
	if call.key != "" {
		request.Header.Set("Idempotency-Key", call.key)
	}
	if token := c.token(); token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	return request, nil
}

// The answer, when it is a good one. The caller closes its body.
func (c *Client) send(ctx context.Context, call *call, accept string) (*http.Response, error) {
	var body []byte
	if call.err == nil && call.body != nil {
		if body, call.err = json.Marshal(call.body); call.err != nil {
			call.err = &Error{Code: ErrArgument, Message: call.err.Error(), Err: call.err}
		}
	}
	if call.err != nil {
		return nil, call.err
	}
	left := c.maxRetries
	if !call.mayBeSentTwice() {
		left = 0
	}
	for pause := firstPause; ; pause *= 2 {
		request, err := c.request(ctx, call, accept, body)
		if err != nil {
			return nil, err
		}
		response, err := c.http.Do(request)
		if err == nil && response.StatusCode/100 == 2 {
			return response, nil
		}
		wait, failure := c.failed(ctx, call, response, err, pause)
		if left <= 0 || wait > longestPause {
			return nil, failure
		}
		left--
		select {
		case <-ctx.Done():
			return nil, failure
		case <-time.After(wait):
		}
	}
}

// What went wrong, and how long to wait before another try.
func (c *Client) failed(ctx context.Context, call *call, response *http.Response, err error, pause time.Duration) (time.Duration, error) {
	const never = time.Duration(1<<63 - 1)
	if err != nil {
		var detail *url.Error // repeats method and address
		if errors.As(err, &detail) {
			err = detail.Err
		}
		if ctx.Err() != nil {
			return never, lost(c.operation(call), ctx.Err())
		}
		return pause, lost(c.operation(call), err)
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(response.Body, failureMax))
	failure := refused(c.operation(call), response.StatusCode, text)
	switch response.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		if seconds, err := strconv.ParseUint(response.Header.Get("Retry-After"), 10, 32); err == nil {
			return time.Duration(seconds) * time.Second, failure
		}
		return pause, failure
	}
	return never, failure
}

// Puts the answer into reply, a pointer; nil drops it.
func (c *Client) json(ctx context.Context, call *call, reply any) error {
	if !call.long && c.timeout > 0 {
		limited, cancel := context.WithTimeout(ctx, c.timeout)
		defer cancel()
		ctx = limited
	}
	response, err := c.send(ctx, call, "application/json")
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, answerMax+1))
	if err != nil {
		return lost(c.operation(call), err)
	}
	switch {
	case len(text) > answerMax:
		err = fmt.Errorf("it is longer than %d bytes", answerMax)
	case reply == nil:
	case string(bytes.TrimSpace(text)) == "null":
		err = errors.New("it is null")
	default:
		err = json.Unmarshal(text, reply)
	}
	if err != nil {
		return strange(c.operation(call), err)
	}
	return nil
}

func strange(operation string, err error) error {
	return &Error{Code: ErrProtocol, Operation: operation, Message: "the answer is not what this client knows: " + err.Error(),
		Fix: "is this an iii-sandbox server of the same version?", Err: err}
}

func ask[T any](ctx context.Context, c *Client, call *call) (T, error) {
	var reply T
	if err := c.json(ctx, call, &reply); err != nil {
		var none T
		return none, err
	}
	return reply, nil
}
