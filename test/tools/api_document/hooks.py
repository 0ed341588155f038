"""Checks of schemathesis for the OpenAPI documents of this service."""

import re

import schemathesis
from schemathesis.specs.openapi.checks import positive_data_acceptance, unsupported_method

# Refusals of input that is valid by its schema. JSON Schema cannot state these rules: they are about several members, or about stored records.
RULES = [
    # Several members.
    r"until must be after since",
    r"slug takes no other parameter",
    r"q cannot be used together with email",
    r"(uri|broker_provider_slug) is (only|required) for (a )?(mint|broker) resources?",
    r"broker_provider_id and broker_provider_slug name different providers",
    r"delivery endpoint_url is required for push",
    r"subject_tokens needs audiences",
    r"provider is (only|required) for the capability scim",
    r"(user|resource) is required for this grant",
    r"the body needs one of .*",
    r"a resource cannot front itself",
    r"scopes must not name a scope twice",
    r"authorization_details_types must not name a type twice",
    r"authorization_details_types\[\d+\]\.schema (cannot be used: .*|may have at most \d+ bytes)",
    r"only one of client_id, resource and user_id can be given",
    r"users\[\d+\]\.email is that of users\[\d+\]",
    r"oidc_subject and provider_sub are the same member",
    r"config_data\.\w+ is required",
    r"config_data has unknown members: .*",
    r"config_data\.\w+ must not be in the record: .*",
    r"(redirect_uris|jwks|federated_credentials|document) is (only|required) for .*",
    r"client_name is required",
    r"[\w, ]+: the metadata document at client_id decides",
    r"change the client afterwards",
    r"an operator keeps the document of this client",
    r"refresh-document fetches it",
    r"the client document .*",
    r"client_id (must be an https URL|must have a path|must have no fragment and no user|is not a URL in its normal form) \(cimd_\w+\)",
    r"jwks (and|or) jwks_uri (exclude each other|is required for private_key_jwt)",
    r"token_endpoint_auth_method none cannot be used with the \S+ grant",
    r"backchannel_client_notification_endpoint is required for ping",
    r"federated_credentials\[\d+\]\.subject must begin with the trust domain and /",
    r"federated_credentials\[\d+\]\.jwks_uri is required for a SPIFFE trust domain",
    # The configuration, and stored records.
    r"grant_types are not offered by this server: .*",
    r"[\w.\[\]]+ must not be that of this server",
    r"the URL (has a private address: .*|must use https, unless (events|ciba).allow_hosts has its host|must be a well-formed https URL)",
    r"events\.allow_hosts does not list .*",
    r"grant names no grant_type",
    r"provider must be one of .*",
    r"after names no \w+",
    r"client_id names no client",
    r"policy names unknown clients: .*",
    r"default_resource must be the URI of a registered mint resource",
    r"scope_map names scopes that the \w+ does not declare: .*",
    r"the target leads back to the source",
    r"source must be a mint resource",
    r"[\w, ]+ cannot be changed",
    r"create a new client",
    r"only a provider with the protocol oauth can be checked",
    r"this provider has no service account: .*",
    r"the client has no (secret|metadata document)",
    r"the resource has no URI, so it has no metadata",
    r"only (broker|mint) resources have this list",
    r"events: no audit action is named .*",
    # Values with an inner form: keys, redirect URIs, and the cost of a hash.
    r"jwks\.keys.*",
    r"backchannel_logout_uri must be an absolute http or https URL without fragment",
    r"[\w.\[\]]+ must be an https URL \(or http on localhost.*",
    r"or scheme:/path of a private-use scheme\) .*",
    r"[\w.\[\]]+ (of a private-use scheme is for public clients only|has the scheme .*, which dcr.redirect_schemes does not list)",
    r"users\[\d+\]\.password_hash must have (a|m|p) .*",
    # The time of the request, and the length of a duration.
    r"since must be within the last 720 hours",
    r"\w+ must be at (most|least) \d+[hms]",
    # Characters: JSON Schema has no class for invisible ones, and does not count bytes.
    r"[\w.\[\]]+ must not be blank",
    r"[\w.\[\]]+ must have at most \d+ bytes",
    r"the body may have at most \d+ bytes",
    r"and \d+ more problems?",
]
KNOWN = re.compile("|".join(f"(?:{rule})" for rule in RULES))


def follows_rules(response) -> bool:
    """Whether a refusal names nothing but rules that a schema cannot state."""
    if response.status_code not in (400, 413):
        return False
    problems = response.json()["error_description"].split("; ")
    return all(KNOWN.fullmatch(problem) for problem in problems)


@schemathesis.check
def valid_input_is_accepted(ctx, response, case):
    """positive_data_acceptance, without the rules above."""
    if not follows_rules(response):
        return positive_data_acceptance(ctx, response, case)


# Two parsers could read the body of such a request differently, so it is refused before its path is looked at.
WITH_BODY = re.compile(r"a (GET|HEAD|OPTIONS) request has no body")


@schemathesis.check
def undeclared_method_is_refused(ctx, response, case):
    """unsupported_method, without requests that must not have a body."""
    is_problem = response.headers.get("content-type", [""])[0].startswith("application/problem+json")
    if response.status_code == 400 and is_problem and WITH_BODY.fullmatch(response.json()["error_description"]):
        return None
    # The key of SCIM is checked before the method.
    if response.status_code == 401 and "/scim/v2/" in case.operation.path:
        return None
    return unsupported_method(ctx, response, case)
