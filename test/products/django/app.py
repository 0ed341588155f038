"""A Django application that signs people in with mozilla-django-oidc. Its settings are what docs/guides/openid.md says."""

import json
import os
import sys

import django
from django.conf import settings
from django.core.management import call_command, execute_from_command_line
from django.http import JsonResponse
from django.urls import include, path

ISSUER = os.environ["ISSUER"]
PORT = sys.argv[1]

settings.configure(
    SECRET_KEY="only for this test",
    DEBUG=False,
    ALLOWED_HOSTS=["localhost"],
    ROOT_URLCONF=__name__,
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": os.environ["DATABASE"]}},
    INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions", "mozilla_django_oidc"],
    MIDDLEWARE=[
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
        "mozilla_django_oidc.middleware.SessionRefresh",
    ],
    AUTHENTICATION_BACKENDS=["mozilla_django_oidc.auth.OIDCAuthenticationBackend"],
    LOGIN_REDIRECT_URL="/me",
    LOGIN_REDIRECT_URL_FAILURE="/failed",
    OIDC_RP_CLIENT_ID=os.environ["CLIENT_ID"],
    OIDC_RP_CLIENT_SECRET=os.environ["CLIENT_SECRET"],
    OIDC_OP_AUTHORIZATION_ENDPOINT=f"{ISSUER}/oauth/authorize",
    OIDC_OP_TOKEN_ENDPOINT=f"{ISSUER}/oauth/token",
    OIDC_OP_USER_ENDPOINT=f"{ISSUER}/oauth/userinfo",
    OIDC_OP_JWKS_ENDPOINT=f"{ISSUER}/.well-known/jwks.json",
    OIDC_RP_SIGN_ALGO="RS256",
    OIDC_USE_PKCE=True,
    OIDC_PKCE_CODE_CHALLENGE_METHOD="S256",
    OIDC_RP_SCOPES="openid email profile",
    # The sign-in is renewed without a page at each request, and not after 15 minutes as by default; except for one page.
    OIDC_RENEW_ID_TOKEN_EXPIRY_SECONDS=0,
    OIDC_EXEMPT_URLS=["/me"],
)
django.setup()


def me(request):
    return JsonResponse({"email": request.user.email if request.user.is_authenticated else None})


urlpatterns = [path("oidc/", include("mozilla_django_oidc.urls")), path("me", me), path("renewed", me), path("failed", me)]

if __name__ == "__main__":
    call_command("migrate", verbosity=0)
    execute_from_command_line(["app.py", "runserver", "--noreload", f"localhost:{PORT}"])
