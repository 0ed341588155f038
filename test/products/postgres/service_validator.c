/* A validator module for PostgreSQL 18: asks the introspection endpoint of the service about each token (RFC 7662). The person is `sub`.
   The port of the service and the credentials of the client are in the environment of the server. */
#define _GNU_SOURCE
#include "postgres.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fmgr.h"
#include "lib/stringinfo.h"
#include "libpq/oauth.h"
#include "utils/fmgrprotos.h"
#include "utils/jsonb.h"

PG_MODULE_MAGIC;

/* The body of the answer. NULL: the service did not answer. */
static char *ask(const char *token)
{
	struct sockaddr_in service = {.sin_family = AF_INET};
	StringInfoData request, answer;
	char part[4096], *body, *length;
	ssize_t got;
	int connection = socket(AF_INET, SOCK_STREAM, 0);

	service.sin_port = htons(atoi(getenv("VALIDATOR_PORT")));
	service.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	initStringInfo(&request);
	appendStringInfo(&request,
					 "POST /oauth/introspect HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Basic %s\r\n"
					 "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: %zu\r\n\r\ntoken=%s",
					 getenv("VALIDATOR_CREDENTIALS"), strlen(token) + 6, token);
	initStringInfo(&answer);
	if (connection < 0 || connect(connection, (struct sockaddr *) &service, sizeof(service)) != 0 ||
		write(connection, request.data, request.len) != request.len)
		return NULL;
	while ((got = read(connection, part, sizeof(part))) > 0)
	{
		appendBinaryStringInfo(&answer, part, got);
		body = strstr(answer.data, "\r\n\r\n");
		length = strcasestr(answer.data, "\r\ncontent-length:");
		if (body != NULL && length != NULL && strlen(body + 4) >= (size_t) atoi(length + 17))
			break;
	}
	close(connection);
	body = strncmp(answer.data, "HTTP/1.1 200 ", 13) == 0 ? strstr(answer.data, "\r\n\r\n") : NULL;
	return body == NULL ? NULL : body + 4;
}

static bool validate(const ValidatorModuleState *state, const char *token, const char *role, ValidatorModuleResult *result)
{
	JsonbValue value;
	Jsonb *said;
	/* A JWT has no characters that a form would have to encode. */
	char *body = strspn(token, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.") == strlen(token) ? ask(token) : NULL;

	if (body == NULL)
		return false;
	said = DatumGetJsonbP(DirectFunctionCall1(jsonb_in, CStringGetDatum(body)));
	result->authorized = getKeyJsonValueFromContainer(&said->root, "active", 6, &value) != NULL && value.type == jbvBool && value.val.boolean;
	if (result->authorized && getKeyJsonValueFromContainer(&said->root, "sub", 3, &value) != NULL && value.type == jbvString)
		result->authn_id = pnstrdup(value.val.string.val, value.val.string.len);
	return true;
}

static const OAuthValidatorCallbacks callbacks = {PG_OAUTH_VALIDATOR_MAGIC, .validate_cb = validate};

const OAuthValidatorCallbacks *_PG_oauth_validator_module_init(void)
{
	return &callbacks;
}
