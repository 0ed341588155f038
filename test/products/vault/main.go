// Vault's JWT/OIDC method with its storage in memory: signs a person in, and takes an access token. ../../interop/driver.ts has the protocol.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/url"
	"os"
	"strings"

	"github.com/hashicorp/go-hclog"
	jwtauth "github.com/hashicorp/vault-plugin-auth-jwt"
	"github.com/hashicorp/vault/sdk/logical"
)

type task struct {
	Client, Issuer, ClientID, ClientSecret, Redirect, Audience, Token string
}

type method struct {
	backend logical.Backend
	storage logical.Storage
}

func main() {
	var t task
	check(json.Unmarshal([]byte(os.Args[1]), &t))
	ctx := context.Background()
	storage := &logical.InmemStorage{}
	backend, err := jwtauth.Factory(ctx, &logical.BackendConfig{
		Logger:      hclog.NewNullLogger(),
		System:      &logical.StaticSystemView{},
		StorageView: storage,
	})
	check(err)
	m := method{backend, storage}
	auth := map[string]func(context.Context, task) *logical.Auth{"oidc": m.oidc, "jwt": m.jwt}[t.Client](ctx, t)
	groups := []string{}
	for _, alias := range auth.GroupAliases {
		groups = append(groups, alias.Name)
	}
	print(map[string]any{"result": map[string]any{"user": auth.Alias.Name, "groups": groups}})
}

func (m method) oidc(ctx context.Context, t task) *logical.Auth {
	m.ask(ctx, "config", map[string]any{
		"oidc_discovery_url": t.Issuer, "oidc_client_id": t.ClientID, "oidc_client_secret": t.ClientSecret,
	})
	m.ask(ctx, "role/people", map[string]any{
		"role_type": "oidc", "user_claim": "sub", "groups_claim": "groups",
		"oidc_scopes": "openid,profile,email,groups", "allowed_redirect_uris": t.Redirect,
	})
	asked := m.ask(ctx, "oidc/auth_url", map[string]any{"role": "people", "redirect_uri": t.Redirect})
	print(map[string]any{"open": asked.Data["auth_url"]})
	line, err := bufio.NewReader(os.Stdin).ReadString('\n')
	check(err)
	callback, err := url.Parse(line[:len(line)-1])
	check(err)
	query := callback.Query()
	answer, err := m.backend.HandleRequest(ctx, &logical.Request{
		Operation: logical.ReadOperation, Path: "oidc/callback", Storage: m.storage,
		Data: map[string]any{"state": query.Get("state"), "code": query.Get("code")},
	})
	check(err)
	if answer.IsError() {
		log.Fatal(answer.Error())
	}
	return answer.Auth
}

func (m method) jwt(ctx context.Context, t task) *logical.Auth {
	m.ask(ctx, "config", map[string]any{"oidc_discovery_url": t.Issuer, "jwt_supported_algs": "ES256"})
	m.ask(ctx, "role/machines", map[string]any{"role_type": "jwt", "user_claim": "sub", "bound_audiences": t.Audience})
	return m.ask(ctx, "login", map[string]any{"role": "machines", "jwt": t.Token}).Auth
}

func (m method) ask(ctx context.Context, path string, data map[string]any) *logical.Response {
	operation := logical.Operation(logical.UpdateOperation)
	if strings.HasPrefix(path, "role/") {
		operation = logical.CreateOperation
	}
	answer, err := m.backend.HandleRequest(ctx, &logical.Request{
		Operation: operation, Path: path, Storage: m.storage, Data: data, Connection: &logical.Connection{},
	})
	check(err)
	if answer != nil && answer.IsError() {
		log.Fatalf("%s: %v", path, answer.Error())
	}
	return answer
}

func print(line map[string]any) {
	text, err := json.Marshal(line)
	check(err)
	fmt.Println(string(text))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
