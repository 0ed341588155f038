// Runs Go clients through the steps of a task; ../driver.ts has the protocol.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"strings"
)

type task struct {
	Client       string   `json:"client"`
	Server       string   `json:"server"`
	Issuer       string   `json:"issuer"`
	RedirectURI  string   `json:"redirect_uri"`
	Document     string   `json:"document"`
	ClientID     string   `json:"client_id"`
	ClientSecret string   `json:"client_secret"`
	PrivateKey   string   `json:"private_key"`
	KeyID        string   `json:"kid"`
	Machine      bool     `json:"machine"`
	Scope        string   `json:"scope"`
	Token        string   `json:"token"`
	Steps        []string `json:"steps"`
}

// A client that steps can be given to.
type client interface {
	// Calls a tool of the server. Returns the text that it answers.
	call(ctx context.Context, tool string) (string, error)
	// Knows that its access token has expired.
	expire()
	// The same client in another process, with what this one has stored.
	twin() client
}

var clients = map[string]func(task) (client, error){"go-sdk": newSDK, "mcp-go": newMCPGo}
var libraries = map[string]func(context.Context, task) (any, error){
	"go-oidc": goOIDC, "oauth2": xOAuth2, "zitadel": zitadel, "zitadel-key": zitadelKey,
}

var answers = bufio.NewReader(os.Stdin)

// Prints a line and reads the answer.
func ask(line any) string {
	say(line)
	answer, _ := answers.ReadString('\n')
	return strings.TrimSpace(answer)
}

func say(line any) {
	text, _ := json.Marshal(line)
	fmt.Println(string(text))
}

// Has the browser open a URL. Returns the parameters that it comes back with.
func visit(at string) (url.Values, error) {
	callback, err := url.Parse(ask(map[string]string{"open": at}))
	if err != nil {
		return nil, err
	}
	return callback.Query(), nil
}

func run(ctx context.Context, t task) error {
	if library, found := libraries[t.Client]; found {
		result, err := library(ctx, t)
		if err == nil {
			say(map[string]any{"result": result})
		}
		return err
	}
	c, err := clients[t.Client](t)
	if err != nil {
		return err
	}
	for _, step := range t.Steps {
		switch step {
		case "expire":
			ask(map[string]bool{"expire": true})
			c.expire()
		case "twins":
			err = callBoth(ctx, c)
		default:
			err = callOne(ctx, c, step)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", step, err)
		}
	}
	return nil
}

func callOne(ctx context.Context, c client, tool string) error {
	text, err := c.call(ctx, tool)
	if err == nil {
		say(map[string]string{"text": text})
	}
	return err
}

// Two processes at once.
func callBoth(ctx context.Context, c client) error {
	ended := make(chan error)
	for _, each := range []client{c, c.twin()} {
		go func() { ended <- callOne(ctx, each, "whoami") }()
	}
	first, second := <-ended, <-ended
	if first != nil {
		return first
	}
	return second
}

func main() {
	var t task
	err := json.Unmarshal([]byte(os.Args[1]), &t)
	if err == nil {
		err = run(context.Background(), t)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
