// A resource server that verifies tokens offline, and learns of revocations by polling a stream (RFC 8936). The variables PORT, ISSUER,
// RESOURCE, CLIENT_ID, CLIENT_SECRET and MAX_AGE configure it. docs/guides/shared-signals.md explains it.
package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"math"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
)

const (
	events         = "https://schemas.openid.net/secevent"
	tokenRevoked   = events + "/oauth/event-type/token-revoked"
	sessionRevoked = events + "/caep/event-type/session-revoked"
	claimsChange   = events + "/caep/event-type/token-claims-change"
	longestToken   = 24 * time.Hour
	clocks         = 5
	// The service may drop events that waited for longer.
	mostSilence = 50 * time.Second
	// The delay after the first of several failures, and the longest delay.
	first, longest = 500 * time.Millisecond, 5 * time.Second
)

var needed = []string{tokenRevoked, sessionRevoked, claimsChange}

// The service refuses the request, or the stream does not deliver what is needed. Waiting does not help, so no token is accepted.
var errRefused = errors.New("the feed is refused")

var (
	port     = setting("PORT", "3000")
	issuer   = setting("ISSUER", "http://localhost:9000")
	resource = setting("RESOURCE", "http://localhost:"+port+"/notes")
	clientID = os.Getenv("CLIENT_ID")
	// Without an answer to a poll for this long, revoked tokens could be accepted. The server waits up to 20 seconds for an event.
	maxAge = seconds(setting("MAX_AGE", "60"))
)

func setting(name, otherwise string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return otherwise
}

func seconds(text string) time.Duration {
	duration, err := time.ParseDuration(text + "s")
	if err != nil {
		log.Fatal(err)
	}
	return duration
}

// 1. The verification of an access token or a security event token. The keys are fetched again when a token names an unknown key.
var keys atomic.Pointer[oidc.RemoteKeySet]

func forgetKeys() {
	keys.Store(oidc.NewRemoteKeySet(context.Background(), issuer+"/.well-known/jwks.json"))
}

// verify reads the claims of a token, and returns its key id. A security event token does not expire.
func verify(ctx context.Context, token, typ, audience string, claims any) (string, error) {
	var header struct{ Typ, Kid string }
	encoded, _, _ := strings.Cut(token, ".")
	if text, err := base64.RawURLEncoding.DecodeString(encoded); err != nil || json.Unmarshal(text, &header) != nil || header.Typ != typ {
		return "", errors.New("it is not of the type " + typ)
	}
	config := oidc.Config{ClientID: audience, SupportedSigningAlgs: []string{"ES256"}, SkipExpiryCheck: typ == "secevent+jwt"}
	verified, err := oidc.NewVerifier(issuer, keys.Load(), &config).Verify(ctx, token)
	if err != nil {
		return "", err
	}
	return header.Kid, verified.Claims(claims)
}

type actor struct {
	Sub string `json:"sub"`
	Act *actor `json:"act"`
}
type accessToken struct {
	Sub      string          `json:"sub"`
	Iat      float64         `json:"iat"`
	Jti      string          `json:"jti"`
	ClientID string          `json:"client_id"`
	AgentID  string          `json:"agent_id"`
	Act      *actor          `json:"act"`
	Cnf      json.RawMessage `json:"cnf"`
}

// 2. The revocations. A rule revokes the tokens that have all of its claims and were issued before its time.
type rule struct {
	Jti      string  `json:"jti"`
	Kid      string  `json:"kid"`
	ClientID string  `json:"client_id"`
	Sub      string  `json:"sub"`
	Aud      string  `json:"aud"`
	Agent    string  `json:"agent"`
	From     float64 `json:"issued_from"`
}
type bounds struct {
	before float64
	until  time.Time
}

func (r rule) matches(token accessToken, kid string) bool {
	is := func(wanted, value string) bool { return wanted == "" || wanted == value }
	actors := []string{token.AgentID, token.ClientID}
	for act := token.Act; act != nil; act = act.Act {
		actors = append(actors, act.Sub)
	}
	return is(r.Jti, token.Jti) && is(r.Kid, kid) && is(r.ClientID, token.ClientID) && is(r.Sub, token.Sub) && is(r.Aud, resource) &&
		(r.Agent == "" || slices.Contains(actors, r.Agent)) && r.From <= token.Iat
}

type feed struct {
	sync.Mutex
	rules   map[rule]bounds
	began   float64
	heard   time.Time
	version string
}

// delivers says what a stream delivers. Without it, an empty answer does not show that nothing was revoked.
type delivers struct {
	Status    string   `json:"status"`
	Events    []string `json:"events"`
	Resources []string `json:"resources"`
	Version   string   `json:"version"`
}

// check returns an error unless the stream delivers every revocation of the resource. After a change it may have left out some.
func (f *feed) check(now delivers) error {
	if now.Status != "enabled" || !slices.Contains(now.Resources, resource) {
		return fmt.Errorf("%w: the stream is %q and has the resources %v", errRefused, now.Status, now.Resources)
	}
	for _, event := range needed {
		if !slices.Contains(now.Events, event) {
			return fmt.Errorf("%w: the stream does not deliver %s", errRefused, event)
		}
	}
	f.Lock()
	defer f.Unlock()
	if now.Version != f.version {
		f.version = now.Version
		f.began = float64(time.Now().Unix() + clocks)
	}
	return nil
}

// alive records that everything before a time has arrived.
func (f *feed) alive(asked time.Time) {
	f.Lock()
	defer f.Unlock()
	if asked.Sub(f.heard) > mostSilence {
		f.began = float64(time.Now().Unix() + clocks)
	}
	f.heard = asked
}

// distrust lets no token pass until the stream delivers again. Then earlier tokens are unsure.
func (f *feed) distrust() {
	f.Lock()
	defer f.Unlock()
	f.heard, f.version = time.Time{}, ""
}

func (f *feed) isFresh() bool {
	f.Lock()
	defer f.Unlock()
	return time.Since(f.heard) <= maxAge
}

// state is valid or revoked. With unsure only the service knows it: the feed has only seconds, and nothing that was revoked before it began.
func (f *feed) state(token accessToken, kid string) string {
	f.Lock()
	defer f.Unlock()
	state := "valid"
	if token.Iat <= f.began {
		state = "unsure"
	}
	for each, bounds := range f.rules {
		if token.Iat > bounds.before+clocks || !each.matches(token, kid) {
			continue
		}
		if token.Iat < math.Floor(bounds.before) {
			return "revoked"
		}
		state = "unsure"
	}
	return state
}

func (f *feed) apply(ctx context.Context, text string) error {
	var set struct {
		Iat   float64 `json:"iat"`
		SubID struct {
			Sub string `json:"sub"`
		} `json:"sub_id"`
		Events map[string]struct {
			rule
			Exp    float64 `json:"exp"`
			At     float64 `json:"event_timestamp"`
			Before float64 `json:"issued_before"`
		} `json:"events"`
	}
	if _, err := verify(ctx, text, "secevent+jwt", clientID, &set); err != nil {
		return err
	}
	for kind, event := range set.Events {
		at := event.At
		if at == 0 {
			at = set.Iat
		}
		switch kind {
		case tokenRevoked:
			if event.Before != 0 {
				at = min(at, event.Before)
			}
			f.revoke(event.rule, at, event.Exp)
			if event.Kid != "" {
				forgetKeys()
			}
		case sessionRevoked, claimsChange:
			f.revoke(rule{Sub: set.SubID.Sub}, at, 0)
		}
	}
	return nil
}

func (f *feed) revoke(revoked rule, before, exp float64) {
	f.Lock()
	defer f.Unlock()
	// One token is revoked for ever. A client or a user can get new tokens after the event.
	if revoked.Jti != "" {
		before = math.Inf(1)
	}
	// Events of one answer come in any order, and an event may arrive again after a later one.
	before = max(before, f.rules[revoked].before)
	until := time.Now().Add(longestToken)
	if revoked.Jti != "" && exp > 0 {
		until = time.Unix(int64(exp)+2*clocks, 0)
	}
	f.rules[revoked] = bounds{before, until}
	for each, bounds := range f.rules {
		if time.Now().After(bounds.until) {
			delete(f.rules, each)
		}
	}
}

func (f *feed) run(ctx context.Context) {
	for pause := first; ; pause = min(2*pause, longest) {
		started := time.Now()
		endpoint, err := f.subscribe(ctx)
		if err == nil {
			err = f.poll(ctx, endpoint)
		}
		if errors.Is(err, errRefused) {
			f.distrust()
		}
		if time.Since(started) > longest {
			pause = first
		}
		// Without an answer the feed gets too old, and then no token is accepted.
		log.Print("the feed of revocations does not work: ", err)
		time.Sleep(pause)
	}
}

type stream struct {
	Description string `json:"description"`
	Delivery    struct {
		Endpoint string `json:"endpoint_url"`
	} `json:"delivery"`
}

// subscribe returns the endpoint of the stream of this server. After a restart the rules are gone, so earlier tokens are unsure.
func (f *feed) subscribe(ctx context.Context) (string, error) {
	var configuration struct {
		Streams string `json:"configuration_endpoint"`
	}
	var streams []stream
	if err := call(ctx, "GET", issuer+"/.well-known/ssf-configuration", nil, &configuration); err != nil {
		return "", err
	}
	if err := call(ctx, "GET", configuration.Streams, nil, &streams); err != nil {
		return "", err
	}
	host, err := os.Hostname()
	if err != nil {
		return "", err
	}
	// Processes that shared a stream would acknowledge each other's events.
	name := "server at " + host + ":" + port
	own := slices.IndexFunc(streams, func(each stream) bool { return each.Description == name })
	isNew := own < 0
	if isNew {
		own, streams = 0, make([]stream, 1)
		body := map[string]any{"events_requested": needed, "description": name}
		if err := call(ctx, "POST", configuration.Streams, body, &streams[0]); err != nil {
			return "", err
		}
	}
	if isNew {
		f.distrust()
	}
	return streams[own].Delivery.Endpoint, nil
}

// poll polls until a poll fails. The first poll returns at once, because no token is accepted before its answer.
func (f *feed) poll(ctx context.Context, endpoint string) error {
	atOnce, ack := true, []string{}
	for {
		asked := time.Now()
		var answer struct {
			Sets          map[string]string
			MoreAvailable bool
			Delivers      delivers
		}
		limited, cancel := context.WithTimeout(ctx, maxAge/2)
		err := call(limited, "POST", endpoint, map[string]any{"returnImmediately": atOnce, "ack": ack}, &answer)
		cancel()
		if atOnce = errors.Is(err, context.DeadlineExceeded); atOnce {
			continue
		}
		if err != nil {
			return err
		}
		if err := f.check(answer.Delivers); err != nil {
			return err
		}
		ack = []string{}
		for jti, set := range answer.Sets {
			if err := f.apply(ctx, set); err != nil {
				return err
			}
			ack = append(ack, jti)
		}
		if !answer.MoreAvailable {
			f.alive(asked)
		}
		// A server that does not let the poll wait is not asked without end.
		if len(ack) == 0 && !answer.MoreAvailable && time.Since(asked) < time.Second {
			time.Sleep(first)
		}
	}
}

func call(ctx context.Context, method, to string, body, result any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return send(ctx, method, to, "application/json", text, result)
}

func send(ctx context.Context, method, to, contentType string, body []byte, result any) error {
	request, err := http.NewRequestWithContext(ctx, method, to, bytes.NewReader(body))
	if err != nil {
		return err
	}
	if method == "GET" {
		request.Body = http.NoBody
		request.ContentLength = 0
	}
	request.Header.Set("Content-Type", contentType)
	request.SetBasicAuth(clientID, os.Getenv("CLIENT_SECRET"))
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode >= 400 && answer.StatusCode < 500 && answer.StatusCode != http.StatusTooManyRequests {
		text, _ := io.ReadAll(io.LimitReader(answer.Body, 300))
		return fmt.Errorf("%w: %s answered %s %s", errRefused, to, answer.Status, text)
	}
	if answer.StatusCode >= 300 {
		return fmt.Errorf("%s answered %s", to, answer.Status)
	}
	return json.NewDecoder(answer.Body).Decode(result)
}

// 3. The resource. It accepts no token while the feed does not work.
func (f *feed) ServeHTTP(response http.ResponseWriter, request *http.Request) {
	if !f.isFresh() {
		refuse(response, http.StatusServiceUnavailable, "temporarily_unavailable")
		return
	}
	var claims accessToken
	_, token, _ := strings.Cut(request.Header.Get("Authorization"), " ")
	kid, err := verify(request.Context(), token, "at+jwt", resource, &claims)
	// A token with `cnf` needs a DPoP proof, which this server does not check.
	if err != nil || claims.Cnf != nil {
		refuse(response, http.StatusUnauthorized, "invalid_token")
		return
	}
	state := f.state(claims, kid)
	active := struct{ Active bool }{state == "valid"}
	if state == "unsure" {
		form := url.Values{"token": {token}}.Encode()
		err := send(request.Context(), "POST", issuer+"/oauth/introspect", "application/x-www-form-urlencoded", []byte(form), &active)
		if err != nil {
			refuse(response, http.StatusServiceUnavailable, "temporarily_unavailable")
			return
		}
	}
	if !active.Active {
		refuse(response, http.StatusUnauthorized, "invalid_token")
		return
	}
	response.Header().Set("Content-Type", "application/json")
	json.NewEncoder(response).Encode(map[string]string{"sub": claims.Sub, "state": state})
}

func refuse(response http.ResponseWriter, status int, code string) {
	if status == http.StatusUnauthorized {
		response.Header().Set("WWW-Authenticate", `Bearer error="`+code+`"`)
	}
	http.Error(response, `{"error":"`+code+`"}`, status)
}

func main() {
	revocations := &feed{rules: map[rule]bounds{}, began: math.Inf(1)}
	forgetKeys()
	go revocations.run(context.Background())
	log.Fatal(http.ListenAndServe("localhost:"+port, revocations))
}
