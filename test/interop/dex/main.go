// dex with one client and one user, in memory. Its own command needs a package that no module proxy has; its server package does not.
package main

import (
	"context"
	"flag"
	"log"
	"log/slog"
	"net/http"
	"os"
	"time"

	"github.com/dexidp/dex/server"
	"github.com/dexidp/dex/server/signer"
	"github.com/dexidp/dex/server/tokens"
	"github.com/dexidp/dex/storage"
	"github.com/dexidp/dex/storage/memory"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/crypto/bcrypt"
)

func main() {
	listen := flag.String("listen", "", "host and port")
	client := flag.String("client", "", "id of the client")
	secret := flag.String("secret", "", "secret of the client")
	redirect := flag.String("redirect", "", "redirect URI of the client")
	password := flag.String("password", "", "password of ada@corp.example.com")
	flag.Parse()
	if err := serve(*listen, *client, *secret, *redirect, *password); err != nil {
		log.Fatal(err)
	}
}

func serve(listen, client, secret, redirect, password string) error {
	ctx := context.Background()
	logger := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	// dex accepts no lower cost.
	hash, err := bcrypt.GenerateFromPassword([]byte(password), 10)
	if err != nil {
		return err
	}
	verified := true
	users := memory.New(logger)
	users = storage.WithStaticClients(users, []storage.Client{
		{ID: client, Secret: secret, Name: client, RedirectURIs: []string{redirect}},
	})
	users = storage.WithStaticPasswords(users, []storage.Password{{
		Email: "ada@corp.example.com", EmailVerified: &verified, Hash: hash,
		Username: "ada", UserID: "a-user-of-dex", Groups: []string{"engineering"},
	}}, logger)
	users = storage.WithStaticConnectors(users, []storage.Connector{{ID: "local", Type: "local", Name: "Email"}})
	day := 24 * time.Hour
	keys, err := (&signer.LocalConfig{KeysRotationPeriod: "6h"}).Open(ctx, users, day, time.Now, logger)
	if err != nil {
		return err
	}
	handler, err := server.NewServer(ctx, server.Config{
		Issuer:             "http://" + listen + "/dex",
		Storage:            users,
		SkipApprovalScreen: true,
		Logger:             logger,
		Signer:             keys,
		PrometheusRegistry: prometheus.NewRegistry(),
		RefreshTokenPolicy: tokens.NewRefreshStrategy(true, 0, 0, 0, nil),
	})
	if err != nil {
		return err
	}
	return http.ListenAndServe(listen, handler)
}
