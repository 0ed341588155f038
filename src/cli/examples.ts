// Examples in the help of commands whose flags have forms that are not obvious. A test parses each of them.
import type { Command } from 'commander'

/** By the words of a command after `service`. */
export const EXAMPLES: Readonly<Record<string, readonly string[]>> = {
  serve: ['service serve --config /etc/service/service.yaml'],
  purge: [
    'service purge --only sessions,unused-clients',
    'service purge --only issuances --older-than 365d --export issuances.jsonl',
  ],
  backup: ['service backup --to /backup/service.backup'],
  restore: ['service restore --from /backup/service.backup --force'],
  completion: ['service completion bash > ~/.local/share/bash-completion/completions/service'],
  'try authorize': ["service try authorize --resource notes --scope 'notes:read notes:write'"],
  'try assertion': ['service try assertion --key key.pem --client-id mailer --resource https://notes.example.com/mcp'],
  'admin client create': [
    'service admin client create --name Robot --grant-types client_credentials --auth-method client_secret_basic --scopes notes:read --scopes notes:write',
    'service admin client create --name Desk --application-type native --redirect-uris http://127.0.0.1/callback',
    'service admin client create --name Mailer --grant-types client_credentials --auth-method private_key_jwt --jwks-file keys.json',
    "service admin client create --name Deploy --grant-types client_credentials --auth-method federated_jwt --federated 'issuer=https://ci.example.com,subject=repo:acme/tools:*,claim.ref=refs/heads/main'",
  ],
  'admin client update': ['service admin client update --id robot --requests-per-second 5 --tokens-per-day none'],
  'admin client rotate-secret': ['service admin client rotate-secret --name Robot --overlap 24h'],
  'admin user create': ['service admin user create --email ada@example.com --name Ada --password-file password.txt'],
  'admin user import': ['service admin user import -f users.csv --dry-run'],
  'admin resource create': [
    "service admin resource create --slug notes --uri https://notes.example.com/mcp --backend-kind mint --scopes 'notes:read||Read your notes'",
    "service admin resource create --slug github-api --backend-kind broker --broker-provider github --scopes 'repo:read|repo|Read repositories'",
  ],
  'admin resource update': [
    'service admin resource update --slug notes --access groups:staff,editors --access domains:example.com',
    `service admin resource update --slug notes --scopes notes:read --scopes '{"name":"notes:write","groups":["editors"]}'`,
  ],
  'admin provider create': [
    'service admin provider create --slug github --protocol oauth --display-name GitHub --config-data github.json',
  ],
  'admin fronting create': [
    "service admin fronting create --source gateway --target files --scope-map 'use:read,admin:read+write'",
  ],
  'admin issuance list': ['service admin issuance list --client-name Robot --since 7d'],
  'admin audit list': ['service admin audit list --action client_suspended --since 7d'],
  'admin audit export': ['service admin audit export --since 2026-11-01T00:00:00Z > audit.jsonl'],
  'admin revoke': ['service admin revoke --client-name Robot --since 24h --dry-run'],
  'admin webhook create': [
    "service admin webhook create --url https://hooks.example.com/service --events 'client_*,user_disabled'",
  ],
  'admin stream create': [
    'service admin stream create --client-id notes-server --events-requested https://schemas.openid.net/secevent/oauth/event-type/token-revoked',
    'service admin stream create --client-id notes-server --events-requested https://schemas.openid.net/secevent/oauth/event-type/token-revoked --delivery push.json',
  ],
  'admin idp create': [
    'service admin idp create --name Corp --issuer https://id.example.com --jwks-uri https://id.example.com/keys',
  ],
  'admin policy create': [
    'service admin policy create --idp-name Corp --name notes --client-ids chat --resources https://notes.example.com/mcp --scopes notes:read',
  ],
  'admin try explain': [
    'service admin try explain --grant authorization_code --client-name Desk --user ada@example.com --resource https://notes.example.com/mcp --scope notes:read',
  ],
  'admin apply': ['service admin apply -f setup.yaml --dry-run', 'service admin apply -f setup.yaml --prune'],
  'admin export': ['service admin export > setup.yaml', 'service admin export --only clients,resources'],
}

/** Adds the examples to the help of the commands that exist. */
export function addExamples(program: Command): void {
  for (const [words, examples] of Object.entries(EXAMPLES)) {
    const command = words
      .split(' ')
      .reduce<Command | undefined>((at, word) => at?.commands.find((each) => each.name() === word), program)
    const title = examples.length > 1 ? 'Examples' : 'Example'
    command?.addHelpText('after', `\n${title}:\n${examples.map((each) => `  ${each}`).join('\n')}`)
  }
}
