// The authenticator of the Kubernetes API server, with the flags of docs/guides/openid.md: it prints the user of each token of its task.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"strings"
	"time"

	"k8s.io/apiserver/pkg/apis/apiserver"
	authenticationcel "k8s.io/apiserver/pkg/authentication/cel"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/apiserver/plugin/pkg/authenticator/token/oidc"
)

type task struct {
	Issuer, Audience, CA string
	Username             string
	Tokens               []string
}

func main() {
	var t task
	if err := json.Unmarshal([]byte(os.Args[1]), &t); err != nil {
		log.Fatal(err)
	}
	result, err := authenticate(context.Background(), t)
	if err != nil {
		log.Fatal(err)
	}
	line, _ := json.Marshal(map[string]any{"result": result})
	fmt.Println(string(line))
}

func authenticate(ctx context.Context, t task) ([]any, error) {
	ca, err := dynamiccertificates.NewStaticCAContent("issuer", []byte(t.CA))
	if err != nil {
		return nil, err
	}
	none := ""
	authenticator, err := oidc.New(ctx, oidc.Options{
		JWTAuthenticator: apiserver.JWTAuthenticator{
			Issuer: apiserver.Issuer{URL: t.Issuer, CertificateAuthority: t.CA, Audiences: []string{t.Audience}},
			ClaimMappings: apiserver.ClaimMappings{
				Username: apiserver.PrefixedClaimOrExpression{Claim: t.Username, Prefix: &none},
				Groups:   apiserver.PrefixedClaimOrExpression{Claim: "groups", Prefix: &none},
			},
		},
		CAContentProvider: ca,
		Compiler:          authenticationcel.NewDefaultCompiler(),
		// Those of `--oidc-signing-algs`.
		SupportedSigningAlgs: []string{"RS256", "ES256"},
	})
	if err != nil {
		return nil, err
	}
	var users []any
	for _, token := range t.Tokens {
		user, err := ready(ctx, authenticator, token)
		if err != nil {
			users = append(users, map[string]any{"refused": err.Error()})
		} else {
			users = append(users, user)
		}
	}
	return users, nil
}

// It reads the discovery document in the background.
func ready(ctx context.Context, authenticator oidc.AuthenticatorTokenWithHealthCheck, token string) (any, error) {
	for {
		response, ok, err := authenticator.AuthenticateToken(ctx, token)
		if err != nil && strings.Contains(err.Error(), "not initialized") {
			time.Sleep(50 * time.Millisecond)
			continue
		}
		if err != nil || !ok {
			return nil, fmt.Errorf("%v %v", ok, err)
		}
		return map[string]any{"name": response.User.GetName(), "groups": response.User.GetGroups()}, nil
	}
}
