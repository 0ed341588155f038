package main

import (
	"context"
	"net/http"

	"github.com/coreos/go-oidc/v3/oidc"
	zitadelclient "github.com/zitadel/oidc/v3/pkg/client"
	"github.com/zitadel/oidc/v3/pkg/client/rs"
	zitadeloidc "github.com/zitadel/oidc/v3/pkg/oidc"
	"golang.org/x/oauth2/clientcredentials"
)

// Discovers, and verifies an access token with the keys and algorithms that the provider names.
func goOIDC(ctx context.Context, t task) (any, error) {
	provider, err := oidc.NewProvider(ctx, t.Issuer)
	if err != nil {
		return nil, err
	}
	token, err := provider.Verifier(&oidc.Config{ClientID: t.Server}).Verify(ctx, t.Token)
	if err != nil {
		return nil, err
	}
	return map[string]any{"sub": token.Subject, "aud": token.Audience, "token_endpoint": provider.Endpoint().TokenURL}, nil
}

// A token of a machine, for no resource that it could name.
func xOAuth2(ctx context.Context, t task) (any, error) {
	config := &clientcredentials.Config{
		ClientID:     t.ClientID,
		ClientSecret: t.ClientSecret,
		TokenURL:     t.Issuer + "/oauth/token",
	}
	token, err := config.Token(ctx)
	if err != nil {
		return nil, err
	}
	return map[string]any{"access_token": token.AccessToken, "scope": token.Extra("scope")}, nil
}

// A resource server that introspects what it was sent.
func zitadel(ctx context.Context, t task) (any, error) {
	discovery, err := zitadelclient.Discover(ctx, t.Issuer, http.DefaultClient)
	if err != nil {
		return nil, err
	}
	server, err := rs.NewResourceServerClientCredentials(ctx, t.Issuer, t.ClientID, t.ClientSecret)
	if err != nil {
		return nil, err
	}
	answer, err := rs.Introspect[*zitadeloidc.IntrospectionResponse](ctx, server, t.Token)
	if err != nil {
		return nil, err
	}
	return map[string]any{
		"active": answer.Active, "sub": answer.Subject, "scope": answer.Scope, "introspection_endpoint": discovery.IntrospectionEndpoint,
	}, nil
}
